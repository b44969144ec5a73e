"""Bayesian optimisation: the tree-structured Parzen estimator (TPE), by Optuna."""

from typing import TYPE_CHECKING, final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.coordinates import Point
from interstellar.architecture.search_space import SearchSpace
from interstellar.randomness import derive_key
from interstellar.searching.parzen import (
    N_SEEDS,
    add_to_study,
    create_study,
    require_optuna,
    tell_study,
)
from interstellar.searching.strategy import FromScratch, Outcome

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


@final
class BayesSearch:
    """TPE (Bergstra et al. 2011): prefers options that good trials took more often than the rest.

    Each choice is estimated by itself, as published; Optuna's default estimates all jointly.
    Trials in flight count as bad ones, so that those asked for together differ. Failed trials
    do not count. Optuna comes with the extra `search`.
    """

    def __init__(self, space: SearchSpace, seed: int) -> None:
        require_optuna("The strategy bayes")
        from optuna.distributions import CategoricalDistribution  # noqa: PLC0415

        self._space = space
        self._study = create_study(derive_key(seed, "bayes") % N_SEEDS)
        self._distributions: dict[str, BaseDistribution] = {
            choice.name: CategoricalDistribution(range(len(choice.options)))
            for choice in space.choices()
        }
        self._asked: list[tuple[int, Point]] = []  # by number: the number in the study
        self._best: tuple[float, Point] | None = None

    def ask(self) -> FromScratch:
        trial = self._study.ask(self._distributions)
        point = tuple(int(trial.params[name]) for name in self._distributions)
        self._asked.append((trial.number, point))
        return FromScratch(number=len(self._asked) - 1, architecture=self._space.at(point))

    def tell(self, number: int, outcome: Outcome) -> None:
        number_in_study, point = self._asked[number]
        self._keep_best(tell_study(self._study, number_in_study, outcome), point)

    def learn(self, architecture: Architecture, score: float | None) -> None:
        point = self._space.locate(architecture)
        params = dict(zip(self._distributions, point, strict=True))
        self._keep_best(add_to_study(self._study, params, self._distributions, score), point)

    def answer(self) -> Architecture | None:
        return None if self._best is None else self._space.at(self._best[1])

    def _keep_best(self, score: float | None, point: Point) -> None:
        if score is not None and (self._best is None or score > self._best[0]):
            self._best = score, point
