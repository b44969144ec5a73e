"""Queries that ask the same."""

import numpy as np
from hypothesis import given

from interstellar.evaluation.query_groups import QueryGroups
from tests.evaluation.small_rankings import Ranking, rankings


@given(rankings())
def test_a_group_holds_all_queries_of_one_subject_and_relation(ranking: Ranking) -> None:
    queries = ranking.queries

    groups = QueryGroups.of(queries)

    assert sorted(groups.order) == list(range(len(queries)))
    asked = [tuple(pair) for pair in queries[groups.order, :2].tolist()]
    parts = [set(asked[a:b]) for a, b in zip(groups.starts, groups.starts[1:], strict=False)]
    assert all(len(part) == 1 for part in parts)
    assert len(groups) == len(set(asked))


def test_groups_stand_in_the_order_of_their_first_query() -> None:
    queries = np.array([[3, 1, 0], [0, 0, 1], [3, 1, 2], [2, 5, 0], [0, 0, 4]], dtype=np.int32)

    groups = QueryGroups.of(queries)

    assert groups.order.tolist() == [0, 2, 1, 4, 3]
    assert groups.starts.tolist() == [0, 2, 4, 5]
    assert groups.members(slice(1, 3)) == slice(2, 5)
    assert groups.rows(slice(1, 3)).tolist() == [0, 0, 1]


def test_no_queries_make_no_groups() -> None:
    groups = QueryGroups.of(np.empty((0, 3), dtype=np.int32))

    assert len(groups) == 0


def test_queries_may_be_left_on_their_own() -> None:
    groups = QueryGroups.of_one_each(3)

    assert groups.order.tolist() == [0, 1, 2]
    assert groups.rows(slice(1, 3)).tolist() == [0, 1]
