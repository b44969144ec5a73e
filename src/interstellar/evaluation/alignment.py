"""Ranks for entity alignment: the place of a partner among candidates of the other graph."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.graph import Pairs
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.chunks import fit_chunk_size, map_chunks
from interstellar.evaluation.matching import match_one_to_one
from interstellar.evaluation.ranks import FLOAT_BYTES, double_ranks
from interstellar.evaluation.rescoring import rescore
from interstellar.evaluation.similarity import Decoding

SOURCE, TARGET = 0, 1


class Candidates(StrEnum):
    """The entities that take part in an alignment, those who ask and those who may answer."""

    REFERENCE = "reference"
    """Those that any reference pair names: 10,500 on each side in the published sets."""
    ALL = "all"
    """All entities of both graphs."""


class Direction(StrEnum):
    """Which graph asks."""

    FORWARDS = "forwards"
    """Entities of the first graph look for partners in the second."""
    BACKWARDS = "backwards"


def rank_partners(
    first: Tensor,
    second: Tensor,
    pairs: Pairs,
    *,
    reference: Pairs,
    candidates: Candidates = Candidates.REFERENCE,
    decoding: Decoding = Decoding.COSINE,
    direction: Direction = Direction.FORWARDS,
    chunk_size: int | None = None,
) -> Tensor:
    """Return the rank of each pair's partner, float64 (n,) on the CPU.

    Ties stand at the mean of their places, so that the order of ids, in which published pairs
    are sorted alike on both sides, never helps.

    Args:
        first: Embeddings (n_entities, dim) of the first graph.
        second: Those of the second, on the same device.
        pairs: The pairs to rank, as ids in each graph.
        reference: All pairs not known in training (valid and test), `pairs` among them.
        candidates: The entities among which a partner is looked for. CSLS and Sinkhorn also weigh
            who else asks: all reference entities or all entities, not only those of `pairs`,
            since that is the problem one has when nothing but the seeds is known.
        decoding: From embeddings to similarities.
        direction: Which graph asks.
        chunk_size: Pairs at once; None for what fits the memory.

    Raises:
        DataError: An entity of a pair is not among those that take part.
        SettingsError: The decoding is one-to-one and gives no ranks, or the similarities of one
            pair do not fit the memory.
    """
    if decoding.is_one_to_one:
        raise SettingsError(
            f"{decoding} gives each entity one partner, so other candidates have no ranks. "
            "Ask which pairs it finds (`find_partners`), or choose cosine, csls or sinkhorn."
        )
    asked = _Asked.of(first, second, pairs, reference, candidates, direction)
    similarity = rescore(asked.asking, asked.answering, decoding)
    if chunk_size is None:
        chunk_size = fit_chunk_size(FLOAT_BYTES * similarity.shape[1], similarity.device)
    ranks = map_chunks(
        lambda rows: double_ranks(similarity.rows(asked.rows[rows]), asked.columns[rows]),
        len(pairs),
        chunk_size=chunk_size,
        device=similarity.device,
    )
    return ranks.cpu().double().div_(2)


def find_partners(
    first: Tensor,
    second: Tensor,
    pairs: Pairs,
    *,
    reference: Pairs,
    candidates: Candidates,
    decoding: Decoding,
    rng: np.random.Generator,
) -> Tensor:
    """Return whether a one-to-one alignment holds each pair, bool (n,) on the CPU.

    All entities that take part are aligned, not only those of `pairs`. Arguments as for
    `rank_partners`; `rng` breaks ties.
    """
    asked = _Asked.of(first, second, pairs, reference, candidates, Direction.FORWARDS)
    similarity = rescore(asked.asking, asked.answering, decoding)
    partner = match_one_to_one(similarity, decoding, rng)
    return partner[asked.rows.cpu()] == asked.columns.cpu()


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Who asks, who may answer, and where the pairs in question are among them."""

    asking: Tensor
    answering: Tensor
    rows: Tensor
    """(n_pairs,)"""
    columns: Tensor

    @classmethod
    def of(
        cls,
        first: Tensor,
        second: Tensor,
        pairs: Pairs,
        reference: Pairs,
        candidates: Candidates,
        direction: Direction,
    ) -> "_Asked":
        match direction:
            case Direction.FORWARDS:
                asking, answering = first, second
            case Direction.BACKWARDS:
                asking, answering = second, first
                pairs, reference = pairs[:, ::-1], reference[:, ::-1]
            case _:
                assert_never(direction)
        sources = _ids_taking_part(candidates, reference[:, SOURCE], n_entities=len(asking))
        targets = _ids_taking_part(candidates, reference[:, TARGET], n_entities=len(answering))
        device = asking.device
        return cls(
            asking[_send(sources, device)],
            answering[_send(targets, device)],
            _send(_find(pairs[:, SOURCE], sources), device),
            _send(_find(pairs[:, TARGET], targets), device),
        )


def _ids_taking_part(
    candidates: Candidates, of_reference: npt.NDArray[np.int32], *, n_entities: int
) -> npt.NDArray[np.int32]:
    """Return the ids of the entities of one graph that take part, ascending."""
    match candidates:
        case Candidates.REFERENCE:
            return np.unique(of_reference)
        case Candidates.ALL:
            return np.arange(n_entities, dtype=np.int32)
        case _:
            assert_never(candidates)


def _find(entities: npt.NDArray[np.int32], among: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the place of each entity among the ascending ids."""
    is_missing = ~np.isin(entities, among)
    if is_missing.any():
        raise DataError(
            f"{is_missing.sum()} of {len(entities)} pairs name a partner that is not among the "
            f"{len(among)} candidates, first entity {entities[is_missing][0]}. "
            "Pass all pairs of valid and test as `reference`, or choose all entities."
        )
    return np.searchsorted(among, entities)


def _send(ids: npt.NDArray[np.int32] | npt.NDArray[np.int64], device: torch.device) -> Tensor:
    return torch.from_numpy(ids.astype(np.int64)).to(device)
