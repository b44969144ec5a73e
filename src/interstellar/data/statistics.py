"""How large a data set is, and how far apart its held-out triplets reach: what `data info` says.

Hops are the paper's table "Percentage of the n-hop triplets": the shortest distance when the
training graph is taken as simple and undirected.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from interstellar.data.graph import AnyGraph, KnowledgeGraph, list_sides, task_of
from interstellar.data.triplets import OBJECT, SUBJECT, Triplets


def count(graph: AnyGraph) -> dict[str, Any]:
    """Return the counts of a data set, keyed as the command line prints them."""
    counts: dict[str, Any] = {"name": graph.name, "task": task_of(graph)}
    counts["entities"] = sum(len(side.entities) for side in list_sides(graph))
    counts["relations"] = sum(len(side.relations) for side in list_sides(graph))
    held_out = {"valid": len(graph.valid), "test": len(graph.test)}
    if isinstance(graph, KnowledgeGraph):
        return counts | {"train": len(graph.train)} | held_out
    counts["graphs"] = [
        {
            "entities": len(side.entities),
            "relations": len(side.relations),
            "triplets": len(side.triplets),
        }
        for side in (graph.source, graph.target)
    ]
    return counts | {"seeds": len(graph.train)} | held_out


HOPS = ("<=1", "2", "3", ">=4")
CHUNK = 512  # triplets whose three-step neighbourhoods are held in memory at once


def count_hops(graph: KnowledgeGraph) -> dict[str, dict[str, float]]:
    """Return, for valid and test, the percentage of triplets at each distance."""
    percentages = {}
    for split in ("valid", "test"):
        distances = measure_hops(graph.train, graph.split(split), n_entities=len(graph.entities))
        shares = np.bincount(distances, minlength=5)[1:5] / max(1, len(distances))
        percentages[split] = dict(zip(HOPS, (100 * shares).tolist(), strict=True))
    return percentages


def measure_hops(train: Triplets, asked: Triplets, *, n_entities: int) -> npt.NDArray[np.int64]:
    """Return for each asked triplet the distance of its ends: 1 (or less), 2, 3, or 4 (or more)."""
    adjacent = adjacency(train, n_entities)
    hops = [
        measure_chunk(adjacent, asked[start : start + CHUNK])
        for start in range(0, len(asked), CHUNK)
    ]
    return np.concatenate(hops) if hops else np.empty(0, np.int64)


def adjacency(train: Triplets, n_entities: int) -> sparse.csr_array:
    """Return the symmetric matrix of which entities touch, 1 where they do."""
    subjects, objects = train[:, SUBJECT], train[:, OBJECT]
    rows, columns = np.concatenate([subjects, objects]), np.concatenate([objects, subjects])
    ones = np.ones(len(rows), dtype=np.int32)
    matrix = sparse.csr_array((ones, (rows, columns)), shape=(n_entities, n_entities))
    matrix.data[:] = 1
    return matrix


def measure_chunk(adjacent: sparse.csr_array, asked: Triplets) -> npt.NDArray[np.int64]:
    """Widen the circle around each subject until it meets the circle around the object."""
    subjects, objects = asked[:, SUBJECT], asked[:, OBJECT]
    around_subjects, around_objects = adjacent[subjects], adjacent[objects]
    is_one = np.asarray(around_subjects[np.arange(len(asked)), objects]).ravel() > 0
    is_one |= subjects == objects
    is_two = ~is_one & meets(around_subjects, around_objects)
    far = np.flatnonzero(~is_one & ~is_two)
    hops = np.select([is_one, is_two], [1, 2], 4)
    hops[far[meets(around_subjects[far] @ adjacent, around_objects[far])]] = 3
    return hops


def meets(circle: sparse.csr_array, other: sparse.csr_array) -> npt.NDArray[np.bool_]:
    """Return for each row whether the two circles share an entity."""
    shared = circle.multiply(other).sum(axis=1)
    return np.asarray(shared).ravel() > 0
