"""The shared cell: with one-hot weights it is the cell of an architecture, else it mixes."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from interstellar.architecture.architecture import Architecture, Source
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.search_space import Choice, SearchSpace, Subspace, choices, take
from interstellar.model.path_cell import CellWeights, PathCell
from interstellar.model.shared_cell import SharedCell
from tests.architecture.strategies import architectures

DIM, BATCH = 6, 3
CPU = torch.device("cpu")
EVERYTHING = choices(Source, Source)


def alone(architecture: Architecture) -> list[Choice]:
    """Return the choices with just the options of an architecture in play."""
    taken = take(architecture)
    return [Choice(c.name, (option,)) for c, option in zip(EVERYTHING, taken, strict=True)]


def draw_inputs(*, length: int = 3) -> list[Tensor]:
    """s, r and h_0."""
    generator = torch.Generator().manual_seed(0)
    s, r = torch.randn(2, BATCH, length, DIM, generator=generator, dtype=torch.float64)
    h_0 = torch.randn(BATCH, DIM, generator=generator, dtype=torch.float64)
    return [x.requires_grad_() for x in (s, r, h_0)]


def build(in_play: Sequence[Choice] = EVERYTHING) -> SharedCell:
    """Return a cell in float64 with random weights, also those of its mixture."""
    generator = torch.Generator().manual_seed(4)
    cell = SharedCell(in_play, DIM, CPU).double()
    for parameter in cell.parameters():
        parameter.data.normal_(generator=generator)
    mixture = cell.mixture
    mixture.weights = torch.rand(len(mixture.weights), generator=generator, dtype=torch.float64)
    return cell


def path_cell_of(cell: SharedCell, architecture: Architecture) -> PathCell:
    """Return the cell of an architecture with the shared weights; what nobody reads is NaN."""
    weights = CellWeights.of(architecture, DIM).double()
    for parameter in weights.parameters():
        parameter.data.fill_(torch.nan)
    shared, own = cell.weights.state_dict(), weights.state_dict()
    weights.load_state_dict({name: shared.get(name, own[name]) for name in own})
    return PathCell(architecture, weights)


def gradients(v: Tensor, wrt: list[Tensor]) -> tuple[Tensor, ...]:
    if not v.requires_grad:
        return tuple(torch.zeros_like(x) for x in wrt)
    direction = torch.randn(v.shape, generator=torch.Generator().manual_seed(3), dtype=v.dtype)
    return torch.autograd.grad(v, wrt, direction, allow_unused=True, materialize_grads=True)


def assert_equals_path_cell(cell: SharedCell, architecture: Architecture, length: int) -> None:
    inputs, path_cell = draw_inputs(length=length), path_cell_of(cell, architecture)
    own, shared = dict(path_cell.weights.named_parameters()), dict(cell.weights.named_parameters())

    found, expected = cell.unroll(*inputs), path_cell.unroll(*inputs)

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        gradients(found, [*inputs, *(shared[name] for name in own if name in shared)]),
        gradients(expected, [*inputs, *(own[name] for name in own if name in shared)]),
    )


@settings(max_examples=100)
@given(architecture=architectures, length=st.integers(1, 4))
def test_one_architecture_is_its_cell_in_values_and_gradients(
    architecture: Architecture, length: int
) -> None:
    assert_equals_path_cell(build(alone(architecture)), architecture, length)


@settings(max_examples=60)
@given(architecture=architectures)
def test_with_everything_in_play_one_hot_weights_choose(architecture: Architecture) -> None:
    cell = build()

    cell.mixture.set_architecture(architecture)

    assert_equals_path_cell(cell, architecture, 3)
    assert cell.architecture == architecture


@pytest.mark.parametrize("subspace", Subspace)
def test_every_subspace_can_be_mixed(subspace: Subspace) -> None:
    space = SearchSpace(subspace)
    cell, architecture = build(space.choices()), next(space.architectures())

    cell.mixture.set_architecture(architecture)

    assert_equals_path_cell(cell, architecture, 3)


@pytest.mark.parametrize("name", ["output", "output_source"])
def test_where_nothing_nonlinear_follows_a_mixture_is_linear_between_options(name: str) -> None:
    cell, inputs = build(), draw_inputs()
    if name == "output_source":  # ⊙ is linear in its first input; gating is not
        cell.mixture.weights[cell.mixture.columns["output"]] = torch.tensor([0.0, 1, 0, 0]).double()
    columns = cell.mixture.weights[cell.mixture.columns[name]]
    shares = torch.rand(len(columns), dtype=torch.float64)

    single = []
    for option in torch.eye(len(columns), dtype=torch.float64):
        columns.copy_(option)
        single.append(cell.unroll(*inputs))
    columns.copy_(shares)
    mixed = cell.unroll(*inputs)

    expected = sum(share * v for share, v in zip(shares, single, strict=True))
    torch.testing.assert_close(mixed, expected)


def test_a_half_trained_matrix_is_halfway_between_the_matrix_and_the_identity() -> None:
    pairs = zip(EVERYTHING, alone(LITERATURE["TransE"]), strict=True)
    cell = build([choice if choice.name == "W_4" else own for choice, own in pairs])
    cell.mixture.weights.fill_(0.5)
    s, r, h_0 = draw_inputs()

    v = cell.unroll(s, r, h_0)

    W_4_r = cell.weights.W["4"](r)
    torch.testing.assert_close(v, s + (W_4_r + r) / 2)


def test_the_gradient_of_the_weights_is_that_of_finite_differences() -> None:
    cell = build()
    for parameter in cell.parameters():
        parameter.data /= 3
        parameter.requires_grad_(False)
    inputs = [x.detach() for x in draw_inputs()]

    def unroll_with(weights: Tensor) -> Tensor:
        cell.mixture.weights = weights
        return cell.unroll(*inputs)

    start = (cell.mixture.weights / 2).requires_grad_()

    assert torch.autograd.gradcheck(unroll_with, start, fast_mode=True)


def test_weights_changed_in_place_take_effect() -> None:
    cell = build()
    weights = cell.mixture.weights

    for name in ("TransE", "RSN", "TransE"):
        cell.mixture.set_architecture(LITERATURE[name])
        assert_equals_path_cell(cell, LITERATURE[name], 2)

    assert cell.mixture.weights is weights


def test_what_nobody_reads_has_no_options_and_no_weights() -> None:
    cell = build(alone(LITERATURE["TransE"]))

    assert cell.mixture.options["subject"] == ()
    assert not dict(cell.weights.named_parameters())
    assert len(cell.mixture.weights) == 0
