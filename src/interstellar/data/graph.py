"""What a data set is once it is read: one graph with splits, or two graphs with pairs."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.vocabulary import Vocabulary

Pairs: TypeAlias = npt.NDArray[np.int32]
"""Shape (n, 2): an entity of the first graph, its partner in the second."""

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnowledgeGraph:
    """One graph whose triplets are split for training, validation and testing."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Triplets
    valid: Triplets
    test: Triplets
    answers: npt.NDArray[np.int32] | None = None
    """The entities among which a test query chooses, where the set names them (Countries)."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how the files were taken: one sentence each."""

    @property
    def all_entities(self) -> Vocabulary:
        """The entities that paths name: those of the graph."""
        return self.entities

    @property
    def all_relations(self) -> Vocabulary:
        """The relations that paths name, inverses left out: those of the graph."""
        return self.relations

    def split(self, name: str) -> Triplets:
        """Return the triplets of `train`, `valid` or `test`."""
        return {"train": self.train, "valid": self.valid, "test": self.test}[name]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """A graph without splits: one side of a `GraphPair`."""

    entities: Vocabulary
    relations: Vocabulary
    triplets: Triplets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphPair:
    """Two graphs, and pairs of entities that mean the same."""

    name: str
    first: Graph
    second: Graph
    seeds: Pairs
    """The pairs known in training."""
    valid: Pairs
    test: Pairs
    notes: tuple[str, ...] = ()
    """What a reader should know of how the files were taken: one sentence each."""

    @property
    def n_entities(self) -> int:
        """Entities of both graphs together."""
        return len(self.first.entities) + len(self.second.entities)

    @property
    def n_relations(self) -> int:
        """Relations of both graphs together."""
        return len(self.first.relations) + len(self.second.relations)

    @property
    def all_entities(self) -> Vocabulary:
        """The entities of both graphs in the id space of `joint_triplets`."""
        return self.first.entities + self.second.entities

    @property
    def all_relations(self) -> Vocabulary:
        """The relations of both graphs in the id space of `joint_triplets`."""
        return self.first.relations + self.second.relations

    def joint_triplets(self) -> Triplets:
        """Return all triplets in one id space: the second graph counts on from the first."""
        second = self.second.triplets.copy()
        second[:, [SUBJECT, OBJECT]] += len(self.first.entities)
        second[:, RELATION] += len(self.first.relations)
        return np.concatenate([self.first.triplets, second])

    def joint_pairs(self, pairs: Pairs) -> Pairs:
        """Return pairs with the second entity in the id space of `joint_triplets`."""
        return pairs + np.array([0, len(self.first.entities)], dtype=np.int32)


AnyGraph: TypeAlias = KnowledgeGraph | GraphPair
