"""Relation prediction against the formula, relation by relation and in float64."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import ZERO_OUTPUT
from interstellar.architecture.literature import NAMED
from interstellar.model.path_cell import PathCell
from interstellar.model.path_network import PathNetwork
from interstellar.model.relation_loss import CPU_NUMBERS, add_relation_loss, rows_at_once
from interstellar.training.optimizers import FlatParameters
from tests.architecture.strategies import architectures
from tests.training.test_step import DIM, N_ENTITIES, N_RELATIONS, TWO_WAY, build_network

N_CANDIDATES, N_ROWS = 2 * N_RELATIONS, 9
CPU = torch.device("cpu")


def build(architecture: Architecture, device: torch.device = CPU) -> PathNetwork:
    """Return a network whose gradients are zero, with embeddings of some length."""
    network = build_network(architecture, TWO_WAY)
    with torch.no_grad():
        network.entities.mul_(3)
        network.relations.mul_(3)
    FlatParameters(network, device)
    return network


def draw_triplets(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    subjects, objects = torch.randint(N_ENTITIES, (2, N_ROWS), generator=generator).int()
    relations = torch.randint(N_CANDIDATES, (N_ROWS,), generator=generator).int()
    return subjects, relations, objects


def formula(
    network: PathNetwork, triplets: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, dict[str, Tensor]]:
    """−log softmax over r′ of v(s, r′) · o of each row, and the gradients of their sum."""
    exact = copy.deepcopy(network).double()
    assert isinstance(exact.cell, PathCell)
    s, r, o = (ids.long() for ids in triplets)
    O, S, R = exact.entities[:, :DIM], exact.entities[:, DIM:], exact.relations  # noqa: E741
    logits = []
    for candidate in range(N_CANDIDATES):
        inverse = (candidate + N_RELATIONS) % N_CANDIDATES
        v, _ = exact.cell.step(S[s], R[candidate].expand(N_ROWS, DIM), S[s])
        v_back, _ = exact.cell.step(O[s], R[inverse].expand(N_ROWS, DIM), O[s])
        logits.append((v * O[o] + v_back * S[o]).sum(dim=1))
    losses = functional.cross_entropy(torch.stack(logits, dim=1), r, reduction="none")
    named = dict(exact.named_parameters())
    found = torch.autograd.grad(
        losses.sum(), list(named.values()), allow_unused=True, materialize_grads=True
    )
    return losses.detach(), dict(zip(named, found, strict=True))


def check_losses(losses: Tensor, expected: Tensor, weight: float) -> None:
    torch.testing.assert_close(losses.cpu().double(), weight * expected, rtol=1e-4, atol=1e-5)


def check_gradients(network: PathNetwork, expected: dict[str, Tensor], weight: float) -> None:
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        found = parameter.grad.cpu().double()
        torch.testing.assert_close(found, weight * expected[name], rtol=1e-3, atol=2e-5, msg=name)


@settings(max_examples=150)
@given(
    architecture=architectures,
    weight=st.sampled_from([1.0, 0.25, 4.0]),
    most_numbers=st.sampled_from([None, 1, 4 * N_CANDIDATES, 8 * N_CANDIDATES * DIM]),
    seed=st.integers(0, 3),
)
def test_costs_and_gradients_are_those_of_the_formula_in_any_number_of_parts(
    architecture: Architecture, weight: float, most_numbers: int | None, seed: int
) -> None:
    network, triplets = build(architecture), draw_triplets(seed)

    losses = add_relation_loss(network, triplets, weight, most_numbers=most_numbers)

    expected, gradients = formula(network, triplets)
    check_losses(losses, expected, weight)
    check_gradients(network, gradients, weight)


@pytest.mark.parametrize("name", NAMED)
def test_every_known_model_predicts_relations(name: str) -> None:
    network, triplets = build(NAMED[name]), draw_triplets()

    losses = add_relation_loss(network, triplets, 1.0)

    expected, gradients = formula(network, triplets)
    check_losses(losses, expected, 1.0)
    check_gradients(network, gradients, 1.0)
    assert gradients["relations"].abs().max() > 1e-3


def test_gradients_are_added_to_what_is_there() -> None:
    network, triplets = build(NAMED["ComplEx"]), draw_triplets()
    _, expected = formula(network, triplets)

    for _ in range(2):
        add_relation_loss(network, triplets, 1.0)

    check_gradients(network, expected, 2.0)


def test_an_output_that_is_always_zero_tells_no_relation() -> None:
    network = build(ZERO_OUTPUT)

    losses = add_relation_loss(network, draw_triplets(), 1.0)

    assert losses.tolist() == pytest.approx(N_ROWS * [math.log(N_CANDIDATES)])
    assert all(p.grad is None or not p.grad.any() for p in network.parameters())


def test_fewer_rows_are_computed_together_where_each_has_an_output_for_every_relation() -> None:
    rows = [rows_at_once(build(NAMED[name])) for name in ("ComplEx", "RSN")]

    assert rows == [CPU_NUMBERS // N_CANDIDATES, CPU_NUMBERS // (2 * N_CANDIDATES * DIM)]
    assert rows_at_once(build(NAMED["RSN"]), most_numbers=1) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@settings(max_examples=40)
@given(architecture=architectures)
def test_cuda_computes_what_the_cpu_does(architecture: Architecture) -> None:
    device = torch.device("cuda")
    network, triplets = build(architecture, device), draw_triplets()
    subjects, relations, objects = (ids.to(device) for ids in triplets)

    losses = add_relation_loss(network, (subjects, relations, objects), 1.0)

    expected, gradients = formula(network.cpu(), triplets)
    check_losses(losses, expected, 1.0)
    check_gradients(network, gradients, 1.0)
