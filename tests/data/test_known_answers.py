"""The known answers of queries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets, no_triplets
from tests.benchmark_sets import requires_set

N_ENTITIES, N_RELATIONS = 6, 3

triplet_lists = st.lists(
    st.tuples(
        st.integers(0, N_ENTITIES - 1),
        st.integers(0, N_RELATIONS - 1),
        st.integers(0, N_ENTITIES - 1),
    ),
    max_size=30,
)


def as_triplets(rows: list[tuple[int, int, int]]) -> Triplets:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def every_query() -> tuple[Triplets, Triplets]:
    subjects, relations = np.divmod(np.arange(N_ENTITIES * 2 * N_RELATIONS), 2 * N_RELATIONS)
    return subjects.astype(np.int32), relations.astype(np.int32)


@given(train=triplet_lists, test=triplet_lists)
def test_every_query_knows_the_objects_of_all_splits_in_both_directions(
    train: list[tuple[int, int, int]], test: list[tuple[int, int, int]]
) -> None:
    subjects, relations = every_query()
    facts = set(train + test)
    facts |= {(o, r + N_RELATIONS, s) for s, r, o in facts}

    known = KnownAnswers.of_triplets(
        as_triplets(train), as_triplets(test), n_entities=N_ENTITIES, n_relations=N_RELATIONS
    )
    rows, objects = known.look_up(subjects, relations)

    expected = [
        (row, o)
        for row, (s, r) in enumerate(zip(subjects, relations, strict=True))
        for o in range(N_ENTITIES)
        if (s, r, o) in facts
    ]
    assert list(zip(rows.tolist(), objects.tolist(), strict=True)) == expected


def test_queries_may_come_in_any_order_and_more_than_once() -> None:
    triplets = as_triplets([(0, 0, 1), (0, 0, 2), (3, 1, 4)])
    known = KnownAnswers.of_triplets(triplets, n_entities=6, n_relations=3)

    rows, objects = known.look_up(np.array([3, 0, 5, 0]), np.array([1, 0, 2, 0]))

    assert rows.tolist() == [0, 1, 1, 3, 3]
    assert objects.tolist() == [4, 1, 2, 1, 2]


def test_a_graph_without_triplets_knows_nothing() -> None:
    known = KnownAnswers.of_triplets(no_triplets(), n_entities=6, n_relations=3)

    rows, objects = known.look_up(*every_query())

    assert len(rows) == len(objects) == 0


def test_answers_of_a_graph_cover_its_test_triplets() -> None:
    graph = interstellar.load("geography-S1")
    assert isinstance(graph, KnowledgeGraph)

    known = KnownAnswers.of(graph)
    rows, objects = known.look_up(graph.test[:, 0], graph.test[:, 1])

    found = set(zip(rows.tolist(), objects.tolist(), strict=True))
    assert found >= set(enumerate(graph.test[:, 2].tolist()))


@pytest.mark.benchmark_sets
@requires_set("link-prediction/WN18RR")
def test_wn18rr_has_each_triplet_once_in_each_direction() -> None:
    graph = interstellar.load("WN18RR")
    assert isinstance(graph, KnowledgeGraph)

    known = KnownAnswers.of(graph)

    assert len(known.objects) == 2 * (86_835 + 3_034 + 3_134)
