"""When a trial cannot win any more: no trial so far gained from here what this one lacks.

A trial is stopped after its k-th validation if its best score until then, plus the largest gain
that any complete trial has made after its own k-th validation, is still under the best score of
all. The bar that follows is fixed when a trial is begun, so that it is the same when the trial is
run again after a kill.
"""

from collections.abc import Sequence
from itertools import accumulate

FEWEST_COMPLETE = 8
"""Before so many trials were trained to their end, none is stopped: gains are not known yet."""
FIRST_VALIDATION = 2
"""No trial is stopped before this validation, counted from 1."""


def bars(complete: Sequence[Sequence[float]]) -> list[float] | None:
    """Return the least best-so-far that a trial needs at each validation; None: no bar yet.

    Args:
        complete: The scores at each validation of every trial that was trained to its end.
    """
    if len(complete) < FEWEST_COMPLETE:
        return None
    curves = [list(accumulate(curve, max)) for curve in complete if curve]
    best = max(curve[-1] for curve in curves)
    n_validations = max(map(len, curves))
    return [
        best - max(curve[-1] - curve[min(k, len(curve) - 1)] for curve in curves)
        for k in range(n_validations)
    ]


def is_hopeless(curve: Sequence[float], bar: Sequence[float] | None) -> bool:
    """Return whether a trial with these scores so far should be stopped."""
    n_done = len(curve)
    if bar is None or n_done < FIRST_VALIDATION or n_done > len(bar):
        return False
    return max(curve) < bar[n_done - 1]
