"""Tables of embeddings: rows with their gradients, and logits."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.model.embedding_table import BLOCK_BYTES, FEWEST_ROWS, look_up, multiply_out


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


DIM = 64
WIDTH = BLOCK_BYTES // (4 * DIM)


@pytest.mark.parametrize("n_entities", [1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH, 3 * WIDTH + 5])
@pytest.mark.parametrize("n_rows", [0, 1, FEWEST_ROWS, FEWEST_ROWS + 3])
def test_every_logit_is_a_product_of_an_output_and_an_entity(n_rows: int, n_entities: int) -> None:
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(n_rows, DIM, generator=generator, dtype=torch.float64)
    table = torch.randn(n_entities, DIM, generator=generator, dtype=torch.float64)

    logits = multiply_out(v.float(), table.float())

    assert logits.is_contiguous()
    torch.testing.assert_close(logits.double(), v @ table.T, rtol=1e-5, atol=1e-4)


def test_equal_entities_have_equal_logits_whatever_block_they_are_in() -> None:
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(FEWEST_ROWS, DIM, generator=generator)
    table = torch.randn(3 * WIDTH + 5, DIM, generator=generator)
    table[[WIDTH, 2 * WIDTH + 7, 3 * WIDTH + 2]] = table[0].clone()

    logits = multiply_out(v, table)

    for copy in (WIDTH, 2 * WIDTH + 7, 3 * WIDTH + 2):
        assert torch.equal(logits[:, copy], logits[:, 0])


def test_nothing_is_recorded_for_gradients() -> None:
    table = torch.ones(2 * WIDTH, DIM, requires_grad=True)

    assert not multiply_out(torch.ones(FEWEST_ROWS, DIM), table).requires_grad
