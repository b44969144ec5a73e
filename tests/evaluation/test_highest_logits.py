"""The highest logits are those of a full sort, ties by id."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interstellar.evaluation.highest_logits import BLOCK, find_highest


def sort_fully(logits: torch.Tensor, k: int) -> torch.Tensor:
    return torch.sort(logits, dim=1, descending=True, stable=True).indices[:, :k]


@given(
    n=st.integers(1, 20 * BLOCK),
    k=st.integers(1, 12),
    levels=st.integers(1, 50),
    seed=st.integers(0, 99),
)
def test_they_are_in_the_order_of_a_full_sort(n: int, k: int, levels: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randint(-levels, levels, (3, n), generator=generator) / 7

    assert torch.equal(find_highest(logits, min(k, n)), sort_fully(logits, min(k, n)))


@pytest.mark.parametrize("value", [0.0, -torch.inf])
def test_level_rows_are_in_the_order_of_ids(value: float) -> None:
    logits = torch.full((2, 40 * BLOCK + 5), value)

    assert find_highest(logits, 3).tolist() == [[0, 1, 2]] * 2


def test_minus_zero_is_level_with_zero() -> None:
    assert find_highest(torch.tensor([[-0.0, 0.0, -1.0]]), 3).tolist() == [[0, 1, 2]]
