"""The mixed cell: with one-hot weights it is the cell of an architecture, else it mixes."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from interstellar.architecture.architecture import Architecture, Source
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.search_space import SearchSpace, Subspace, choices
from interstellar.model.mixed_cell import MixedCell
from interstellar.model.mixture import Mixture, options_of
from interstellar.model.path_cell import CellWeights, PathCell
from tests.architecture.strategies import architectures

DIM, BATCH = 6, 3
CPU = torch.device("cpu")
EVERYTHING = choices(Source, Source)


def draw_inputs(n_networks: int, *, length: int = 3, seed: int = 0) -> list[Tensor]:
    """s, r and h_0."""
    generator = torch.Generator().manual_seed(seed)
    shape = (n_networks, BATCH, length, DIM)
    s, r = torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    h_0 = torch.randn(n_networks, BATCH, DIM, generator=generator, dtype=torch.float64)
    return [x.requires_grad_() for x in (s, r, h_0)]


def draw_weights(cell: MixedCell, *, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    named = CellWeights(DIM, links=cell.links, gates=cell.gates).named_parameters()
    shapes = {name: (cell.mixture.n_networks, *parameter.shape) for name, parameter in named}
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for name, shape in shapes.items()
    }


def build(in_play: Sequence[Architecture] | None = None, *, n_networks: int = 1) -> MixedCell:
    """Return a cell of architectures, or one with everything in play and random weights."""
    chosen = EVERYTHING if in_play is None else options_of(in_play)
    n_networks = n_networks if in_play is None else len(in_play)
    mixture = Mixture(chosen, n_networks=n_networks, device=CPU, dtype=torch.float64)
    if in_play is None:
        mixture.weights.uniform_(generator=torch.Generator().manual_seed(4))
    else:
        mixture.set_architectures(in_play)
    return MixedCell(mixture)


def unroll_alone(
    architecture: Architecture, weights: dict[str, Tensor], inputs: list[Tensor], network: int
) -> Tensor:
    """What `PathCell` computes with the weights and the inputs of one network."""
    cell = Unrolled(architecture)
    own = {name: p for name, p in weights.items() if name in dict(cell.weights.named_parameters())}
    named = {f"weights.{name}": parameter[network] for name, parameter in own.items()}
    v: Tensor = torch.func.functional_call(cell, named, tuple(x[network] for x in inputs))
    return v


class Unrolled(torch.nn.Module):
    """`PathCell.unroll` as a module's `forward`; weights that it should not use are NaN."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.weights = CellWeights.of(architecture, DIM).double()
        self.cell = PathCell(architecture, self.weights)
        for parameter in self.parameters():
            parameter.data.fill_(torch.nan)

    def forward(self, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        return self.cell.unroll(s, r, h_0)


def gradients(v: Tensor, wrt: list[Tensor]) -> tuple[Tensor, ...]:
    if not v.requires_grad:
        return tuple(torch.zeros_like(x) for x in wrt)
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(v.shape, generator=generator, dtype=v.dtype)
    return torch.autograd.grad(v, wrt, direction, allow_unused=True, materialize_grads=True)


def assert_equals_path_cells(cell: MixedCell, taken: Sequence[Architecture], length: int) -> None:
    inputs = draw_inputs(len(taken), length=length)
    weights = draw_weights(cell)
    wrt = [*inputs, *weights.values()]

    found = cell.unroll(weights, *inputs)
    expected = torch.stack(
        [unroll_alone(a, weights, inputs, network) for network, a in enumerate(taken)]
    )

    torch.testing.assert_close(found, expected)
    for one, other in zip(gradients(found, wrt), gradients(expected, wrt), strict=True):
        torch.testing.assert_close(one, other)


@settings(max_examples=100)
@given(architecture=architectures, length=st.integers(1, 4))
def test_one_architecture_is_its_cell_in_values_and_gradients(
    architecture: Architecture, length: int
) -> None:
    assert_equals_path_cells(build([architecture]), [architecture], length)


@settings(max_examples=60)
@given(taken=st.lists(architectures, min_size=2, max_size=6))
def test_several_networks_at_once_are_each_what_it_is_alone(taken: list[Architecture]) -> None:
    assert_equals_path_cells(build(taken), taken, 3)


@settings(max_examples=60)
@given(architecture=architectures)
def test_with_everything_in_play_one_hot_weights_still_choose(architecture: Architecture) -> None:
    cell = build()

    cell.mixture.set_architectures([architecture])

    assert_equals_path_cells(cell, [architecture], 3)
    assert cell.mixture.heaviest() == architecture


@pytest.mark.parametrize("subspace", Subspace)
def test_every_subspace_can_be_mixed(subspace: Subspace) -> None:
    space = SearchSpace(subspace)
    mixture = Mixture(space.choices(), n_networks=1, device=CPU, dtype=torch.float64)
    architecture = next(space.architectures())

    mixture.set_architectures([architecture])

    assert_equals_path_cells(MixedCell(mixture), [architecture], 3)


@pytest.mark.parametrize("name", ["output", "output_source"])
def test_where_nothing_nonlinear_follows_a_mixture_is_linear_between_options(name: str) -> None:
    cell = build()
    inputs, weights = draw_inputs(1), draw_weights(cell)
    if name == "output_source":  # ⊙ is linear in its first input; gating is not
        cell.mixture.weights[:, cell.mixture.columns["output"]] = torch.tensor([0.0, 1, 0, 0])
    columns = cell.mixture.weights[:, cell.mixture.columns[name]]
    n_options = columns.shape[1]
    shares = torch.rand(n_options, dtype=torch.float64)

    alone = []
    for option in torch.eye(n_options, dtype=torch.float64):
        columns.copy_(option)
        alone.append(cell.unroll(weights, *inputs))
    columns.copy_(shares)
    mixed = cell.unroll(weights, *inputs)

    expected = sum(share * v for share, v in zip(shares, alone, strict=True))
    torch.testing.assert_close(mixed, expected)


def test_a_half_trained_matrix_is_halfway_between_the_matrix_and_the_identity() -> None:
    architecture = LITERATURE["TransE"]
    mixture = Mixture(
        [
            c if c.name == "W_4" else o
            for c, o in zip(EVERYTHING, options_of([architecture]), strict=True)
        ],
        n_networks=1,
        device=CPU,
        dtype=torch.float64,
    )
    mixture.weights.fill_(0.5)
    cell = MixedCell(mixture)
    [s, r, h_0], weights = draw_inputs(1), draw_weights(cell)

    v = cell.unroll(weights, s, r, h_0)

    W_4_r = r @ weights["W.4.weight"].mT.unsqueeze(1) + weights["W.4.bias"]
    torch.testing.assert_close(v, s + (W_4_r + r) / 2)


def test_the_gradient_of_the_weights_is_that_of_finite_differences() -> None:
    cell = build(n_networks=2)
    inputs, weights = draw_inputs(2), draw_weights(cell)
    inputs, weights = [x.detach() for x in inputs], {k: w.detach() / 3 for k, w in weights.items()}

    def unroll_with(mixture_weights: Tensor) -> Tensor:
        cell.mixture.weights = mixture_weights
        return cell.unroll(weights, *inputs)

    start = (cell.mixture.weights / 2).requires_grad_()

    assert torch.autograd.gradcheck(unroll_with, start, fast_mode=True)


def test_weights_changed_in_place_take_effect() -> None:
    one, other = LITERATURE["TransE"], LITERATURE["RSN"]
    cell = build()
    weights_tensor = cell.mixture.weights

    for architecture in (one, other, one):
        cell.mixture.set_architectures([architecture])
        assert_equals_path_cells(cell, [architecture], 2)

    assert cell.mixture.weights is weights_tensor


def test_options_that_nobody_uses_are_not_in_play() -> None:
    cell = build([LITERATURE["TransE"], LITERATURE["DistMult"]])

    assert cell.mixture.options["subject"] == ()
    assert cell.links == frozenset()
    assert cell.gates == frozenset()
    assert cell.mixture.weights.shape[1] == sum(
        len(options) for options in cell.mixture.options.values() if len(options) > 1
    )
