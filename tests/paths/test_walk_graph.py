"""The graph that paths are sampled from."""

import numpy as np
import pytest
from hypothesis import given

from interstellar.data.triplets import Triplets, distinct_triplets, with_inverses
from interstellar.errors import DataError
from interstellar.paths.walk_graph import WalkGraph, exchange_seeds

from .small_graphs import (
    ONE_GRAPH,
    Rows,
    as_pairs,
    as_triplets,
    graph_pair,
    knowledge_graph,
    one_to_one_seeds,
    some_rows,
    some_seeds,
    two_graphs,
)


def as_set(triplets: Triplets) -> set[tuple[int, ...]]:
    return set(map(tuple, triplets.tolist()))


def test_one_graph_gives_its_training_triplets_and_their_inverses() -> None:
    graph = WalkGraph.of(knowledge_graph(ONE_GRAPH))

    assert graph.n_triplets == 14
    assert as_set(graph.triplets()) == {*ONE_GRAPH, *((o, r + 2, s) for s, r, o in ONE_GRAPH)}


def test_a_graph_without_training_triplets_is_refused() -> None:
    with pytest.raises(DataError, match="no training triplets"):
        WalkGraph.of(graph_pair([], [], []))


def test_seeds_are_exchanged_at_either_end_and_at_both() -> None:
    triplets = as_triplets([(0, 0, 1), (1, 0, 2), (5, 2, 7)])

    exchanged = exchange_seeds(triplets, as_pairs([(1, 5), (2, 6)]))

    assert sorted(map(tuple, exchanged.tolist())) == [
        *[(0, 0, 1), (0, 0, 5)],
        *[(1, 0, 2), (1, 0, 6), (1, 2, 7)],
        *[(5, 0, 2), (5, 0, 6), (5, 2, 7)],
    ]


def test_an_entity_in_two_pairs_is_replaced_by_each_partner() -> None:
    exchanged = exchange_seeds(as_triplets([(0, 0, 1)]), as_pairs([(0, 5), (0, 6)]))

    assert as_set(exchanged) == {(0, 0, 1), (5, 0, 1), (6, 0, 1)}


def test_only_seed_pairs_enter_the_graph() -> None:
    pair = two_graphs()

    graph = WalkGraph.of(pair)

    assert graph.seeds is not None
    assert graph.seeds.nonzero()[0].tolist() == [1, 2, 4, 5]
    assert as_set(graph.forward) == as_set(
        exchange_seeds(pair.joint_triplets(), as_pairs([(1, 5), (2, 4)]))
    )


@given(rows=some_rows, seeds=some_seeds)
def test_exchange_and_inverses_may_come_in_any_order(
    rows: Rows, seeds: list[tuple[int, int]]
) -> None:
    pair = graph_pair(rows, rows, seeds, n_entities=6)
    pairs = pair.joint_pairs(pair.train)

    inverses_first = exchange_seeds(with_inverses(pair.joint_triplets(), 4), pairs)

    assert as_set(inverses_first) == as_set(WalkGraph.of(pair).triplets())


@given(rows=some_rows, seeds=some_seeds)
def test_no_triplet_occurs_twice(rows: Rows, seeds: list[tuple[int, int]]) -> None:
    triplets = WalkGraph.of(graph_pair(rows, rows, seeds, n_entities=6)).triplets()

    assert len(distinct_triplets(triplets)) == len(triplets)


@given(rows=some_rows, seeds=one_to_one_seeds)
def test_twins_have_the_same_edges(rows: Rows, seeds: list[tuple[int, int]]) -> None:
    graph = WalkGraph.of(graph_pair(rows, rows[::2], seeds, n_entities=6))
    assert graph.twins is not None

    edges = [as_set(t[:, 1:]) for e in range(12) for t in [rows_of(graph.triplets(), e)]]

    assert all(edges[e] == edges[twin] for e, twin in enumerate(graph.twins.tolist()))
    assert len(np.unique(graph.twins)) == 12 - len(seeds)


@given(rows=some_rows, seeds=some_seeds)
def test_twins_have_the_same_edges_when_entities_are_in_many_pairs(
    rows: Rows, seeds: list[tuple[int, int]]
) -> None:
    graph = WalkGraph.of(graph_pair(rows, rows[::2], seeds, n_entities=6))
    assert graph.twins is not None

    edges = [as_set(t[:, 1:]) for e in range(12) for t in [rows_of(graph.triplets(), e)]]

    assert all(edges[e] == edges[twin] for e, twin in enumerate(graph.twins.tolist()))


def rows_of(triplets: Triplets, entity: int) -> Triplets:
    rows: Triplets = triplets[triplets[:, 0] == entity]
    return rows
