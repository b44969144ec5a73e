"""Adam against torch's own, and what it adds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interstellar.architecture.literature import LITERATURE
from interstellar.training.adam import Adam, shorten_rows
from interstellar.training.flat_parameters import FlatParameters
from tests.training.test_step import DIM, TWO_WAY, build_network

GOOD, BAD = torch.tensor(False), torch.tensor(True)


def build_adam(*, l2: float = 0.0, max_norm: float | None = None) -> Adam:
    network = build_network(LITERATURE["RSN"], TWO_WAY)
    parameters = FlatParameters(network, torch.device("cpu"))
    adam = Adam(parameters, l2=l2, max_norm=max_norm, row_length=DIM)
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


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_it_moves_parameters_as_torch_does(l2: float) -> None:
    adam = build_adam(l2=l2)
    gradients = draw_gradients(adam)
    expected = adam.parameters.values.clone().requires_grad_()
    optimiser = torch.optim.Adam([expected], lr=0.01, weight_decay=l2)

    take_steps(adam, gradients)
    for gradient in gradients:
        expected.grad = gradient.clone()
        optimiser.step()

    torch.testing.assert_close(adam.parameters.values, expected.detach(), rtol=0, atol=1e-5)
    assert adam.parameters.gradients.abs().max() == 0


def test_the_factor_scales_the_gradient_before_weight_decay() -> None:
    one, other = build_adam(l2=0.3), build_adam(l2=0.3)
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
    adam = build_adam(l2=0.1, max_norm=0.001)
    before = [t.clone() for t in (adam.parameters.values, adam.m, adam.v)]
    adam.parameters.gradients.fill_(torch.nan)

    adam.update(torch.tensor(1.0), BAD)

    for kept, now in zip(before, (adam.parameters.values, adam.m, adam.v), strict=True):
        torch.testing.assert_close(now, kept, rtol=0, atol=0)
    assert adam.parameters.gradients.abs().max() == 0


def test_it_goes_on_from_its_state_to_the_last_bit() -> None:
    whole, first, second = build_adam(l2=0.1), build_adam(l2=0.1), build_adam(l2=0.1)
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
