"""The graph that paths are sampled from: triplets with inverses, two graphs joined by seeds."""

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph, Pairs
from interstellar.data.triplets import OBJECT, SUBJECT, Triplets, distinct_triplets, with_inverses
from interstellar.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkGraph:
    """The triplets a walk can follow, each also backwards, in one id space."""

    forward: Triplets
    """The triplets without their inverses, each once (the index drops repeats)."""
    n_entities: int
    n_relations: int
    """Relations without their inverses; the inverse of r is r + n_relations."""
    seeds: npt.NDArray[np.bool_] | None = None
    """Whether an entity is a seed, shape (n_entities,); None where there is one graph."""
    n_first: int | None = None
    """Entities of the first graph, which have the lowest ids; None where there is one graph."""
    twins: npt.NDArray[np.int32] | None = None
    """Shape (n_entities,): entities with equal numbers have the same outgoing edges."""

    def __post_init__(self) -> None:
        if len(self.forward) == 0:
            raise DataError(
                "The graph has no training triplets, but every path starts with one. "
                "Give a graph that has at least one."
            )

    @classmethod
    def of(cls, graph: AnyGraph) -> "WalkGraph":
        """Return what training may see: the train split, or both graphs and the seed pairs."""
        match graph:
            case KnowledgeGraph():
                n_entities, n_relations = len(graph.entities), len(graph.relations)
                return cls(forward=graph.train, n_entities=n_entities, n_relations=n_relations)
            case GraphPair():
                return cls._of_pair(graph)
            case _:
                assert_never(graph)

    @classmethod
    def _of_pair(cls, pair: GraphPair) -> "WalkGraph":
        pairs = np.unique(pair.joint_pairs(pair.train), axis=0)
        seeds = np.zeros(pair.n_entities, dtype=np.bool_)
        seeds[pairs] = True
        return cls(
            forward=distinct_triplets(exchange_seeds(pair.joint_triplets(), pairs)),
            n_entities=pair.n_entities,
            n_relations=pair.n_relations,
            seeds=seeds,
            n_first=len(pair.source.entities),
            twins=_twins(pairs, pair.n_entities),
        )

    @property
    def n_triplets(self) -> int:
        """Triplets together with their inverses."""
        return 2 * len(self.forward)

    def triplets(self) -> Triplets:
        """Return all triplets a walk can follow, inverses last."""
        return with_inverses(self.forward, self.n_relations)


def exchange_seeds(triplets: Triplets, pairs: Pairs) -> Triplets:
    """Append the copies of triplets in which seed entities are replaced by their partners.

    One copy for the subject, one for the object and one for both, where these are seeds; an
    entity in several pairs is replaced by each partner. Whether this happens before or after
    inverses are added makes no difference to the set of triplets.
    """
    both_ways = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    subject_copies = _replace(triplets, SUBJECT, both_ways)
    object_copies = _replace(triplets, OBJECT, both_ways)
    both_copies = _replace(subject_copies, OBJECT, both_ways)
    return np.concatenate([triplets, subject_copies, object_copies, both_copies])


def _twins(pairs: Pairs, n_entities: int) -> npt.NDArray[np.int32]:
    """Number entities so that seeds share a number if neither is in another pair.

    `exchange_seeds` leaves two such entities with the same edges.
    """
    n_pairs = np.bincount(pairs.ravel(), minlength=n_entities)
    exclusive = pairs[(n_pairs[pairs] == 1).all(axis=1)]
    twins = np.arange(n_entities, dtype=np.int32)
    twins[exclusive[:, 1]] = exclusive[:, 0]
    return twins


def _replace(triplets: Triplets, column: int, pairs: Pairs) -> Triplets:
    """Return a copy of each triplet for each partner of its entity, by pairs in their order."""
    entities, partners = pairs.T
    start = np.searchsorted(entities, triplets[:, column], side="left")
    n_partners = np.searchsorted(entities, triplets[:, column], side="right") - start
    copies = np.repeat(triplets, n_partners, axis=0)
    nth_copy = np.arange(len(copies)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    copies[:, column] = partners[np.repeat(start, n_partners) + nth_copy]
    return copies
