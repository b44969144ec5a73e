"""Adam against torch's own, and what it adds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.architecture.literature import LITERATURE
from interstellar.model.path_network import NetworkForm
from interstellar.training.adam import ROW_BLOCK, Adam, FlatParameters, room, shorten_rows
from tests.training.test_step import DIM, N_ENTITIES, ONE_WAY, TWO_WAY, build_network

GOOD, BAD = torch.tensor(False), torch.tensor(True)


def build_adam(*, weight_decay: float = 0.0, max_norm: float | None = None) -> Adam:
    network = build_network(LITERATURE["RSN"], TWO_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))
    adam = Adam(parameters, weight_decay=weight_decay, max_norm=max_norm, row_length=DIM)
    adam.learning_rate.fill_(0.01)
    return adam


def take_steps(adam: Adam, gradients: Tensor, *, factor: float = 1.0) -> None:
    for gradient in gradients:
        adam.parameters.gradients.copy_(gradient)
        adam.n_updates += 1
        adam.update(torch.tensor(factor), GOOD)


def draw_gradients(adam: Adam, n_steps: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n_steps, len(adam.parameters.values), generator=generator)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_it_moves_parameters_as_torch_does(weight_decay: float) -> None:
    adam = build_adam(weight_decay=weight_decay)
    gradients = draw_gradients(adam)
    expected = adam.parameters.values.clone().requires_grad_()
    optimiser = torch.optim.Adam([expected], lr=0.01, weight_decay=weight_decay)

    take_steps(adam, gradients)
    for gradient in gradients:
        expected.grad = gradient.clone()
        optimiser.step()

    torch.testing.assert_close(adam.parameters.values, expected.detach(), rtol=0, atol=1e-5)
    assert adam.parameters.gradients.abs().max() == 0


def test_the_factor_scales_the_gradient_before_weight_decay() -> None:
    one, other = build_adam(weight_decay=0.3), build_adam(weight_decay=0.3)
    gradients = draw_gradients(one)

    take_steps(one, 7 * gradients)
    take_steps(other, gradients, factor=7.0)

    torch.testing.assert_close(one.parameters.values, other.parameters.values)
    torch.testing.assert_close(one.m, other.m)


def test_rows_of_entities_stay_within_the_norm_and_nothing_else_is_cut() -> None:
    adam, free = build_adam(max_norm=0.5), build_adam()
    gradients = draw_gradients(adam)

    take_steps(adam, 100 * gradients)
    take_steps(free, 100 * gradients)

    assert adam.entity_rows().norm(dim=1).max() <= 0.5 + 1e-6
    assert free.entity_rows().norm(dim=1).max() > 0.5
    torch.testing.assert_close(
        adam.parameters.views["relations"], free.parameters.views["relations"]
    )


def test_where_the_step_is_bad_only_the_gradient_is_cleared() -> None:
    adam = build_adam(weight_decay=0.1, max_norm=0.001)
    before = [t.clone() for t in (adam.parameters.values, adam.m, adam.v)]
    adam.parameters.gradients.fill_(torch.nan)

    adam.update(torch.tensor(1.0), BAD)

    for kept, now in zip(before, (adam.parameters.values, adam.m, adam.v), strict=True):
        torch.testing.assert_close(now, kept, rtol=0, atol=0)
    assert adam.parameters.gradients.abs().max() == 0


def test_it_goes_on_from_its_state_to_the_last_bit() -> None:
    whole, first, second = (
        build_adam(weight_decay=0.1),
        build_adam(weight_decay=0.1),
        build_adam(weight_decay=0.1),
    )
    gradients = draw_gradients(whole)

    take_steps(whole, gradients)
    take_steps(first, gradients[:3])
    second.parameters.values.copy_(first.parameters.values)
    for name, tensor in second.state_tensors().items():
        tensor.copy_(first.state_tensors()[name])
    take_steps(second, gradients[3:])

    torch.testing.assert_close(second.parameters.values, whole.parameters.values, rtol=0, atol=0)


@given(seed=st.integers(0, 1000), max_norm=st.floats(0.01, 10))
def test_shortening_keeps_directions_and_short_rows(seed: int, max_norm: float) -> None:
    rows = torch.randn(9, 4, generator=torch.Generator().manual_seed(seed))
    rows[0] = 0
    before = rows.clone()

    shorten_rows(rows, max_norm)

    lengths = before.norm(dim=1)
    is_short = lengths <= max_norm
    torch.testing.assert_close(rows[is_short], before[is_short])
    torch.testing.assert_close(rows.norm(dim=1), lengths.clamp(max=max_norm))
    torch.testing.assert_close(rows * lengths.unsqueeze(1), before * rows.norm(dim=1, keepdim=True))


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
