"""Distances of held-out triplets in the training graph."""

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.statistics import measure_hops

pairs = st.tuples(st.integers(0, 14), st.integers(0, 14))


def breadth_first(edges: list[tuple[int, int]], start: int, goal: int) -> int:
    """The literal way: 1 for at most one hop, 4 for four or more or no way at all."""
    distance = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for a, b in [*edges, *((b, a) for a, b in edges)]:
            if a == here and b not in distance:
                distance[b] = distance[here] + 1
                queue.append(b)
    return min(4, max(1, distance.get(goal, 4)))


@given(edges=st.lists(pairs, min_size=1, max_size=25), asked=st.lists(pairs, max_size=10))
def test_distances_equal_those_of_a_breadth_first_search(
    edges: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    train = np.array([(a, 0, b) for a, b in edges], dtype=np.int32)
    queries = np.array([(a, 0, b) for a, b in asked], dtype=np.int32).reshape(-1, 3)

    hops = measure_hops(train, queries, n_entities=15)

    assert hops.tolist() == [breadth_first(edges, a, b) for a, b in asked]
