"""Bayesian optimisation: the tree-structured Parzen estimator (TPE), by Optuna."""

from typing import TYPE_CHECKING, final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.coordinates import Point
from interstellar.architecture.search_space import SearchSpace
from interstellar.randomness import derive_key
from interstellar.searching.parzen import N_SEEDS, create_study, require_optuna, tell_study
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
        self._point_by_number: dict[int, Point] = {}
        self._best: tuple[float, Point] | None = None

    def ask(self) -> FromScratch:
        trial = self._study.ask(self._distributions)
        point = tuple(int(trial.params[name]) for name in self._distributions)
        self._point_by_number[trial.number] = point
        return FromScratch(number=trial.number, architecture=self._space.at(point))

    def tell(self, number: int, outcome: Outcome) -> None:
        point = self._point_by_number.pop(number)
        score = tell_study(self._study, number, outcome)
        if score is not None and (self._best is None or score > self._best[0]):
            self._best = score, point

    def answer(self) -> Architecture | None:
        return None if self._best is None else self._space.at(self._best[1])
