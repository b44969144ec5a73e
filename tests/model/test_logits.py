"""Outputs times the table."""

import pytest
import torch

from interstellar.model.logits import BLOCK_BYTES, FEWEST_ROWS, multiply_out

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
