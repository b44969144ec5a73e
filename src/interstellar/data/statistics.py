"""How large a data set is: what `data info` says."""

from typing import Any

from interstellar.data.graph import AnyGraph, Graph, KnowledgeGraph
from interstellar.data.hops import hop_percentages

LINK_PREDICTION = "link-prediction"
ENTITY_ALIGNMENT = "entity-alignment"


def task_of(graph: AnyGraph) -> str:
    """Return the task that a data set is for."""
    return LINK_PREDICTION if isinstance(graph, KnowledgeGraph) else ENTITY_ALIGNMENT


def count(graph: AnyGraph) -> dict[str, Any]:
    """Return the counts of a data set, keyed as the command line prints them."""
    head = {"name": graph.name, "task": task_of(graph)}
    if isinstance(graph, KnowledgeGraph):
        return head | {
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            "train": len(graph.train),
            "valid": len(graph.valid),
            "test": len(graph.test),
        }
    return head | {
        "entities": graph.n_entities,
        "relations": graph.n_relations,
        "graphs": [count_side(graph.first), count_side(graph.second)],
        "seeds": len(graph.seeds),
        "valid": len(graph.valid),
        "test": len(graph.test),
    }


def count_side(side: Graph) -> dict[str, int]:
    """Return the counts of one graph of a pair."""
    return {
        "entities": len(side.entities),
        "relations": len(side.relations),
        "triplets": len(side.triplets),
    }


def count_hops(graph: KnowledgeGraph) -> dict[str, dict[str, float]]:
    """Return, for valid and test, the percentage of triplets at each distance."""
    return {split: hop_percentages(graph, split) for split in ("valid", "test")}
