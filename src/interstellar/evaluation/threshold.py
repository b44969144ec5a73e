"""From which similarity on a pair is believed, chosen where the truth is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well an alignment finds pairs that are known to be true."""

    precision: float
    """Share of the partners given that are the true ones; 1 where none were given."""
    recall: float
    """Share of the true pairs that were found."""
    f1: float
    """Their harmonic mean."""
    n: int
    """How many true pairs there are."""

    @classmethod
    def of(cls, *, n_right: int, n_given: int, n_true: int) -> "Quality":
        """Sum up counts."""
        return cls(
            precision=n_right / n_given if n_given else 1.0,
            recall=n_right / n_true if n_true else 1.0,
            f1=2 * n_right / (n_given + n_true) if n_given + n_true else 1.0,
            n=n_true,
        )

    def as_dict(self) -> dict[str, float | int]:
        """Return the numbers by name."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, "n": self.n}


def choose_threshold(
    similarities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_], *, n_true: int
) -> float:
    """Return the threshold with the highest F1: partners less similar are left out.

    One of the similarities given, the lowest of those that are as good; -inf where there are none.

    Args:
        similarities: Of entities to the partners they were given, (n,).
        is_right: Whether these are the true ones.
        n_true: How many true pairs there are; entities without a partner count here alone.
    """
    falling, n_right, n_given, is_possible = _count_from_the_top(similarities, is_right)
    f1 = np.where(is_possible, 2 * n_right / (n_given + n_true), -1.0)
    if len(f1) == 0:
        return -np.inf
    return float(falling[np.flatnonzero(f1 == f1.max())[-1]])


def choose_precise_threshold(
    similarities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_], *, precision: float
) -> float:
    """Return the lowest threshold at which at least this share of the partners given is right.

    One of the similarities given; inf where none is precise enough.

    Args:
        similarities: Of entities to the partners they were given, (n,).
        is_right: Whether these are the true ones.
        precision: The share that is asked for.
    """
    falling, n_right, n_given, is_possible = _count_from_the_top(similarities, is_right)
    is_precise = is_possible & (n_right >= precision * n_given)
    return float(falling[is_precise][-1]) if is_precise.any() else np.inf


def _count_from_the_top(
    similarities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return falling similarities, how many partners are right and given down to each of them.

    And whether it can be a threshold: of equal similarities only the last can.
    """
    order = np.argsort(-similarities, kind="stable")
    falling = similarities[order]
    is_last_of_equals = np.append(falling[1:] < falling[:-1], True)[: len(falling)]
    return falling, np.cumsum(is_right[order]), np.arange(1, len(falling) + 1), is_last_of_equals
