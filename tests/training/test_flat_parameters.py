"""All parameters as one vector: the network goes on with views of it."""

import pytest
import torch

from interstellar.architecture.literature import LITERATURE
from interstellar.model.path_network import NetworkForm
from interstellar.training.flat_parameters import ROW_BLOCK, FlatParameters, room
from tests.training.test_step import DIM, N_ENTITIES, ONE_WAY, TWO_WAY, build_network

CPU = torch.device("cpu")


@pytest.mark.parametrize("form", [TWO_WAY, ONE_WAY], ids=["two-way", "batch-norm"])
def test_the_network_keeps_its_values_and_uses_the_vector(form: NetworkForm) -> None:
    network = build_network(LITERATURE["RSN"], form)
    before = {name: p.detach().clone() for name, p in network.named_parameters()}

    flat = FlatParameters(network, CPU)
    kept = flat.snapshot()
    flat.values.add_(1)

    for name, parameter in network.named_parameters():
        torch.testing.assert_close(kept[name], before[name], rtol=0, atol=0)
        torch.testing.assert_close(parameter.detach(), before[name] + 1)


def test_gradients_of_the_network_lie_in_one_vector() -> None:
    network = build_network(LITERATURE["RSN"], ONE_WAY)
    flat = FlatParameters(network, CPU)

    for parameter in network.parameters():
        assert parameter.grad is not None
        parameter.grad.fill_(1)

    assert flat.gradients.sum() == sum(p.numel() for p in network.parameters())


def test_entities_come_first_with_rows_of_zeros_behind_them() -> None:
    network = build_network(LITERATURE["TransE"], TWO_WAY)
    flat = FlatParameters(network, CPU)

    table = network.entity_table()

    assert flat.n_entity_numbers == ROW_BLOCK * 2 * DIM
    assert table.values.shape == (ROW_BLOCK, 2 * DIM)
    assert table.n_entities == N_ENTITIES
    assert table.values.data_ptr() == flat.values.data_ptr()
    assert table.gradient.data_ptr() == flat.gradients.data_ptr()
    assert table.values[N_ENTITIES:].abs().max() == 0


def test_a_snapshot_is_a_copy_and_can_be_restored() -> None:
    flat = FlatParameters(build_network(LITERATURE["RSN"], TWO_WAY), CPU)
    before = flat.values.clone()

    snapshot = flat.snapshot()
    flat.values.mul_(2)
    flat.restore(snapshot)

    torch.testing.assert_close(flat.values, before, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("shape", "numbers"), [((1, 3), 384), ((128, 3), 384), ((129, 3), 768), ((5,), 128)]
)
def test_room_is_made_for_whole_blocks_of_rows(shape: tuple[int, ...], numbers: int) -> None:
    assert room(torch.empty(shape)) == numbers
