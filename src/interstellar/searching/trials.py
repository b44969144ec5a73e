"""The trials of a search: which were tried, which is the best, and which can no longer win.

Pruning: a trial is stopped after its k-th validation if its best score until then, plus the
largest gain that any complete trial has made after its own k-th validation, is still under the
best score of all. The bar that follows is fixed when a trial is begun, so that it is the same
when the trial is run again after a kill.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.searching.trial import Trial

FEWEST_COMPLETE = 8
"""Before so many trials were trained to their end, none is stopped: gains are not known yet."""
FIRST_VALIDATION = 2
"""No trial is stopped before this validation, counted from 1."""


@final
class Trials:
    """Every trial that has ended, in the order of their ends."""

    def __init__(self, ended: Iterable[Trial] = ()) -> None:
        self.ended: list[Trial] = []
        self._by_network: dict[Architecture, Trial] = {}
        for trial in ended:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        self.ended.append(trial)
        if not trial.settings:
            self._by_network.setdefault(trial.network, trial)

    def find(self, architecture: Architecture) -> Trial | None:
        """Return the trial of the same network, whatever its name was there."""
        return self._by_network.get(canonical_form(architecture))

    @property
    def trained(self) -> list[Trial]:
        """Those that cost something."""
        return [trial for trial in self.ended if trial.result.reused is None]

    @property
    def ranked(self) -> list[Trial]:
        """Those with a score, the best first, each network once; of equal ones the first tried."""
        scored = [trial for trial in self.ended if trial.score is not None]
        found: dict[object, Trial] = {}
        for trial in sorted(scored, key=lambda trial: -(trial.score or 0.0)):
            found.setdefault(trial.number if trial.settings else trial.network, trial)
        return list(found.values())

    @property
    def best(self) -> Trial | None:
        """The highest score; of equal ones the first."""
        scored = [trial for trial in self.ended if trial.score is not None]
        return max(scored, key=lambda trial: trial.score or 0.0, default=None)

    def complete_curves(self) -> list[list[float]]:
        """Return the scores at each validation of those that were trained to their end."""
        results = (trial.result for trial in self.trained)
        return [result.curve for result in results if result.is_complete and result.curve]


def known_trials(trials: Iterable[Trial], source: str) -> dict[Architecture, Trial]:
    """Return the complete ones among trials of another search, by network, with their source."""
    known = {}
    for trial in trials:
        if trial.result.is_complete:
            result = replace(trial.result, reused=f"proposal {trial.number} of {source}")
            known[trial.network] = replace(trial, result=result)
    return known


def prune_bar(complete: Sequence[Sequence[float]]) -> tuple[float, ...] | None:
    """Return the least best-so-far that a trial needs at each validation; None: no bar yet.

    `complete` are the scores at each validation of every trial that was trained to its end.
    """
    if len(complete) < FEWEST_COMPLETE:
        return None
    curves = [list(accumulate(curve, max)) for curve in complete if curve]
    best = max(curve[-1] for curve in curves)
    return tuple(
        best - max(curve[-1] - curve[min(k, len(curve) - 1)] for curve in curves)
        for k in range(max(map(len, curves)))
    )


def should_prune(curve: Sequence[float], bar: Sequence[float] | None) -> bool:
    """Return whether a trial with these scores so far should be stopped."""
    n_done = len(curve)
    if bar is None or n_done < FIRST_VALIDATION or n_done > len(bar):
        return False
    return max(curve) < bar[n_done - 1]
