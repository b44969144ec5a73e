"""Graphs small enough to know by heart."""

import numpy as np
from hypothesis import strategies as st

from interstellar.data.graph import Graph, GraphPair, KnowledgeGraph, Pairs
from interstellar.data.triplets import Triplets, no_triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.paths.walk_graph import WalkGraph

Rows = list[tuple[int, int, int]]

ONE_GRAPH: Rows = [(0, 0, 1), (1, 0, 2), (2, 1, 3), (3, 0, 0), (0, 1, 2), (1, 1, 2), (3, 1, 4)]
HUB: Rows = [(0, 0, i) for i in range(1, 6)] + [(1, 1, 2), (3, 1, 4)]
SELF_LOOP: Rows = [(0, 0, 0), (0, 0, 1), (1, 1, 2), (2, 1, 2), (2, 0, 0), (1, 0, 3)]
PARALLEL: Rows = [(0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 2), (1, 0, 2), (2, 0, 3)]
LEAF: Rows = [(0, 0, 1)]


def as_triplets(rows: Rows) -> Triplets:
    return np.array(rows, dtype=np.int32) if rows else no_triplets()


def as_pairs(rows: list[tuple[int, int]]) -> Pairs:
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def numbered(letter: str, n: int) -> Vocabulary:
    return Vocabulary([f"{letter}{i}" for i in range(n)])


def knowledge_graph(rows: Rows) -> KnowledgeGraph:
    return KnowledgeGraph(
        name="small",
        entities=numbered("e", 1 + max(max(s, o) for s, _, o in rows)),
        relations=numbered("r", 1 + max(r for _, r, _ in rows)),
        train=as_triplets(rows),
        valid=no_triplets(),
        test=no_triplets(),
    )


def graph_pair(
    first: Rows,
    second: Rows,
    seeds: list[tuple[int, int]],
    *,
    n_entities: int = 4,
    hidden: list[tuple[int, int]] | None = None,
) -> GraphPair:
    def side(letter: str, rows: Rows) -> Graph:
        return Graph(
            entities=numbered(letter, n_entities),
            relations=numbered(letter + "r", 2),
            triplets=as_triplets(rows),
        )

    return GraphPair(
        name="small",
        source=side("a", first),
        target=side("b", second),
        train=as_pairs(seeds),
        valid=as_pairs(hidden or []),
        test=as_pairs(hidden or []),
    )


def two_graphs() -> GraphPair:
    return graph_pair(
        first=[(0, 0, 1), (1, 0, 2), (0, 0, 2), (3, 0, 2)],
        second=[(0, 0, 1), (1, 1, 2), (3, 0, 0)],
        seeds=[(1, 1), (2, 0)],
        hidden=[(0, 2)],
    )


ids = st.integers(0, 5)
some_rows = st.lists(st.tuples(ids, st.integers(0, 1), ids), min_size=1, max_size=12, unique=True)
some_seeds = st.lists(st.tuples(ids, ids), max_size=5, unique=True)
one_to_one_seeds = st.lists(
    st.tuples(ids, ids), max_size=5, unique_by=(lambda p: p[0], lambda p: p[1])
)


def random_walk_graph(n_entities: int = 300, n_triplets: int = 2000) -> WalkGraph:
    """A graph with a few hubs, too large to know by heart."""
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(0, n_entities, n_triplets),
        rng.integers(0, 5, n_triplets),
        (n_entities * rng.random(n_triplets) ** 3).astype(np.int64),
    ]
    rows = np.unique(np.stack(columns, axis=1), axis=0).astype(np.int32)
    return WalkGraph(
        forward=rows,
        n_entities=n_entities,
        n_relations=5,
        seeds=rng.random(n_entities) < 0.3,
        n_first=n_entities // 2,
    )
