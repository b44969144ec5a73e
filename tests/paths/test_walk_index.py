"""The edges in the order in which a walk looks them up."""

import numpy as np
import pytest
import torch

from interstellar.errors import DataError, SettingsError
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_index import WalkIndex
from interstellar.paths.walk_settings import WalkRule, WalkSettings

from .small_graphs import ONE_GRAPH, as_triplets, knowledge_graph, random_walk_graph, two_graphs

ALIGNMENT = WalkSettings.alignment()


def test_the_index_holds_every_triplet_once() -> None:
    graph = WalkGraph.of(two_graphs())

    index = WalkIndex.build(graph, ALIGNMENT)

    layout, keys = index.layout, index.keys
    edges = torch.stack([layout.subjects(keys), layout.relations(keys), layout.objects(keys)], 1)
    assert sorted(edges.tolist()) == sorted(graph.triplets().tolist())


@pytest.mark.parametrize("rule", WalkRule)
def test_favoured_edges_stand_first_in_their_row(rule: WalkRule) -> None:
    graph = WalkGraph.of(two_graphs())
    assert graph.seeds is not None
    settings = WalkSettings(length=3, depth_bias=0.7, cross_bias=0.9, rule=rule)

    index = WalkIndex.build(graph, settings)

    for s in range(graph.n_entities):
        start, middle, stop = (
            int(x) for x in (index.bounds[s], index.middle[s], index.bounds[s + 1])
        )
        row = index.keys[start:stop]
        objects = index.layout.objects(row).numpy()
        crosses = (objects < 4) != (s < 4)
        favoured = graph.seeds[objects] if rule is WalkRule.PROGRAM else crosses
        assert set(index.layout.subjects(row).tolist()) <= {s}
        assert favoured.tolist() == [True] * (middle - start) + [False] * (stop - middle)


def test_without_a_cross_bias_all_edges_are_alike() -> None:
    index = WalkIndex.build(WalkGraph.of(two_graphs()), WalkSettings.link_prediction())

    assert index.middle.tolist() == index.bounds[1:].tolist()


def test_a_repeated_triplet_is_one_edge() -> None:
    graph = WalkGraph.of(knowledge_graph([*ONE_GRAPH, ONE_GRAPH[2], ONE_GRAPH[2]]))

    index = WalkIndex.build(graph, WalkSettings.link_prediction())

    assert len(index.keys) == 2 * len(ONE_GRAPH)


@pytest.mark.parametrize("n_entities", [300, 301, 5000])
@pytest.mark.parametrize("block", [1, 50, 700])
def test_many_runs_give_the_same_index_as_one(
    n_entities: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random_walk_graph()
    graph = WalkGraph(
        forward=np.concatenate([drawn.forward, drawn.forward[::3]]),
        n_entities=n_entities,
        n_relations=drawn.n_relations,
        seeds=np.arange(n_entities) % 3 == 0,
        n_first=n_entities // 2,
    )
    expected = WalkIndex.build(graph, ALIGNMENT)

    monkeypatch.setattr("interstellar.paths.walk_index.BLOCK", block)
    index = WalkIndex.build(graph, ALIGNMENT)

    assert len(index.keys) == 2 * len(drawn.forward)
    assert (index.keys.diff() > 0).all()
    assert torch.equal(index.keys, expected.keys)
    assert torch.equal(index.bounds, expected.bounds)
    assert torch.equal(index.middle, expected.middle)


def test_rows_are_where_the_bounds_say() -> None:
    graph = random_walk_graph()

    index = WalkIndex.build(graph, WalkSettings.link_prediction())

    counts = np.bincount(graph.triplets()[:, 0], minlength=graph.n_entities)
    assert index.bounds.tolist() == [0, *np.cumsum(counts).tolist()]
    assert index.layout.subjects(index.keys).tolist() == sorted(graph.triplets()[:, 0].tolist())


def test_a_cross_bias_needs_two_graphs() -> None:
    with pytest.raises(SettingsError, match=r"cross_bias is 0\.9, but there is one graph"):
        WalkIndex.build(WalkGraph.of(knowledge_graph(ONE_GRAPH)), ALIGNMENT)


def test_a_graph_too_large_for_its_keys_is_refused() -> None:
    graph = WalkGraph(forward=as_triplets([(0, 0, 1)]), n_entities=2**29, n_relations=2**10)

    with pytest.raises(DataError, match="do not fit keys of 63 bits"):
        WalkIndex.build(graph, WalkSettings.link_prediction())


def test_the_largest_ids_that_fit_survive_packing() -> None:
    rows = as_triplets([(2**20 - 1, 2**20 - 1, 2**20 - 1), (0, 0, 2**20 - 1)])
    graph = WalkGraph(forward=rows, n_entities=2**20, n_relations=2**20)

    index = WalkIndex.build(graph, WalkSettings.link_prediction())

    layout, keys = index.layout, index.keys
    edges = torch.stack([layout.subjects(keys), layout.relations(keys), layout.objects(keys)], 1)
    assert np.array_equal(np.unique(edges.numpy(), axis=0), np.unique(graph.triplets(), axis=0))
