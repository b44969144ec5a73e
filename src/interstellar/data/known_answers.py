"""The known answers of every query (subject, relation), asked forwards and backwards."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import Triplets, pack_keys, with_inverses

Ids = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownAnswers:
    """What a graph knows of each query, over all of its splits.

    A query asks for objects; one for subjects is written with the inverse relation, whose id
    is r + n_relations. Objects stand sorted in one array, with the bounds of each query.
    """

    n_entities: int
    n_relations: int
    """Of the graph; queries name twice as many, the inverses counting on."""
    queries: npt.NDArray[np.int64]
    """Keys s · 2 n_relations + r of the queries that have an answer, ascending."""
    bounds: npt.NDArray[np.int64]
    """Query i has the answers `objects[bounds[i]:bounds[i + 1]]`."""
    objects: npt.NDArray[np.int32]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> "KnownAnswers":
        """Collect the answers that train, valid and test name."""
        splits = (graph.train, graph.valid, graph.test)
        return cls.of_triplets(
            *splits, n_entities=len(graph.entities), n_relations=len(graph.relations)
        )

    @classmethod
    def of_triplets(cls, *splits: Triplets, n_entities: int, n_relations: int) -> "KnownAnswers":
        """Collect the answers that some triplets without inverses name."""
        keys = np.concatenate(
            [
                pack_keys(
                    with_inverses(triplets, n_relations),
                    n_entities=n_entities,
                    n_relations=2 * n_relations,
                )
                for triplets in splits
            ]
        )
        keys.sort()
        keys = keys[_differs_from_previous(keys)]
        objects = (keys % n_entities).astype(np.int32)
        keys //= n_entities
        starts = np.flatnonzero(_differs_from_previous(keys))
        return cls(
            n_entities=n_entities,
            n_relations=n_relations,
            queries=keys[starts],
            bounds=np.append(starts, len(keys)),
            objects=objects,
        )

    def look_up(
        self, subjects: Ids, relations: Ids
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return (rows, objects): object `objects[i]` answers query number `rows[i]`.

        Rows ascend, and so do the objects of one row. A query without answers has no row.
        """
        starts, counts = self._places(subjects, relations)
        rows = np.repeat(np.arange(len(counts)), counts)
        first_places = np.cumsum(counts) - counts
        places = np.arange(len(rows)) + np.repeat(starts - first_places, counts)
        return rows, self.objects[places]

    def count(self, subjects: Ids, relations: Ids) -> npt.NDArray[np.int64]:
        """Return how many answers each query has."""
        return self._places(subjects, relations)[1]

    def _places(
        self, subjects: Ids, relations: Ids
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return where the answers of each query start, and how many there are."""
        keys = subjects.astype(np.int64) * (2 * self.n_relations) + relations
        if len(self.queries) == 0:
            return np.zeros_like(keys), np.zeros_like(keys)
        places = np.searchsorted(self.queries, keys)
        places[places == len(self.queries)] = 0
        is_known = self.queries[places] == keys
        starts = self.bounds[places]
        return starts, np.where(is_known, self.bounds[places + 1] - starts, 0)


def _differs_from_previous(ascending: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    differs = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=differs[1:])
    return differs
