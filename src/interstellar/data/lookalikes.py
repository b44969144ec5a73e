"""Names that look alike, equal but for case or Unicode form: kept apart, and that is said."""

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from interstellar.data.findings import Findings
from interstellar.data.graph import AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.spelling import quote_apart
from interstellar.data.vocabulary import Vocabulary


def note_lookalikes(graph: AnyGraph, findings: Findings) -> None:
    """Say how many names of a graph differ from another of theirs by case or Unicode form only."""
    sides: list[Graph | KnowledgeGraph]
    sides = [graph.first, graph.second] if isinstance(graph, GraphPair) else [graph]
    for number, side in enumerate(sides, 1):
        where = f"graph {number}: " if len(sides) == 2 else ""
        for noun, vocabulary in (("entities", side.entities), ("relations", side.relations)):
            alike = find_lookalikes(vocabulary)
            if len(alike):
                name, other = quote_apart(*first_two(vocabulary, alike))
                findings.note(
                    f"{where}{len(alike):,} {noun} have names that differ from another's by case "
                    f"or Unicode form only, for instance {name} and {other}; each is kept as "
                    "one of its own."
                )


def find_lookalikes(vocabulary: Vocabulary) -> npt.NDArray[np.int64]:
    """Return the ids of all names that another is like, those alike one after the other."""
    if pc.all(pc.string_is_ascii(vocabulary.array)).as_py():
        folded = pc.ascii_lower(vocabulary.array)
    else:
        folded = pc.utf8_lower(pc.utf8_normalize(vocabulary.array, form="NFKC"))
    is_folded = pc.equal(folded, vocabulary.array)
    if pc.all(is_folded).as_py() or pc.count_distinct(folded).as_py() == len(folded):
        return np.empty(0, dtype=np.int64)  # a vocabulary has no name twice
    codes = folded.dictionary_encode().indices.to_numpy()
    alike = np.flatnonzero(np.bincount(codes)[codes] > 1)
    return alike[np.argsort(codes[alike], kind="stable")]


def first_two(vocabulary: Vocabulary, alike: npt.NDArray[np.int64]) -> tuple[str, tuple[str]]:
    """Return a name and one that is like it."""
    return vocabulary.name(alike[0]), (vocabulary.name(alike[1]),)
