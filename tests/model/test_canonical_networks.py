"""An architecture and its canonical form are the same network, in torch and numerically."""

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import RULES, canonical_form
from interstellar.architecture.notation import to_formula
from interstellar.architecture.search_space import SearchSpace
from interstellar.model.combinators import Gate
from interstellar.model.path_cell import CellWeights, PathCell
from tests.architecture.reference_cell import Array, Parameters, draw_parameters, evaluate
from tests.architecture.transport import backward, forward

DIM, LENGTH, BATCH = 4, 4, 3
N_PAIRS = 500


def draw_pairs(n_pairs: int) -> list[tuple[Architecture, Architecture]]:
    """Architectures with a canonical form other than themselves."""
    rng = np.random.default_rng(0)
    space = SearchSpace()
    pairs: list[tuple[Architecture, Architecture]] = []
    while len(pairs) < n_pairs:
        architecture = space.sample(rng)
        form = canonical_form(architecture)
        if form != architecture:
            pairs.append((architecture, form))
    return pairs


def draw_paths(rng: np.random.Generator) -> tuple[Array, Array]:
    s, r = rng.normal(size=(2, BATCH, LENGTH, DIM))
    return s, r


def unroll(architecture: Architecture, p: Parameters, s: Array, r: Array) -> Tensor:
    """The network's outputs with given parameters; h_0 = s_1."""
    cell = PathCell(architecture, CellWeights.of(architecture, DIM)).double()
    load(cell, p)
    subjects = torch.from_numpy(s)
    with torch.no_grad():
        return cell.unroll(subjects, torch.from_numpy(r), subjects[:, 0])


@torch.no_grad()
def load(cell: PathCell, p: Parameters) -> None:
    for i in sorted(cell.architecture.micro.trained):
        linear = cell.linear(i)
        assert linear is not None
        linear.weight.copy_(torch.from_numpy(p.W[i]))
        if i in p.b:
            linear.bias.copy_(torch.from_numpy(p.b[i]))
    for name, gate in (("s", p.gate_s), ("r", p.gate_r), ("v", p.gate_v)):
        module = cell.gate(name)
        if isinstance(module, Gate):
            module.W_a.weight.copy_(torch.from_numpy(gate.W_a))
            module.W_b.weight.copy_(torch.from_numpy(gate.W_b))
            module.W_b.bias.copy_(torch.from_numpy(gate.bias))


def carry_forward(old: Architecture, p: Parameters) -> Parameters:
    """Parameters of the canonical form for parameters of the architecture."""
    for rule in RULES:
        new = rule(old)
        if new != old and rule in forward:
            p = forward[rule](old, p)
        old = new
    return p


def carry_back(old: Architecture, q: Parameters) -> Parameters:
    """Parameters of the architecture for parameters of its canonical form."""
    stages = [old]
    for rule in RULES:
        stages.append(rule(stages[-1]))
    for i, rule in reversed(list(enumerate(RULES))):
        if stages[i] != stages[i + 1] and rule in backward:
            q = backward[rule](stages[i], q)
    return q


def assert_same(one: Tensor, other: Tensor, architecture: Architecture) -> None:
    torch.testing.assert_close(
        one,
        other,
        rtol=1e-7,
        atol=1e-7 * (1 + float(one.abs().max())),
        msg=lambda found: f"{to_formula(architecture)}: {found}",
    )


@pytest.mark.parametrize("is_forward", [True, False])
def test_500_random_architectures_compute_the_same_as_their_canonical_forms(
    is_forward: bool,
) -> None:
    rng = np.random.default_rng(1)

    for architecture, form in draw_pairs(N_PAIRS):
        s, r = draw_paths(rng)
        drawn = draw_parameters(rng, DIM)
        p = drawn if is_forward else carry_back(architecture, drawn)
        q = carry_forward(architecture, drawn) if is_forward else drawn

        assert_same(unroll(architecture, p, s, r), unroll(form, q, s, r), architecture)


def test_the_cell_computes_what_its_formula_says_in_numpy() -> None:
    rng = np.random.default_rng(2)
    space = SearchSpace()

    for _ in range(200):
        architecture = space.sample(rng)
        s, r = draw_paths(rng)
        p = draw_parameters(rng, DIM)

        expected = np.stack([evaluate(architecture, p, *path) for path in zip(s, r, strict=True)])

        assert_same(unroll(architecture, p, s, r), torch.from_numpy(expected), architecture)
