"""How long a training takes: what is measured, and on which paths."""

from dataclasses import replace

import pytest
import torch

import interstellar
from interstellar.data.graph import AnyGraph
from interstellar.model.path_network import NetworkSize
from interstellar.searching.speed import Speed, idle_paths, measure_speed
from interstellar.training.defaults import ALIGNMENT, LINK_PREDICTION, PROPAGATION
from interstellar.training.settings_changes import replace_settings

CPU = torch.device("cpu")


@pytest.mark.parametrize("length", [1, 3])
def test_idle_paths_have_the_shape_of_real_ones(length: int) -> None:
    settings = replace(LINK_PREDICTION, batch_size=64)
    settings = replace(settings, walk=replace(settings.walk, length=length))
    size = NetworkSize(n_entities=7, n_relations=2, dim=8)

    paths = idle_paths(size, settings)

    assert paths.dtype == torch.int32
    assert paths.shape[1] == 2 * length + 1
    assert len(paths) % 64 == 0
    assert paths.min() >= 0
    assert int(paths[:, ::2].max()) < 7
    assert int(paths[:, 1::2].max()) < 4


@pytest.mark.parametrize("data", ["synthetic:entities=60", "synthetic-alignment:entities=60"])
def test_the_speed_of_a_graph_is_measured_on_a_few_steps(data: str) -> None:
    graph: AnyGraph = interstellar.load(data)
    settings = LINK_PREDICTION if data.startswith("synthetic:") else ALIGNMENT

    speed = measure_speed(graph, replace(settings, dim=8, batch_size=64), CPU)

    assert 0 < speed.epoch_seconds < 60
    assert 0 < speed.valid_seconds < 10


def test_the_speed_of_a_propagation_is_that_of_its_queries() -> None:
    graph: AnyGraph = interstellar.load("synthetic:entities=20")
    small = replace_settings(PROPAGATION, {"dim": 4, "depth": 1, "batch_size": 64})
    assert small.propagation is not None
    fewer = replace(small, propagation=replace(small.propagation, queries_per_epoch=100))

    assert measure_speed(graph, small, CPU).n_steps == -(-2 * len(graph.train) // 64)
    assert measure_speed(graph, fewer, CPU).n_steps == 2


def test_the_speed_of_one_network_follows_from_its_epochs() -> None:
    usual = Speed(epoch_seconds=8.0, valid_seconds=6.0, n_ranked=300)

    own = usual.of_one_with(20.0, replace(LINK_PREDICTION, validate_every=3))

    assert own == Speed(epoch_seconds=16.0, valid_seconds=12.0, n_ranked=300)
