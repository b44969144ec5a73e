"""Pruned propagation: exact where every node is kept, and along the best paths where few are."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from interstellar.architecture.propagation import LeftOut, Propagation, from_text
from interstellar.model.propagation_graph import Edges
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.model.pruned_propagation import Places, answer_pruned, follow, keep_best
from tests.architecture.strategies import propagations
from tests.model.test_aggregation import N_ENTITIES, build_graph
from tests.model.test_propagation_network import BATCH, ask, build

NBF = "O_r = h ⊙ r; v = O_r"
SUBJECTS, QUERIES = BATCH[:, 0], BATCH[:, 1]


def prune(network: PropagationNetwork, edges: Edges, n_kept: int) -> Tensor:
    s = network.queries[QUERIES]
    return answer_pruned(network.steps, network.reader, edges, SUBJECTS, s, n_kept)


def assert_exact(propagation: Propagation) -> None:
    network = build(propagation).double()
    edges = build_graph().edges_without(BATCH, LeftOut.TRIPLETS)

    found, whole = prune(network, edges, N_ENTITIES), ask(network, edges)

    torch.testing.assert_close(found, whole)
    slopes = (
        torch.autograd.grad(
            y.cos().sum(), tuple(network.parameters()), allow_unused=True, materialize_grads=True
        )
        for y in (found, whole)
    )
    torch.testing.assert_close(*slopes)


@settings(max_examples=25)
@given(propagations)
def test_where_all_nodes_are_kept_it_is_the_whole_propagation(propagation: Propagation) -> None:
    assert_exact(propagation)


@pytest.mark.parametrize("relations", ["own", "query"])
@pytest.mark.parametrize("attention", ["none", "query"])
def test_relation_vectors_and_attention_are_those_of_each_query(
    relations: str, attention: str
) -> None:
    assert_exact(from_text(f"{NBF}; relations = {relations}; attention = {attention}"))


def test_queries_do_not_change_each_other() -> None:
    network = build(from_text(f"{NBF}; relations = query")).double()
    edges = build_graph().all_edges()

    together = prune(network, edges, 2)

    for i, (subject, query, _) in enumerate(BATCH.tolist()):
        s, asked = network.queries[[query]], torch.tensor([subject])
        alone = answer_pruned(network.steps, network.reader, edges, asked, s, 2)
        torch.testing.assert_close(together[i : i + 1], alone)


def test_as_many_nodes_are_kept_as_asked_for_the_best_and_the_own() -> None:
    places = Places.of_keys(torch.tensor([0, 1, 2, 3, 4, 7, 8, 9]), n_nodes=4)
    logits = torch.tensor([-9.0, 3.0, 1.0, 2.0, 0.0, 5.0, 6.0, -8.0])
    subjects = torch.tensor([0, 3])

    kept = places.take(keep_best(places, logits, subjects, 2))

    assert kept.nodes.tolist() == [0, 1, 3, 4, 2, 3, 4]
    assert kept.queries.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_only_what_is_kept_sends_messages() -> None:
    graph = build_graph()
    places = Places.at_first(SUBJECTS, N_ENTITIES, n_kept=1)

    reached = follow(places, graph.all_edges(), relations_of_queries=False)

    for query, subject in enumerate(SUBJECTS.tolist()):
        targets = {subject, N_ENTITIES, *graph.targets[graph.sources == subject].tolist()}
        assert set(reached.places.nodes[reached.places.queries == query].tolist()) == targets


def test_entities_that_nothing_reaches_are_alike_and_the_choice_has_a_gradient() -> None:
    network = build(replace(from_text(NBF), depth=2)).double()
    edges = build_graph().all_edges()

    logits = prune(network, edges, 1)

    for row in logits:
        values, counts = row.unique(return_counts=True)
        assert counts.max() > 1
        assert len(values) > 1
    slopes = torch.autograd.grad(logits.sum(), tuple(network.reader.parameters()))
    assert all(slope.abs().sum() > 0 for slope in slopes)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("relations", ["own", "query"])
def test_cuda_answers_as_the_cpu_does_in_float64(relations: str) -> None:
    network = build(from_text(f"{NBF}; relations = {relations}; depth = 3"), dim=32)
    edges, cuda = build_graph().all_edges(), torch.device("cuda")
    expected = prune(network.double(), edges, 2)

    network.n_kept = 2
    found = (
        network.float()
        .to(cuda)
        .logits_over(network.graph.all_edges(), SUBJECTS.to(cuda), QUERIES.to(cuda))
    )

    torch.testing.assert_close(found.double().cpu(), expected, rtol=1e-3, atol=1e-3)
