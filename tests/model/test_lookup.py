"""Rows of a table: values as indexing gives them, gradients added to the table's own."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.model.lookup import look_up


def draw_table() -> Tensor:
    return torch.randn(7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@given(ids=st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=5))
def test_rows_and_gradients_are_those_of_indexing(ids: list[list[int]]) -> None:
    places = torch.tensor(ids, dtype=torch.int32)
    table = draw_table().requires_grad_()
    plain = draw_table().requires_grad_()
    gradient = torch.ones_like(plain)
    weights = torch.arange(3 * places.numel(), dtype=torch.float64).view(*places.shape, 3)

    rows = look_up(table, gradient, places)
    (rows * weights).sum().backward()  # type: ignore[no-untyped-call]

    expected = plain[places.long()]
    (expected * weights).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(rows, expected)
    assert plain.grad is not None
    torch.testing.assert_close(gradient, 1 + plain.grad)
    assert table.grad is None


def test_the_gradient_may_be_a_part_of_a_wider_table() -> None:
    wide, gradient = draw_table().repeat(1, 2).requires_grad_(), torch.zeros(7, 6).double()

    rows = look_up(wide[:, 3:], gradient[:, 3:], torch.tensor([2, 2, 5]))
    rows.sum().backward()  # type: ignore[no-untyped-call]

    assert gradient[:, :3].abs().max() == 0
    assert gradient[:, 3:].sum(dim=1).tolist() == [0, 0, 6, 0, 0, 3, 0]


def test_without_a_gradient_rows_can_still_be_read() -> None:
    table = draw_table()

    assert torch.equal(look_up(table, None, torch.tensor([4])), table[4:5])
