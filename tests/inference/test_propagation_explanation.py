"""Paths that carry the answers of a propagation: what edges add, which paths, planted rules."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

import interstellar as ist
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    LeftOut,
    Propagation,
    Update,
)
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.synthetic_settings import parse_settings, planted_rules
from interstellar.data.vocabulary import Vocabulary
from interstellar.inference import propagation_explanation
from interstellar.inference.explanation import Explanation
from interstellar.inference.propagation_explanation import PropagationExplainer
from interstellar.model.propagation_layer import PropagationSize
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.paths.path_search import PathSearch
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.task import edges_of
from tests.inference.small_predictors import graph_of

NBF = "O_r = h ⊙ r; v = O_r"
SMALL: Any = {"model": "propagation", "left_out": "triplets", "progress": False, "lr_decay": 0.974}
ASKED = (0, 1, 7)


def draw_graph(n_entities: int, n_triplets: int) -> KnowledgeGraph:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, [n_entities, 4, n_entities], (n_triplets, 3)).tolist()
    return graph_of([(f"e{s}", f"r{r}", f"e{o}") for s, r, o in rows])


def draw_propagation(
    graph: KnowledgeGraph, cell: str = NBF, depth: int = 3, **choices: Any
) -> PropagationNetwork:
    """An untrained propagation, in float64."""
    propagation = Propagation(cell=read_architecture(cell), depth=depth, **choices)
    size = PropagationSize(n_relations=len(graph.relations), dim=4)
    network = PropagationNetwork(propagation, size, edges_of(LinkPrediction(graph)))
    network.initialise(torch.Generator().manual_seed(0))
    return network.double()


def logit_of(network: PropagationNetwork, triplet: tuple[int, int, int], weights: Any) -> float:
    """The logit of an object, messages of all layers being multiplied by weights of edges."""
    asked = torch.tensor([triplet])
    edges = network.graph.edges_without(asked, LeftOut.TRIPLETS)
    in_all_layers = [torch.as_tensor(weights).unsqueeze(1)] * len(network.layers)
    with torch.no_grad():
        return network.logits_over(edges, asked[:, 0], asked[:, 1], in_all_layers)[
            0, triplet[2]
        ].item()


@pytest.mark.parametrize(
    "choices",
    [
        {"aggregation": Aggregation.PNA},
        {"aggregation": Aggregation.SUM, "update": Update.GATE},
        {"aggregation": Aggregation.MEAN, "attention": Attention.QUERY},
    ],
)
def test_what_an_edge_adds_agrees_with_finite_differences(choices: dict[str, Any]) -> None:
    network = draw_propagation(graph := draw_graph(8, 16), **choices)

    found, _ = PropagationExplainer(network, graph).weigh_edges(*ASKED)

    n_edges, epsilon = network.graph.n_edges, 1e-6
    expected = np.zeros(n_edges)
    for alpha in (1 / 8, 3 / 8, 5 / 8, 7 / 8):
        for edge in range(n_edges):
            step = np.eye(n_edges)[edge] * epsilon
            more, less = (logit_of(network, ASKED, alpha + sign * step) for sign in (1, -1))
            expected[edge] += (more - less) / (2 * epsilon) / 4
    assert np.abs(expected).max() > 1e-3
    assert found == pytest.approx(expected, abs=1e-7, rel=1e-5)


def test_what_all_edges_add_is_what_the_graph_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    network = draw_propagation(graph := draw_graph(8, 16), depth=2)
    monkeypatch.setattr(propagation_explanation, "N_POINTS", 200)

    found, _ = PropagationExplainer(network, graph).weigh_edges(*ASKED)

    ones = np.ones(network.graph.n_edges)
    grown = logit_of(network, ASKED, ones) - logit_of(network, ASKED, 0 * ones)
    assert found.sum() == pytest.approx(grown, rel=0.02)


def list_by_support(
    explainer: PropagationExplainer, graph: KnowledgeGraph, network: PropagationNetwork
) -> list[float]:
    """The supports of all paths, one path after the other, the highest first."""
    whole = network.graph
    edges = torch.stack([whole.sources, whole.relations, whole.targets], dim=1).tolist()
    added = dict(zip(map(tuple, edges), explainer.weigh_edges(*ASKED)[0].tolist(), strict=True))
    search = PathSearch(
        graph.train, n_entities=len(graph.entities), n_relations=len(graph.relations)
    )
    paths = search.find(0, 7, length=len(network.layers), without=ASKED).paths
    return sorted((np.mean([added[*e] for e in path.tolist()]) for path in paths), reverse=True)


def test_every_path_is_found_with_the_mean_of_what_its_edges_add() -> None:
    network = draw_propagation(graph := draw_graph(10, 25))
    explainer = PropagationExplainer(network, graph)

    found = explainer.explain(*ASKED)

    supports = [path.support for path in found.paths]
    assert found.is_complete
    assert len(supports) > 10
    assert supports[0] == max(supports)
    expected = list_by_support(explainer, graph, network)
    assert sorted(supports, reverse=True) == pytest.approx(expected, abs=1e-9)


def test_a_narrow_beam_has_the_best_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    network = draw_propagation(graph := draw_graph(20, 100))
    monkeypatch.setattr(propagation_explanation, "WIDTH", 12)
    explainer = PropagationExplainer(network, graph)

    found = explainer.explain(*ASKED)

    best = sorted((path.support for path in found.paths), reverse=True)[:5]
    expected = list_by_support(explainer, graph, network)
    assert len(found.paths) < len(expected)
    assert not found.is_complete
    assert best == pytest.approx(expected[:5], abs=1e-9)


def test_a_known_answer_is_explained_as_if_it_were_not_known() -> None:
    graph = draw_graph(10, 25)
    network = draw_propagation(graph)
    s, r, o = graph.train[0].tolist()

    found = PropagationExplainer(network, graph).explain(s, r, o)

    facts = {tuple(step) for path in found.paths for step in path.path.tolist()}
    assert facts
    assert (s, r, o) not in facts


def test_no_path_leads_where_it_begins_or_where_nothing_leads() -> None:
    graph = graph_of([("a", "r", "b")])
    explainer = PropagationExplainer(draw_propagation(graph), graph)

    assert explainer.explain(0, 0, 0).paths == ()
    assert explainer.explain(0, 0, 1).paths == ()


@pytest.mark.parametrize(
    ("cell", "reads_path"),
    [(NBF, True), ("O_r = s ⊙ r; v = O_r", False), ("O_s = s + h; O_r = O_s + r; v = O_r", True)],
)
def test_messages_that_do_not_tell_what_reached_their_sender_are_said(
    cell: str, reads_path: bool
) -> None:
    network = draw_propagation(graph := draw_graph(10, 25), cell)

    found = PropagationExplainer(network, graph).explain(*ASKED)

    assert found.reads_path is reads_path
    longer = [path for path in found.paths if len(path.path) > 1]
    assert longer
    adds, _ = PropagationExplainer(network, graph).weigh_edges(*ASKED)
    is_last = network.graph.targets.numpy() == ASKED[2]
    assert bool(adds[~is_last].any()) is reads_path


def explain_all(model: ist.Model, asked: list[list[int]]) -> list[Explanation]:
    return [model.predictor.explainer.explain(*triplet) for triplet in asked]


def test_the_rules_of_a_synthetic_graph_come_first() -> None:
    """Those of one and of two hops, which two layers can follow."""
    data = "synthetic:entities=50,noise=0.05"
    settings = parse_settings(data.partition(":")[2])
    rules = {rule.conclusion: rule.premises for rule in planted_rules(settings)}
    small = SMALL | {"dim": 8, "depth": 2, "epochs": 16, "learning_rate": 0.03, "batch_size": 64}
    model = ist.train(data, NBF, **small)
    assert isinstance(model.graph, KnowledgeGraph)
    asked = [triplet for triplet in model.graph.test.tolist() if len(rules[triplet[1]]) <= 2]

    found = explain_all(model, asked)

    first = [tuple(each.paths[0].path[:, 1].tolist()) for each in found]
    is_first = [path == rules[r] for path, (_, r, _) in zip(first, asked, strict=True)]
    assert len(is_first) == 10
    assert np.mean(is_first) >= 0.8  # untrained it is 0.2


def plant_three_hops(n: int = 40, seed: int = 0) -> tuple[KnowledgeGraph, list[list[int]]]:
    """r0(x, y) ∧ r1(y, z) ∧ r2(z, w) ⇒ r3(x, w), each premise a cycle through all entities.

    Of the eight conclusions that are test also x, y, z, w.
    """
    rng = np.random.default_rng(seed)
    premises = []
    for _ in range(3):
        cycle = rng.permutation(n)
        premises.append(np.empty(n, dtype=np.int64))
        premises[-1][cycle] = np.roll(cycle, 1)
    walks = [np.arange(n)]
    for premise in premises:
        walks.append(premise[walks[-1]])
    visited = np.stack(walks, axis=1)
    visited = rng.permutation(visited[[len(set(walk)) == 4 for walk in visited.tolist()]])
    x, w = visited[:, 0], visited[:, -1]
    conclusions = np.stack([x, np.full_like(x, 3), w], axis=1).astype(np.int32)
    facts = [np.stack([walks[0], np.full(n, r), y], axis=1) for r, y in enumerate(premises)]
    graph = KnowledgeGraph(
        name="three hops",
        entities=Vocabulary([f"e{i}" for i in range(n)]),
        relations=Vocabulary([f"r{i}" for i in range(4)]),
        train=np.concatenate([*facts, conclusions[16:]]).astype(np.int32),
        valid=conclusions[:8],
        test=conclusions[8:16],
    )
    return graph, visited[8:16].tolist()


@pytest.mark.slow
def test_a_rule_of_three_hops_comes_first() -> None:
    graph, planted = plant_three_hops()
    small = SMALL | {"dim": 8, "depth": 3, "epochs": 120, "learning_rate": 0.01, "batch_size": 16}
    model = ist.train(graph, NBF, relations="query", **small)

    found = explain_all(model, graph.test.tolist())

    ways = [[(a, b) for a, _, b in each.paths[0].path.tolist()] for each in found]
    is_first = [way == list(pairwise(x)) for way, x in zip(ways, planted, strict=True)]
    assert np.mean(is_first) >= 0.75
