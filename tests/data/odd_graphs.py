"""Graphs with names that text has trouble with."""

import numpy as np
from hypothesis import strategies as st

from interstellar.data.graph import Graph, GraphPair, KnowledgeGraph, Pairs
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import Vocabulary

LETTERS = "aAé\u0301 %\"',;\\<>:_/#?\u3000\u2028\x85\ufeff\x00\x7f😀"
BREAKS = "\t\n\r"
WORDS = (
    "subject",
    "relation",
    "object",
    "head",
    "train",
    "split",
    "http://a.example/b",
    "http://a.example/b c",
    "urn:interstellar:x%20y",
    "urn:interstellar:%zz",
    "_:b1",
    "_:not a label",
    "NA",
    "1",
    "01",
)


def odd_names(*, has_breaks: bool) -> st.SearchStrategy[str]:
    """Return names of odd letters, with tabs and line breaks if wanted."""
    letters = LETTERS + (BREAKS if has_breaks else "")
    return st.one_of(st.sampled_from(WORDS), st.text(letters, min_size=1, max_size=6))


@st.composite
def odd_graphs(draw: st.DrawFn, *, has_breaks: bool, is_split: bool = True) -> KnowledgeGraph:
    """Return a small graph with splits that are not empty, or that may be."""
    names = odd_names(has_breaks=has_breaks)
    entities = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    relations = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    row = st.tuples(
        st.integers(0, len(entities) - 1),
        st.integers(0, len(relations) - 1),
        st.integers(0, len(entities) - 1),
    )

    def triplets(least: int) -> Triplets:
        rows = draw(st.lists(row, min_size=least, max_size=8, unique=True))
        return np.array(rows, dtype=np.int32).reshape(-1, 3)

    return KnowledgeGraph(
        name="odd",
        entities=Vocabulary(entities),
        relations=Vocabulary(relations),
        train=triplets(1),
        valid=triplets(int(is_split)),
        test=triplets(int(is_split)),
    )


@st.composite
def odd_pairs(draw: st.DrawFn) -> GraphPair:
    """Return two rings of twelve entities, two of them seeds, one for validation."""

    def ring() -> Graph:
        names = odd_names(has_breaks=False)
        entities = draw(st.lists(names, min_size=12, max_size=12, unique=True))
        relation = draw(names)
        ids = np.arange(12)
        return Graph(
            entities=Vocabulary(entities),
            relations=Vocabulary([relation]),
            triplets=np.stack([ids, 0 * ids, (ids + 1) % 12], axis=1).astype(np.int32),
        )

    def pairs(start: int, end: int) -> Pairs:
        return np.repeat(np.arange(start, end, dtype=np.int32)[:, None], 2, axis=1)

    return GraphPair(
        name="odd",
        source=ring(),
        target=ring(),
        train=pairs(0, 2),
        valid=pairs(2, 3),
        test=pairs(3, 12),
    )
