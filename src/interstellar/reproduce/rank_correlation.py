"""Rank correlation of two scores of the same things, and how sure it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interstellar.randomness import spawn

N_RESAMPLES = 2000
COVERED = 95
"""Per cent of the resamples that lie within an interval."""

Values: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Values, Values], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A statistic and its interval of 95 %; None where one of the two scores is constant."""

    value: float | None
    interval: tuple[float, float] | None
    """Percentiles of a bootstrap over pairs. Resamples that are constant are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """How alike two scores order the same things, from −1 to 1."""

    spearman: Estimate
    """ρ: Pearson's correlation of the ranks, ties at their mean."""
    kendall: Estimate
    """τ_b: pairs in the same order less those in opposite order, corrected for ties."""


def correlate(first: Sequence[float], second: Sequence[float], *, seed: int) -> RankCorrelation:
    """Return the rank correlation of two finite scores, given in the same order."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return RankCorrelation(
        spearman=estimate(spearman, x, y, seed=seed), kendall=estimate(kendall, x, y, seed=seed)
    )


def estimate(statistic: Statistic, x: Values, y: Values, *, seed: int) -> Estimate:
    """Return a statistic with its interval; resamples are the same for every statistic."""
    if is_constant(x) or is_constant(y):
        return Estimate(value=None, interval=None)
    drawn = spawn(seed, "bootstrap").integers(len(x), size=(N_RESAMPLES, len(x)))
    values = [
        statistic(x[rows], y[rows])
        for rows in drawn
        if not (is_constant(x[rows]) or is_constant(y[rows]))
    ]
    tail = (100 - COVERED) / 2
    low, high = np.percentile(values, (tail, 100 - tail)).tolist()
    return Estimate(value=statistic(x, y), interval=(low, high))


def spearman(x: Values, y: Values) -> float:
    """Return Spearman's ρ."""
    return float(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1])


def kendall(x: Values, y: Values) -> float:
    """Return Kendall's τ_b."""
    return float(stats.kendalltau(x, y).statistic)


def is_constant(x: Values) -> bool:
    """Return whether there are no two different values, so that nothing is ordered."""
    return len(x) < 2 or bool((x == x[0]).all())
