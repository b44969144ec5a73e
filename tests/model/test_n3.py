"""The regulariser N3 against its definition, by autograd in float64."""

import pytest
import torch
from torch import Tensor

from interstellar.architecture.literature import LITERATURE
from interstellar.model.n3 import add_slopes
from interstellar.model.path_network import NetworkForm, PathNetwork
from tests.training.test_step import DIM, ONE_WAY, TWO_WAY, build_network


def entities_with_gradient(network: PathNetwork) -> Tensor:
    network.entities.grad = torch.ones_like(network.entities)
    return network.entities


def gradient_of(table: Tensor) -> Tensor:
    assert table.grad is not None
    return table.grad


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two embeddings a row", "one"])
def test_a_row_counts_as_often_as_it_is_read_and_is_added_to_what_is_there(
    form: NetworkForm,
) -> None:
    network = build_network(LITERATURE["ComplEx"], form)
    table = entities_with_gradient(network)
    ids = torch.tensor([[3, 3], [0, 3]], dtype=torch.int32)
    exact = table.detach().double().requires_grad_()
    embeddings = exact[ids.flatten()].view(-1, DIM)
    cost = 0.5 * torch.complex(*embeddings.chunk(2, dim=1)).abs().pow(3).sum()

    with torch.no_grad():
        add_slopes(gradient_of(table), table, ids, 0.5, DIM // 2)

    [expected] = torch.autograd.grad(cost, [exact])
    torch.testing.assert_close(table.grad, 1 + expected.float())


def test_an_embedding_of_zeros_has_no_gradient() -> None:
    network = build_network(LITERATURE["ComplEx"], TWO_WAY)
    table = entities_with_gradient(network)

    with torch.no_grad():
        table[3] = 0
        add_slopes(gradient_of(table), table, torch.tensor([3]), 1e6, DIM // 2)

    assert table.grad is not None
    assert (table.grad == 1).all()
