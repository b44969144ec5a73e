"""What a data set is once it is read: one graph with splits, or two graphs with pairs."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from interstellar.data.splitting import SPLIT_SEED, SplitShares
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.vocabulary import Vocabulary

Pairs: TypeAlias = npt.NDArray[np.int32]
"""Shape (n, 2): an entity of the source graph, its partner in the target graph."""

SPLITS = ("train", "valid", "test")


class Task(StrEnum):
    """What a data set is for."""

    LINK_PREDICTION = "link-prediction"
    ENTITY_ALIGNMENT = "entity-alignment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a data set was read: enough to read it again just so."""

    source: str
    """The name of a set, an absolute path, or for data in memory what it was."""
    is_in_memory: bool = False
    """Whether `source` only describes something that cannot be read again."""
    second: str | None = None
    """The second graph of an alignment."""
    pairs: str | None = None
    """The file of pairs known between the two."""
    split: SplitShares | None = None
    """The shares with which we split the data; None where it has splits of its own."""
    split_seed: int = SPLIT_SEED
    """The seed of that split."""
    columns: tuple[str | int, ...] | None = None
    """Names or numbers of the columns that hold subject, relation and object, if given."""
    labels: bool = False
    """Whether `rdfs:label` was read as the labels of entities."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    provenance: Provenance | None = None
    """How `load` read it; None for a graph that was made otherwise."""

    def __repr__(self) -> str:
        """Return its name and sizes, for a person."""
        counts = ", ".join(f"{len(self.split(split)):,} {split}" for split in SPLITS)
        return (
            f"<{self.name}: {len(self.entities):,} entities, {len(self.relations):,} relations; "
            f"{counts}>"
        )

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Graph:
    """A graph without splits: one side of a `GraphPair`."""

    entities: Vocabulary
    relations: Vocabulary
    triplets: Triplets

    def __repr__(self) -> str:
        """Return its sizes, for a person."""
        return (
            f"<{len(self.entities):,} entities, {len(self.relations):,} relations, "
            f"{len(self.triplets):,} triplets>"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GraphPair:
    """Two graphs, and pairs of entities that mean the same."""

    name: str
    source: Graph
    target: Graph
    train: Pairs
    """The pairs known in training."""
    valid: Pairs
    test: Pairs
    notes: tuple[str, ...] = ()
    """What a reader should know of how the files were taken: one sentence each."""
    provenance: Provenance | None = None
    """How `load` read it; None for a graph that was made otherwise."""

    def __repr__(self) -> str:
        """Return its name and sizes, for a person."""
        return (
            f"<{self.name}: {self.source} and {self.target}; pairs: {len(self.train):,} train, "
            f"{len(self.valid):,} valid, {len(self.test):,} test>"
        )

    @property
    def n_entities(self) -> int:
        """Entities of both graphs together."""
        return len(self.source.entities) + len(self.target.entities)

    @property
    def n_relations(self) -> int:
        """Relations of both graphs together."""
        return len(self.source.relations) + len(self.target.relations)

    @property
    def all_entities(self) -> Vocabulary:
        """The entities of both graphs in the id space of `joint_triplets`."""
        return self.source.entities + self.target.entities

    @property
    def all_relations(self) -> Vocabulary:
        """The relations of both graphs in the id space of `joint_triplets`."""
        return self.source.relations + self.target.relations

    def joint_triplets(self) -> Triplets:
        """Return all triplets in one id space: the target graph counts on from the source."""
        target = self.target.triplets.copy()
        target[:, [SUBJECT, OBJECT]] += len(self.source.entities)
        target[:, RELATION] += len(self.source.relations)
        return np.concatenate([self.source.triplets, target])

    def joint_pairs(self, pairs: Pairs) -> Pairs:
        """Return pairs with the target entity in the id space of `joint_triplets`."""
        return pairs + np.array([0, len(self.source.entities)], dtype=np.int32)


AnyGraph: TypeAlias = KnowledgeGraph | GraphPair


def task_of(graph: AnyGraph) -> Task:
    """Return the task that a data set is for."""
    is_one = isinstance(graph, KnowledgeGraph)
    return Task.LINK_PREDICTION if is_one else Task.ENTITY_ALIGNMENT


def list_sides(graph: AnyGraph) -> tuple[KnowledgeGraph | Graph, ...]:
    """Return the two graphs of a pair, or the one graph that there is."""
    return (graph.source, graph.target) if isinstance(graph, GraphPair) else (graph,)
