"""A propagation and a network along walks beside each other, for a moment."""

import time
from dataclasses import replace
from typing import Any

import pytest
import torch

import interstellar as ist
from interstellar.data.graph import KnowledgeGraph
from interstellar.errors import TrainingError
from interstellar.runs.experiment import ANY, Experiment
from interstellar.searching import model_choice
from interstellar.searching.model_choice import (
    HEAT_SHARE,
    MOST_SHARE,
    Heat,
    compare_models,
    estimate_seconds,
    lighten,
    run_heat,
)
from interstellar.training.settings import ModelKind, PropagationSettings
from interstellar.workflow.given import build_experiment, final_settings
from tests.tiny_graphs import ring

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
LONG = 1e9
SCORES = {"walks": 0.4, "propagation": 0.5}


def graph_of(name: str = "synthetic:entities=120,seed=1") -> KnowledgeGraph:
    graph = ist.load(name)
    assert isinstance(graph, KnowledgeGraph)
    return graph


def experiments_on(graph: KnowledgeGraph) -> list[Experiment]:
    kinds = (ModelKind.WALKS, ModelKind.PROPAGATION)
    settings = [final_settings(graph, model=kind) for kind in kinds]
    return [build_experiment(graph, architecture=ANY, seed=0, settings=each) for each in settings]


def heat_of(model: ModelKind, score: float, n_ranks: float = 10_000) -> Heat:
    return Heat(model=model, score=score, n_ranks=n_ranks, seconds=1.0)


def let_heats_end(monkeypatch: pytest.MonkeyPatch, scores: dict[str, float], n_ranks: int) -> None:
    def run(graph: Any, experiment: Experiment, *_: Any) -> Heat:
        model = experiment.settings.model
        return heat_of(model, scores[model], n_ranks)

    monkeypatch.setattr(model_choice, "run_heat", run)


class Steps:
    """In place of a clock: so many steps, however long they take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.seconds_left = seconds

    def on_step(self, *_: Any) -> None:
        self.seconds_left -= 1
        if self.seconds_left < 0:
            raise TimeoutError

    def on_epoch(self, *_: Any) -> None:
        pass


def test_a_propagation_wins_where_paths_tell_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_choice, "Clock", Steps)
    monkeypatch.setattr(model_choice, "estimate_seconds", lambda *_: 0.0)
    graph = graph_of("synthetic:entities=200,seed=1")

    first, second = compare_models(graph, experiments_on(graph), 60 / HEAT_SHARE, CPU)

    assert first.model is ModelKind.PROPAGATION
    assert first.score > second.score + 0.1
    assert first.n_ranks == second.n_ranks <= 2 * model_choice.MOST_ASKED


def test_a_heat_stops_within_an_epoch() -> None:
    graph, started = graph_of("synthetic:entities=3000,seed=1"), time.perf_counter()

    heat = run_heat(graph, experiments_on(graph)[0], 0.2, CPU)

    assert heat is not None
    assert time.perf_counter() - started < 10.0


@pytest.mark.parametrize(
    ("propagation", "chosen"),
    [
        (0.45, ModelKind.PROPAGATION),
        (0.38, ModelKind.PROPAGATION),  # it will gain more than that
        (0.36, ModelKind.WALKS),
    ],
)
def test_walks_stay_where_they_are_clearly_ahead(
    propagation: float, chosen: ModelKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of()
    let_heats_end(monkeypatch, {"walks": 0.4, "propagation": propagation}, 100)

    heats = compare_models(graph, experiments_on(graph), LONG, CPU)

    assert heats[0].model is chosen
    assert len(heats) == 2


def test_nothing_is_compared_where_a_propagation_could_not_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = graph_of()
    experiments = experiments_on(graph)
    let_heats_end(monkeypatch, SCORES, 1000)
    needed = estimate_seconds(graph, experiments[1].settings, CPU)

    assert compare_models(graph, experiments, 0.9 * needed / MOST_SHARE, CPU) == []
    assert compare_models(graph, experiments, 1.1 * needed / MOST_SHARE, CPU) != []


@pytest.mark.parametrize(("share", "longer"), [(MOST_SHARE, 2.0), (HEAT_SHARE, 1.0)])
def test_a_propagation_has_as_long_as_it_needs_to_be_judged(
    share: float, longer: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, given = graph_of(), list[float]()
    experiments = experiments_on(graph)
    seconds = estimate_seconds(graph, experiments[1].settings, CPU) / share

    def run(_: Any, experiment: Experiment, seconds: float, *__: Any) -> Heat:
        given.append(seconds)
        return heat_of(experiment.settings.model, 0.5)

    monkeypatch.setattr(model_choice, "run_heat", run)

    compare_models(graph, experiments, seconds, CPU)

    assert given == pytest.approx([HEAT_SHARE * seconds, longer * HEAT_SHARE * seconds])


def test_nothing_is_compared_where_one_of_the_two_cannot_be_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise TrainingError("the memory does not hold it")

    monkeypatch.setattr(model_choice, "begin", fail)
    graph = graph_of()

    assert compare_models(graph, experiments_on(graph), LONG, CPU) == []


def test_a_cpu_keeps_few_nodes_of_a_graph_with_many() -> None:
    small, large = graph_of(), graph_of("synthetic:entities=2000,seed=1")
    settings = [experiments_on(graph)[1].settings for graph in (small, large)]

    assert lighten(small, settings[0], CPU) == settings[0]
    assert lighten(large, settings[1], CUDA) == settings[1]
    kept = lighten(large, settings[1], CPU)
    assert isinstance(kept.propagation, PropagationSettings)
    assert kept.propagation.nodes == model_choice.KEPT_NODES
    assert estimate_seconds(large, kept, CPU) < estimate_seconds(large, settings[1], CPU)


def test_walks_on_a_cpu_have_some_wrong_answers_and_fewer_numbers_on_a_graph_with_many() -> None:
    few, many = graph_of(), graph_of("synthetic:entities=5000,seed=1")
    own = [experiments_on(graph)[0].settings for graph in (few, many)]

    assert lighten(few, own[0], CPU) == own[0]
    assert lighten(many, own[1], CUDA) == own[1]
    assert lighten(many, own[1], CPU) == replace(own[1], n_negatives=1024, dim=128)


def test_a_time_that_nothing_is_trained_in_still_has_a_score() -> None:
    graph = graph_of()

    heats = [run_heat(graph, each, 0.0, CPU) for each in experiments_on(graph)]

    assert all(heat is not None and 0 <= heat.score <= 1 for heat in heats)


def test_what_a_heat_is_validated_on_is_a_part_of_the_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_choice, "MOST_ASKED", 3)
    graph = ist.load(ring(60))
    assert isinstance(graph, KnowledgeGraph)
    graph = replace(graph, valid=graph.train[:5])

    heat = run_heat(graph, experiments_on(graph)[0], 0.1, CPU)

    assert heat is not None
    assert heat.n_ranks == 6  # in both directions
