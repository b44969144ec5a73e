"""Bayesian optimisation by Optuna: the tree-structured Parzen estimator (TPE).

`BayesSearch` proposes architectures, `Tuning` the settings of one of them. Every setting of the
sampler is pinned. Optuna comes with the extra `search`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import Point, SearchSpace
from interstellar.errors import SettingsError
from interstellar.randomness import derive_key
from interstellar.rivals.notation import AnyModel
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.training.settings import Optimizer, TrainingSettings

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

N_STARTUP_TRIALS = 20
"""Drawn uniformly before the estimator is used, as in HyperOpt, whose TPE the paper uses."""
N_EI_CANDIDATES = 24
"""Options drawn as good trials took them, of which the most promising is taken; as in HyperOpt."""
N_SEEDS = 2**32  # what Optuna's generator can be seeded with


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, drawn on a logarithmic scale where they span decades."""

    low: float
    high: float
    is_log: bool = False


RANGES = {
    Optimizer.ADAM: {
        "learning_rate": Range(1e-5, 1e-2, is_log=True),
        "weight_decay": Range(1e-7, 1e-2, is_log=True),
        "lr_decay": Range(0.98, 1.0),
        "dropout": Range(0.0, 0.6),
    },
    Optimizer.ADAGRAD: {
        "learning_rate": Range(1e-2, 0.5, is_log=True),
        "n3": Range(1e-4, 0.5, is_log=True),
        "lr_decay": Range(0.98, 1.0),
        "dropout": Range(0.0, 0.6),
    },
}
"""With Adam the paper's: it prints learning rates up to 1e-3 and weight decays from 1e-5; its own
rows for link prediction lie outside (3.1e-3 and 1e-7), and so far these reach. With Adagrad, which
the paper has not, what the study of default settings found good lies well within."""
BATCH_SIZES = (128, 256, 512, 1024, 2048)
DIMS = (64, 128, 256, 512)


@final
class BayesSearch:
    """TPE (Bergstra et al. 2011): prefers options that good trials took more often than the rest.

    Each choice is estimated by itself, as published; Optuna's default estimates all jointly.
    Trials in flight count as bad ones, so that those asked for together differ. Failed trials
    do not count.
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

    def ask(self) -> Proposal:
        trial = self._study.ask(self._distributions)
        point = tuple(int(trial.params[name]) for name in self._distributions)
        self._asked.append((trial.number, point))
        return Proposal(number=len(self._asked) - 1, architecture=self._space.at(point))

    def tell(self, number: int, result: TrialResult) -> None:
        number_in_study, point = self._asked[number]
        self._keep_best(tell_study(self._study, number_in_study, result.score), point)

    def learn(self, proposal: Proposal, result: TrialResult) -> None:
        from optuna.trial import create_trial  # noqa: PLC0415

        score = result.score
        if score is None or isnan(score) or proposal.architecture is None:
            return
        point, distributions = self._space.locate(proposal.point), self._distributions
        params = dict(zip(distributions, point, strict=True))
        self._study.add_trial(create_trial(value=score, params=params, distributions=distributions))
        self._keep_best(score, point)

    def answer(self) -> Architecture | None:
        return None if self._best is None else self._space.at(self._best[1])

    def _keep_best(self, score: float | None, point: Point) -> None:
        if score is not None and (self._best is None or score > self._best[0]):
            self._best = score, point


@final
class Tuning:
    """Proposes settings in the paper's ranges, first those it is begun with if they lie there.

    Learning rate, weight decay, decay of the rate, batch size and dropout (Table "Searching range
    of hyper-parameters"), with Adagrad the weight of N3 in place of the decay; the dimension only
    where it is asked for, which the paper fixes at 256.
    """

    def __init__(
        self,
        architecture: AnyModel,
        settings: TrainingSettings,
        seed: int,
        *,
        with_dim: bool = False,
        kept: Collection[str] = (),
    ) -> None:
        require_optuna("Tuning")
        self._architecture = architecture
        self._study = create_study(derive_key(seed, "tuning") % N_SEEDS)
        self._distributions = distributions(settings.optimizer, with_dim=with_dim, kept=kept)
        begun = as_begun(settings)
        self._study.enqueue_trial({k: v for k, v in begun.items() if k in self._distributions})

    def ask(self) -> Proposal:
        trial = self._study.ask(self._distributions)
        architecture, changes = self._architecture, dict(trial.params)
        return Proposal(number=trial.number, architecture=architecture, changes=changes)

    def tell(self, number: int, result: TrialResult) -> None:
        tell_study(self._study, number, result.score)

    def answer(self) -> Architecture | None:
        return None


def distributions(
    optimizer: Optimizer, *, with_dim: bool, kept: Collection[str]
) -> "dict[str, BaseDistribution]":
    """Return what Optuna draws from."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution  # noqa: PLC0415

    found: dict[str, BaseDistribution] = {
        name: FloatDistribution(r.low, r.high, log=r.is_log)
        for name, r in RANGES[optimizer].items()
    }
    found["batch_size"] = CategoricalDistribution(BATCH_SIZES)
    if with_dim:
        found["dim"] = CategoricalDistribution(DIMS)
    return {name: distribution for name, distribution in found.items() if name not in kept}


def as_begun(settings: TrainingSettings) -> dict[str, float | int]:
    """Return the settings that a tuning begins with, as far as they lie in its ranges."""
    found: dict[str, float | int] = {
        name: getattr(settings, name)
        for name, r in RANGES[settings.optimizer].items()
        if r.low <= getattr(settings, name) <= r.high
    }
    if settings.batch_size in BATCH_SIZES:
        found["batch_size"] = settings.batch_size
    if settings.dim in DIMS:
        found["dim"] = settings.dim
    return found


def require_optuna(wanted_for: str) -> None:
    """Raise with advice where Optuna is not installed."""
    try:
        import optuna  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        raise SettingsError(
            f"{wanted_for} needs Optuna, which is not installed. Install it with "
            '`pip install "interstellar-kg[search]"`, or choose another strategy.'
        ) from None


def create_study(seed: int) -> "Study":
    """Return an empty study in memory; Optuna's message about it is not shown."""
    import optuna  # noqa: PLC0415

    sampler = optuna.samplers.TPESampler(
        n_startup_trials=N_STARTUP_TRIALS,
        n_ei_candidates=N_EI_CANDIDATES,
        seed=seed,
        multivariate=False,
        group=False,
        constant_liar=True,
    )
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)


def tell_study(study: "Study", number: int, score: float | None) -> float | None:
    """Tell a study a score, and return it; None and nan are failures, which do not count."""
    from optuna.trial import TrialState  # noqa: PLC0415

    if score is None or isnan(score):
        study.tell(number, state=TrialState.FAIL)
        return None
    study.tell(number, score)
    return score
