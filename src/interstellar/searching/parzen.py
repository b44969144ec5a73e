"""Tree-structured Parzen estimators (TPE) as Optuna has them, with every setting pinned."""

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING

from interstellar.errors import SettingsError
from interstellar.searching.strategy import Outcome

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

N_STARTUP_TRIALS = 20
"""Drawn uniformly before the estimator is used, as in HyperOpt, whose TPE the paper uses."""
N_EI_CANDIDATES = 24
"""Options drawn as good trials took them, of which the most promising is taken; as in HyperOpt."""
N_SEEDS = 2**32  # what Optuna's generator can be seeded with


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


def tell_study(study: "Study", number: int, outcome: Outcome) -> float | None:
    """Tell a study a score, and return it; None and nan are failures, which do not count."""
    from optuna.trial import TrialState  # noqa: PLC0415

    assert outcome is None or isinstance(outcome, float | int)
    if outcome is None or isnan(outcome):
        study.tell(number, state=TrialState.FAIL)
        return None
    study.tell(number, outcome)
    return outcome


def add_to_study(
    study: "Study",
    params: Mapping[str, int],
    distributions: Mapping[str, "BaseDistribution"],
    score: float | None,
) -> float | None:
    """Tell a study what it did not ask for, and return its score; failures are left out."""
    from optuna.trial import create_trial  # noqa: PLC0415

    if score is None or isnan(score):
        return None
    study.add_trial(
        create_trial(value=score, params=dict(params), distributions=dict(distributions))
    )
    return score
