"""Holding out triplets or pairs for validation and test, reproducibly."""

from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.errors import SettingsError
from interstellar.randomness import spawn


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitShares:
    """Shares of train, valid and test, for data without splits; they add up to 1."""

    train: float
    valid: float
    test: float

    def __post_init__(self) -> None:
        shares = (self.train, self.valid, self.test)
        is_sum = all(map(isfinite, shares)) and abs(sum(shares) - 1) <= 1e-6
        if not is_sum or min(shares) < 0 or self.train == 0:
            raise SettingsError(
                f"split {self} is not three shares of train, valid and test that add up to 100 % "
                "with something for train. Give shares such as 90/5/5."
            )

    def __str__(self) -> str:
        """Return the shares in per cent, as in 90/5/5."""
        return "/".join(f"{100 * share:g}" for share in (self.train, self.valid, self.test))


def parse_split(text: str) -> SplitShares:
    """Return the shares written as 90/5/5 or 0.9/0.05/0.05."""
    try:
        train, valid, test = (float(part) for part in text.split("/"))
    except ValueError:
        raise SettingsError(
            f"split {text!r} is not three numbers. Write shares such as 90/5/5."
        ) from None
    if not all(map(isfinite, (train, valid, test))):
        raise SettingsError(f"split {text!r} is not three numbers. Write shares such as 90/5/5.")
    total = 100 if train + valid + test > 1.5 else 1
    return SplitShares(train=train / total, valid=valid / total, test=test / total)


TRIPLET_SPLIT = SplitShares(train=0.9, valid=0.05, test=0.05)
PAIR_SPLIT = SplitShares(train=0.8, valid=0.1, test=0.1)
SPLIT_SEED = 0
"""Every command and function splits with these unless told otherwise, so that all split alike."""


def split_triplets(
    triplets: Triplets, split: SplitShares, *, seed: int
) -> tuple[Triplets, Triplets, Triplets]:
    """Return train, valid and test; whatever valid and test name occurs in train.

    In a random order, a triplet that is the first to name an entity or a relation goes
    to train; valid and test are the first of the others. Where too few are left to hold
    out, valid and test get fewer than their share.
    """
    order = spawn(seed, "split triplets").permutation(len(triplets))
    shuffled = triplets[order]
    spare = order[~names_something_first(shuffled)]
    n_valid, n_test = held_out_counts(len(triplets), len(spare), split)
    valid, test = np.sort(spare[:n_valid]), np.sort(spare[n_valid : n_valid + n_test])
    in_train = np.ones(len(triplets), dtype=bool)
    in_train[valid] = in_train[test] = False
    return triplets[in_train], triplets[valid], triplets[test]


def names_something_first(triplets: Triplets) -> npt.NDArray[np.bool_]:
    """Return for each row whether its subject, relation or object stands in no row above."""
    is_first = np.zeros(len(triplets), dtype=bool)
    entities = triplets[:, [SUBJECT, OBJECT]].ravel()
    is_first[np.unique(entities, return_index=True)[1] // 2] = True
    is_first[np.unique(triplets[:, RELATION], return_index=True)[1]] = True
    return is_first


def held_out_counts(n: int, n_spare: int, split: SplitShares) -> tuple[int, int]:
    """Return how many rows go to valid and test when only `n_spare` may leave train."""
    wanted = np.array([split.valid, split.test]) * n
    counts = np.maximum(np.round(wanted), wanted > 0).astype(int)
    if counts.sum() > n_spare:
        counts = np.floor(counts * (n_spare / counts.sum())).astype(int)
    return int(counts[0]), int(counts[1])


Rows: TypeAlias = npt.NDArray[np.int32]


def split_pairs(pairs: Rows, split: SplitShares, *, seed: int) -> tuple[Rows, Rows, Rows]:
    """Return train, valid and test pairs, each in the order they were given."""
    order = spawn(seed, "split pairs").permutation(len(pairs))
    n_valid, n_test = held_out_counts(len(pairs), max(0, len(pairs) - 1), split)
    valid, test = np.sort(order[:n_valid]), np.sort(order[n_valid : n_valid + n_test])
    train = np.sort(order[n_valid + n_test :])
    return pairs[train], pairs[valid], pairs[test]
