"""Holding out triplets and pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.splitting import (
    TRIPLET_SPLIT,
    SplitShares,
    parse_split,
    split_pairs,
    split_triplets,
)
from interstellar.data.triplets import distinct_triplets
from interstellar.errors import SettingsError

triplet_lists = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=200
)


@given(rows=triplet_lists, seed=st.integers(0, 1000))
def test_train_names_everything_that_valid_and_test_name(
    rows: list[tuple[int, int, int]], seed: int
) -> None:
    triplets = distinct_triplets(np.array(rows, dtype=np.int32))

    train, valid, test = split_triplets(triplets, TRIPLET_SPLIT, seed=seed)

    held_out = np.concatenate([valid, test])
    assert set(held_out[:, [0, 2]].ravel()) <= set(train[:, [0, 2]].ravel())
    assert set(held_out[:, 1]) <= set(train[:, 1])
    together = np.concatenate([train, valid, test])
    assert sorted(map(tuple, together)) == sorted(map(tuple, triplets))


def test_shares_are_kept_and_the_seed_decides() -> None:
    rng = np.random.default_rng(0)
    triplets = distinct_triplets(
        np.stack([rng.integers(0, n, 20_000) for n in (300, 5, 300)], axis=1).astype(np.int32)
    )

    first = split_triplets(triplets, TRIPLET_SPLIT, seed=1)
    again = split_triplets(triplets, TRIPLET_SPLIT, seed=1)
    other = split_triplets(triplets, TRIPLET_SPLIT, seed=2)

    n = len(triplets)
    assert [len(part) for part in first[1:]] == [round(0.05 * n), round(0.05 * n)]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[2], other[2])


def test_ten_pairs_leave_one_for_validation_and_one_for_the_test() -> None:
    pairs = np.stack([np.arange(10), np.arange(10)], axis=1).astype(np.int32)

    seeds, valid, test = split_pairs(pairs, SplitShares(train=0.8, valid=0.1, test=0.1), seed=0)

    assert [len(seeds), len(valid), len(test)] == [8, 1, 1]


@pytest.mark.parametrize(
    "shares",
    [
        (0.5, 0.2, 0.2),
        (0, 0.5, 0.5),
        (1.2, -0.1, -0.1),
        (float("nan"), 0.5, 0.5),
        (float("inf"), 0, 0),
    ],
)
def test_shares_that_do_not_add_up_are_refused(shares: tuple[float, float, float]) -> None:
    train, valid, test = shares

    with pytest.raises(SettingsError, match="add up to 100 %"):
        SplitShares(train=train, valid=valid, test=test)


@pytest.mark.parametrize("text", ["nan/1/1", "inf/1/1", "1e999/5/5", "90/5", "a/b/c"])
def test_shares_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not three numbers"):
        parse_split(text)
