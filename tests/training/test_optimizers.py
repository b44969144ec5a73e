"""Adam and Adagrad against torch's own, and what is added to them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.architecture.literature import LITERATURE
from interstellar.model.path_network import NetworkForm
from interstellar.training.optimizers import (
    ROW_BLOCK,
    FlatOptimizer,
    FlatParameters,
    room,
    shorten_rows,
)
from interstellar.training.settings import Optimizer
from tests.training.test_step import DIM, N_ENTITIES, ONE_WAY, TWO_WAY, build_network

GOOD, BAD = torch.tensor(False), torch.tensor(True)


def build_optimizer(
    kind: Optimizer = Optimizer.ADAM, *, weight_decay: float = 0.0, max_norm: float | None = None
) -> FlatOptimizer:
    network = build_network(LITERATURE["RSN"], TWO_WAY)
    optimizer = FlatOptimizer(
        FlatParameters(network, torch.device("cpu")),
        kind=kind,
        weight_decay=weight_decay,
        max_norm=max_norm,
        row_length=DIM,
    )
    optimizer.learning_rate.fill_(0.01)
    return optimizer


def take_steps(optimizer: FlatOptimizer, gradients: Tensor, *, factor: float = 1.0) -> None:
    for gradient in gradients:
        optimizer.parameters.gradients.copy_(gradient)
        optimizer.n_updates += 1
        optimizer.update(torch.tensor(factor), GOOD)


def draw_gradients(optimizer: FlatOptimizer, n_steps: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n_steps, len(optimizer.parameters.values), generator=generator)


@pytest.mark.parametrize("kind", Optimizer)
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_it_moves_parameters_as_torch_does_in_float64(kind: Optimizer, weight_decay: float) -> None:
    optimizer = build_optimizer(kind, weight_decay=weight_decay)
    gradients = draw_gradients(optimizer)
    gradients[:, ::3] = 0  # as those of entities that a batch does not have
    expected = optimizer.parameters.values.double().requires_grad_()
    torch_kind = {Optimizer.ADAM: torch.optim.Adam, Optimizer.ADAGRAD: torch.optim.Adagrad}[kind]
    reference = torch_kind([expected], lr=0.01, weight_decay=weight_decay)

    take_steps(optimizer, gradients)
    for gradient in gradients:
        expected.grad = gradient.double()
        reference.step()

    moved = optimizer.parameters.values.double()
    torch.testing.assert_close(moved, expected.detach(), rtol=0, atol=1e-5)
    assert optimizer.parameters.gradients.abs().max() == 0


@pytest.mark.parametrize(
    ("kind", "names"),
    [(Optimizer.ADAM, ["n_updates", "m", "v"]), (Optimizer.ADAGRAD, ["n_updates", "v"])],
)
def test_only_what_an_optimizer_needs_is_kept(kind: Optimizer, names: list[str]) -> None:
    assert list(build_optimizer(kind).state_tensors()) == [f"{kind}.{name}" for name in names]


def test_the_factor_scales_the_gradient_before_weight_decay() -> None:
    one, other = build_optimizer(weight_decay=0.3), build_optimizer(weight_decay=0.3)
    gradients = draw_gradients(one)

    take_steps(one, 7 * gradients)
    take_steps(other, gradients, factor=7.0)

    torch.testing.assert_close(one.parameters.values, other.parameters.values)
    torch.testing.assert_close(one.state_tensors(), other.state_tensors())


def test_rows_of_entities_stay_within_the_norm_and_nothing_else_is_cut() -> None:
    bounded, free = build_optimizer(max_norm=0.5), build_optimizer()
    gradients = draw_gradients(bounded)

    take_steps(bounded, 100 * gradients)
    take_steps(free, 100 * gradients)

    assert bounded.entity_rows().norm(dim=1).max() <= 0.5 + 1e-6
    assert free.entity_rows().norm(dim=1).max() > 0.5
    torch.testing.assert_close(
        bounded.parameters.views["relations"], free.parameters.views["relations"]
    )


@pytest.mark.parametrize("kind", Optimizer)
def test_where_the_step_is_bad_only_the_gradient_is_cleared(kind: Optimizer) -> None:
    optimizer = build_optimizer(kind, weight_decay=0.1, max_norm=0.001)
    state = [optimizer.parameters.values, *optimizer.state_tensors().values()]
    before = [tensor.clone() for tensor in state]
    optimizer.parameters.gradients.fill_(torch.nan)

    optimizer.update(torch.tensor(1.0), BAD)

    for kept, now in zip(before, state, strict=True):
        torch.testing.assert_close(now, kept, rtol=0, atol=0)
    assert optimizer.parameters.gradients.abs().max() == 0


@pytest.mark.parametrize("kind", Optimizer)
def test_it_goes_on_from_its_state_to_the_last_bit(kind: Optimizer) -> None:
    whole, first, second = (build_optimizer(kind, weight_decay=0.1) for _ in range(3))
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
    assert room(torch.Size(shape)) == numbers
