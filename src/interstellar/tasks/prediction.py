"""What a trained network answers: the entities most likely to complete a triplet.

A query is an entity and a relation; one for subjects is asked through the inverse relation.
Answers stand in the order of their logits, the highest first, equal ones in the order of their
ids; a rank is just the place in that order, from 1 on, since nothing is measured with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.known_answers import KnownAnswers
from interstellar.data.spelling import find_name
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.chunks import fit_chunk_size
from interstellar.evaluation.highest_logits import find_highest
from interstellar.evaluation.precision import exact_products
from interstellar.evaluation.ranks import FLOAT_BYTES, ComputeLogits
from interstellar.evaluation.spread_chunks import spread_chunks

NOBODY = -1
"""Stands where a query has fewer answers than were asked for."""
GROUP_SIZE, GROUP_ANSWERS = 2**13, 2**20
"""Most queries among which equal ones are put together, and the most answers they may have."""

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Query:
    """An entity and a relation; the other end of the triplet is asked for."""

    entity: int
    relation: int
    """From n_relations on an inverse: then subjects are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """The best answers of some queries, each array (n_queries, k), best first."""

    entities: npt.NDArray[np.int32]
    """`NOBODY` where there are fewer answers."""
    logits: npt.NDArray[np.float32]
    probabilities: npt.NDArray[np.float32]
    """Among all entities that are not known to answer; NaN for those that are."""
    is_known: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """Return how many queries are answered."""
        return len(self.entities)

    def take(self, rows: Ids) -> "Answers":
        """Return the answers of some of the queries."""
        return Answers(
            entities=self.entities[rows],
            logits=self.logits[rows],
            probabilities=self.probabilities[rows],
            is_known=self.is_known[rows],
        )

    @classmethod
    def make_room(cls, n_queries: int, k: int) -> "Answers":
        """Return answers yet to be filled in."""
        return cls(
            entities=np.empty((n_queries, k), dtype=np.int32),
            logits=np.empty((n_queries, k), dtype=np.float32),
            probabilities=np.empty((n_queries, k), dtype=np.float32),
            is_known=np.empty((n_queries, k), dtype=np.bool_),
        )

    def put(self, rows: slice, answers: "Answers") -> None:
        """Fill in the answers of some of the queries."""
        self.entities[rows] = answers.entities
        self.logits[rows] = answers.logits
        self.probabilities[rows] = answers.probabilities
        self.is_known[rows] = answers.is_known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictor:
    """A network that can be asked, and what is known already."""

    compute_logits: ComputeLogits
    known: KnownAnswers
    device: torch.device
    temperature: float = 1.0
    """Logits are divided by it before they become probabilities."""

    def answer(
        self,
        entities: Ids,
        relations: Ids,
        *,
        k: int,
        with_known: bool = False,
        chunk_size: int | None = None,
    ) -> Iterator[Answers]:
        """Yield the best k answers of some queries after those of others, in their order.

        Args:
            entities: The entity of each query.
            relations: The relation of each query, inverses to ask for subjects.
            k: Answers to each; fewer where there are no more entities.
            with_known: Whether answers that some split of the graph names may be among them.
            chunk_size: Queries computed at once; None for what fits the memory.
        """
        if k < 1:
            raise SettingsError(f"k is {k}, but at least one answer must be asked for. Give k ≥ 1.")
        k = min(k, self.known.n_entities)
        group_size = max(1, min(GROUP_SIZE, GROUP_ANSWERS // k))
        for start in range(0, len(entities), group_size):
            group = slice(start, start + group_size)
            keys = entities[group] * (2 * self.known.n_relations) + relations[group]
            _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
            asked = entities[group][firsts], relations[group][firsts]
            answers = self._answer_distinct(*asked, k, with_known=with_known, chunk_size=chunk_size)
            yield answers.take(numbers)

    def _answer_distinct(
        self, entities: Ids, relations: Ids, k: int, *, with_known: bool, chunk_size: int | None
    ) -> Answers:
        if chunk_size is None:
            chunk_size = fit_chunk_size(FLOAT_BYTES * self.known.n_entities, self.device)
        # Room for all at first: answers kept one by one would lie between the logits of chunks in
        # the heap, and no chunk would find the place of the one before.
        answers = Answers.make_room(len(entities), k)

        def compute(chunk: slice) -> bool:
            asked = entities[chunk], relations[chunk]
            answers.put(chunk, self._answer_chunk(*asked, k, with_known=with_known))
            return True

        with exact_products(self.device):
            for _ in spread_chunks(
                compute, len(entities), chunk_size=chunk_size, device=self.device
            ):
                pass
        return answers

    @torch.no_grad()
    def _answer_chunk(self, entities: Ids, relations: Ids, k: int, *, with_known: bool) -> Answers:
        logits = self.compute_logits(self._send(entities), self._send(relations))
        rows, objects = self.known.look_up(entities, relations)
        known = self._send(rows), self._send(objects)
        if not with_known:
            logits[known] = -torch.inf
        ids = find_highest(logits, k)
        highest = logits.gather(1, ids)
        logits[known] = -torch.inf
        is_nobody = highest == -torch.inf
        is_known = (logits.gather(1, ids) == -torch.inf) & ~is_nobody
        probabilities = self._probabilities(logits, ids).masked_fill_(is_known | is_nobody, -1)
        _refuse_nan(probabilities)
        return Answers(
            entities=ids.masked_fill_(is_nobody, NOBODY).int().cpu().numpy(),
            logits=highest.cpu().numpy(),
            probabilities=probabilities.masked_fill_(probabilities < 0, torch.nan).cpu().numpy(),
            is_known=is_known.cpu().numpy(),
        )

    def _probabilities(self, logits: Tensor, ids: Tensor) -> Tensor:
        """Return softmax(x / T) of some entities; `logits` are divided in place."""
        return torch.log_softmax(logits.div_(self.temperature), dim=1).gather(1, ids).exp_()

    def _send(self, ids: Ids | npt.NDArray[np.int32]) -> Tensor:
        return torch.from_numpy(ids.astype(np.int64, copy=False)).to(self.device)


def _refuse_nan(probabilities: Tensor) -> None:
    if probabilities.isnan().any():
        raise DataError(
            "the network's logits are not numbers, so it has no answers: training diverged. "
            "Train anew with a smaller learning rate."
        )


def find_query(
    graph: KnowledgeGraph, *, subject: str | None, relation: str, object: str | None
) -> Query:
    """Return the query that names stand for: a subject asks for objects, an object for subjects.

    Raises:
        SettingsError: Both ends are given, or neither, or a name is unknown.
    """
    if (subject is None) == (object is None):
        found = (
            "neither subject nor object is" if subject is None else "subject and object are both"
        )
        raise SettingsError(
            f"{found} given, but just one end of a triplet is known and the other asked for. "
            "Give a subject to ask for objects, or an object to ask for subjects."
        )
    relation_id = find_name(graph.relations, relation, kind="relation")
    if subject is not None:
        return Query(find_name(graph.entities, subject, kind="entity"), relation_id)
    assert object is not None
    entity = find_name(graph.entities, object, kind="entity")
    return Query(entity, relation_id + len(graph.relations))
