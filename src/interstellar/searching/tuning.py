"""Tuning: the settings with which one architecture learns best, by TPE in the paper's ranges.

Learning rate, weight decay, decay of the rate, batch size and dropout (Table "Searching range of
hyper-parameters"); the dimension only where it is asked for, which the paper fixes at 256. What is
kept is as in the settings that a tuning begins with.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from interstellar.architecture.architecture import Architecture
from interstellar.randomness import derive_key
from interstellar.searching.parzen import N_SEEDS, create_study, require_optuna, tell_study
from interstellar.searching.strategy import Outcome, WithSettings
from interstellar.training.settings import TrainingSettings

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, drawn on a logarithmic scale where they span decades."""

    low: float
    high: float
    is_log: bool = False


RANGES = {
    "learning_rate": Range(1e-5, 1e-2, is_log=True),
    "l2": Range(1e-7, 1e-2, is_log=True),
    "decay": Range(0.98, 1.0),
    "dropout": Range(0.0, 0.6),
}
"""The paper prints learning rates up to 1e-3 and weight decays from 1e-5; its own rows for link
prediction lie outside (3.1e-3 and 1e-7), and so far these reach."""
BATCH_SIZES = (128, 256, 512, 1024, 2048)
TUNED = (*RANGES, "batch_size")
"""The settings that a tuning chooses, unless it is to keep them."""
DIMS = (64, 128, 256, 512)


@final
class Tuning:
    """Proposes settings, first those it is begun with as far as they lie in the ranges."""

    def __init__(
        self,
        settings: TrainingSettings,
        seed: int,
        *,
        with_dim: bool = False,
        kept: Collection[str] = (),
    ) -> None:
        require_optuna("tune")
        self._study = create_study(derive_key(seed, "tuning") % N_SEEDS)
        self._distributions = distributions(with_dim=with_dim, kept=kept)
        begun = as_begun(settings)
        self._study.enqueue_trial({k: v for k, v in begun.items() if k in self._distributions})

    def ask(self) -> WithSettings:
        trial = self._study.ask(self._distributions)
        return WithSettings(number=trial.number, changes=dict(trial.params))

    def tell(self, number: int, outcome: Outcome) -> None:
        tell_study(self._study, number, outcome)

    def answer(self) -> Architecture | None:
        return None


def distributions(*, with_dim: bool, kept: Collection[str]) -> "dict[str, BaseDistribution]":
    """Return what Optuna draws from."""
    from optuna.distributions import (  # noqa: PLC0415
        CategoricalDistribution,
        FloatDistribution,
    )

    found: dict[str, BaseDistribution] = {
        name: FloatDistribution(r.low, r.high, log=r.is_log) for name, r in RANGES.items()
    }
    found["batch_size"] = CategoricalDistribution(BATCH_SIZES)
    if with_dim:
        found["dim"] = CategoricalDistribution(DIMS)
    return {name: distribution for name, distribution in found.items() if name not in kept}


def as_begun(settings: TrainingSettings) -> dict[str, float | int]:
    """Return the settings that a tuning begins with, as far as they lie in its ranges."""
    found: dict[str, float | int] = {
        name: getattr(settings, name)
        for name, r in RANGES.items()
        if r.low <= getattr(settings, name) <= r.high
    }
    if settings.batch_size in BATCH_SIZES:
        found["batch_size"] = settings.batch_size
    if settings.dim in DIMS:
        found["dim"] = settings.dim
    return found
