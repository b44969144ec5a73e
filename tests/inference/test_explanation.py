"""Paths that speak for an answer: which they are, their support, and how they are told."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.data.graph import KnowledgeGraph
from interstellar.inference import explanation
from interstellar.inference.explanation import Explainer, SupportingPath, order_paths
from interstellar.inference.prediction import find_query
from interstellar.model import path_network
from interstellar.model.path_network import PathNetwork
from interstellar.runs.experiment import Experiment
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import train_run
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.training.presets import COUNTRIES
from interstellar.training.settings_changes import with_changes
from tests.inference.small_predictors import CPU, draw_network, europe, graph_of, random_graph

ARCHITECTURES = ("ComplEx", "PTransE-add", "RSN", "Chains")


def explain_europe(subject: str, relation: str, answer: str) -> list[str]:
    graph = europe()
    explainer = Explainer(draw_network(graph), graph, length=2)
    query = find_query(graph, subject=subject, relation=relation, object=None)

    found = explainer.explain(*query, graph.entities.id(answer))

    return [str(path) for path in found.paths]


def table_gradient(network: PathNetwork, path: np.ndarray) -> Tensor:
    """Return the gradient of the last object's logit in all embeddings, by autograd alone."""
    subjects, relations, objects = torch.from_numpy(path.astype(np.int64)).T
    v = network.unroll(subjects.unsqueeze(0), relations.unsqueeze(0))[0, -1]
    logit = v @ network.entities[objects[-1]]
    tables = (network.entities, network.relations)
    return torch.cat([part.flatten() for part in torch.autograd.grad(logit, tables)])


def test_the_paths_are_those_of_the_graph_without_the_triplet_itself() -> None:
    told = explain_europe("france", "locatedin", "europe")

    assert told == ["france –neighbor→ spain –locatedin→ europe"]


def test_inverses_are_told_by_the_arrow() -> None:
    told = explain_europe("europe", "neighbor", "spain")

    assert "europe ←locatedin– spain" in told
    assert "europe ←locatedin– france –neighbor→ spain" in told
    assert "europe ←locatedin– portugal ←neighbor– spain" in told


def test_the_facts_of_a_path_stand_as_in_the_graph() -> None:
    graph = europe()
    located = graph.relations.id("locatedin") + len(graph.relations)
    path = np.array([[graph.entities.id("europe"), located, graph.entities.id("spain")]], np.int32)

    assert SupportingPath(path, 0.5, graph).triplets == [("spain", "locatedin", "europe")]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_support_is_the_cosine_of_the_gradients_in_the_tables(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(n_entities=25, n_triplets=120)
    network = draw_network(graph, architecture)
    entity, relation, answer = 0, 1, 7

    found = Explainer(network, graph, length=3).explain(entity, relation, answer)

    monkeypatch.setattr(path_network, "look_up", lambda table, _, ids: table[ids])
    own = table_gradient(network, np.array([[entity, relation, answer]]))
    expected = [
        torch.cosine_similarity(table_gradient(network, p.path), own, dim=0).item()
        for p in found.paths
    ]
    assert len({len(p.path) for p in found.paths}) > 1
    assert [p.support for p in found.paths] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_no_path_has_more_support_than_the_first_and_those_not_chosen_stand_by_support(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(n_entities=25, n_triplets=120)
    monkeypatch.setattr(explanation, "N_DIVERSE", 3)

    found = Explainer(draw_network(graph, architecture), graph, length=3).explain(0, 1, 7)

    supports = np.array([path.support for path in found.paths])
    assert len(supports) > 10
    assert supports.max() == pytest.approx(supports[0], abs=1e-5)
    assert np.all(np.diff(supports[3:]) < 1e-5)


def test_a_path_that_differs_in_its_first_step_alone_gives_way_to_another() -> None:
    best = [(0, 0, 1), (1, 5, 2), (2, 5, 9)]
    nearly_the_same = [(0, 1, 1), (1, 5, 2), (2, 5, 9)]
    another = [(0, 0, 3), (3, 5, 4), (4, 5, 9)]
    paths = [np.array(path, dtype=np.int32) for path in (best, nearly_the_same, another)]

    assert order_paths(paths, [0.8, 0.79, 0.5]) == [0, 2, 1]
    assert order_paths(paths, [0.8, 0.79, -0.9]) == [0, 1, 2]
    assert order_paths([], []) == []


def test_the_triplet_of_the_query_by_another_name_has_full_support() -> None:
    graph = europe()
    network = draw_network(graph)
    with torch.no_grad():
        network.relations[:] = network.relations[0]
    explainer = Explainer(network, graph, length=1)
    query = find_query(graph, subject="france", relation="locatedin", object=None)

    found = explainer.explain(*query, graph.entities.id("spain"))

    [path] = found.paths
    assert str(path) == "france –neighbor→ spain"
    assert path.support > 0.3  # all but the embeddings of the relation are shared


@pytest.mark.parametrize(
    ("architecture", "reads_path"),
    [("ComplEx", False), ("TransE", False), ("PTransE-add", True), ("RSN", True)],
)
def test_it_is_said_whether_the_network_reads_more_than_the_last_step(
    architecture: str, reads_path: bool
) -> None:
    graph = europe()

    assert Explainer(draw_network(graph, architecture), graph, length=3).reads_path is reads_path


def test_an_answer_without_paths_has_none() -> None:
    graph: KnowledgeGraph = europe()
    explainer = Explainer(draw_network(graph), graph, length=1)

    found = explainer.explain(graph.entities.id("italy"), 0, graph.entities.id("spain"))

    assert found.paths == ()
    assert found.is_complete


def test_names_that_break_lines_are_told_in_one() -> None:
    graph = graph_of([("a\tb\nc", "r\n", "x" * 10_000)])

    told = str(SupportingPath(graph.train[:1], 0.5, graph))

    assert told.startswith(r"a\tb\nc –r\n→ xxx")
    assert len(told) < 200


def test_what_speaks_for_an_answer_is_the_rule_that_was_learnt(tmp_path: Path) -> None:
    """Countries lie where their neighbours' regions lie: the only way to the answer in S2."""
    settings = with_changes(COUNTRIES, dim=32, epochs=20, batch_size=256, learning_rate=0.005)
    experiment = Experiment(
        data="geography-S2", architecture="PTransE-add", seed=0, settings=settings
    )
    train_run(experiment, tmp_path / "run", device=CPU)
    trained = open_run(tmp_path / "run", CPU)
    assert isinstance(trained.task, LinkPrediction)
    graph = trained.task.graph
    explainer = Explainer(trained.path_network, graph, length=3)

    found = [explainer.explain(s, r, o) for s, r, o in graph.test.tolist()]

    neighbor, located = (graph.relations.id(name) for name in ("neighbor", "locatedin"))
    rules = [(first, located, located) for first in (neighbor, neighbor + len(graph.relations))]
    follows = [[tuple(p.path[:, 1].tolist()) in rules for p in each.paths] for each in found]
    assert np.mean([each[0] for each in follows]) > 0.9
    assert np.mean([np.mean(each) for each in follows]) < 0.3
