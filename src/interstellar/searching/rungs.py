"""Rungs: every trial is trained a little, and only the best of them further.

Asynchronous successive halving (ASHA, Li et al. 2020): whoever is among the best third of those
that have come as far is promoted to the next rung, at once; nobody waits for the others. The last
rung is the whole training. A trial goes on where it stopped, so that in the end it is the same as
one that was never stopped.
"""

from collections.abc import Collection
from dataclasses import dataclass

from interstellar.searching.trial import Stop, Trial
from interstellar.searching.trials import Trials
from interstellar.training.settings import TrainingSettings

REDUCTION = 3
"""One of so many is promoted, to so many times the epochs."""
MOST_RUNGS = 4


@dataclass(frozen=True, slots=True)
class Rungs:
    """When trials are compared."""

    epochs: tuple[int, ...]
    """The last is the whole training."""
    validate_every: int

    @classmethod
    def of(cls, settings: TrainingSettings, *, prune: bool) -> "Rungs":
        """Return the rungs of a training; the only one is its end where nothing is pruned."""
        last, every = settings.max_epochs, settings.validate_every
        shares = (last / REDUCTION**k for k in range(1, MOST_RUNGS if prune else 1))
        found = {every * max(1, round(share / every)) for share in shares}
        return cls((*sorted(epochs for epochs in found if epochs < last), last), every)

    @property
    def first(self) -> int | None:
        """Epochs before a new trial is compared; None: it is trained to its end."""
        return self.after(0)

    def after(self, epochs: int) -> int | None:
        """Return the rung that follows after so many epochs; None: it is the end."""
        following = next(rung for rung in self.epochs if rung > epochs)
        return None if following == self.epochs[-1] else following

    def find_promotion(
        self, trials: Trials, busy: Collection[int], *, is_last: bool
    ) -> Trial | None:
        """Return the trial to be promoted; None: none has earned it.

        `busy` are the numbers of those under way. Where no more trials are to come (`is_last`),
        the best of a rung is promoted even if more would have to be there for one to be, so that
        one is trained to its end.
        """
        for rung in reversed(self.epochs[:-1]):
            here = [trial for trial in trials.trained if has_reached(trial, rung)]
            beyond = [t for t in here if t.number in busy or has_passed(t, rung)]
            n_best = len(here) // REDUCTION
            if is_last and not beyond:
                n_best = max(1, n_best)
            for trial in self._rank(here, rung)[:n_best]:
                if trial not in beyond:
                    return trial
        return None

    def _rank(self, trials: Collection[Trial], rung: int) -> list[Trial]:
        """Return trials by their best score until a rung, the best first."""
        n_validations = rung // self.validate_every
        return sorted(trials, key=lambda trial: -max(trial.result.curve[:n_validations]))


def has_reached(trial: Trial, rung: int) -> bool:
    """Return whether a trial can be compared at a rung: it was trained so far, or to its end."""
    result = trial.result
    return bool(result.curve) and (
        result.is_complete or (result.stopped is Stop.RUNG and result.epochs >= rung)
    )


def has_passed(trial: Trial, rung: int) -> bool:
    """Return whether a trial has nothing to gain from being promoted at a rung."""
    return trial.result.is_complete or trial.result.epochs > rung
