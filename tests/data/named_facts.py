"""What a graph says by name, in whatever order it is numbered."""

from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import Vocabulary


def names(triplets: Triplets, entities: Vocabulary, relations: Vocabulary) -> set[tuple[str, ...]]:
    """Return triplets by name."""
    return {(entities.name(s), relations.name(r), entities.name(o)) for s, r, o in triplets}


def facts(graph: AnyGraph) -> list[set[tuple[str, ...]]]:
    """Return the triplets of each split, or of each graph, and the pairs of each split."""
    if isinstance(graph, KnowledgeGraph):
        return [
            names(part, graph.entities, graph.relations)
            for part in (graph.train, graph.valid, graph.test)
        ]
    sides = [names(s.triplets, s.entities, s.relations) for s in (graph.source, graph.target)]
    pairs: list[set[tuple[str, ...]]] = [
        {(graph.source.entities.name(a), graph.target.entities.name(b)) for a, b in part}
        for part in (graph.train, graph.valid, graph.test)
    ]
    return sides + pairs
