"""Ranks for entity alignment: the place of a partner among candidates of the other graph."""

from enum import StrEnum
from typing import assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.graph import Pairs
from interstellar.errors import DataError
from interstellar.evaluation.chunks import fit_chunk_size, map_chunks
from interstellar.evaluation.precision import exact_products
from interstellar.evaluation.ranks import FLOAT_BYTES, double_ranks
from interstellar.evaluation.similarity import Decoding, Similarity

SOURCE, TARGET = 0, 1


class Candidates(StrEnum):
    """The entities among which a partner is looked for."""

    REFERENCE = "reference"
    """The partners that any reference pair names: 10,500 in the published sets."""
    ALL = "all"
    """All entities of the graph that answers."""


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
        candidates: The entities among which a partner is looked for.
        decoding: From embeddings to similarities.
        direction: Which graph asks.
        chunk_size: Pairs at once; None for what fits the memory.

    Raises:
        DataError: A pair's partner is not among the candidates.
        SettingsError: The similarities of one pair do not fit the memory.
    """
    match direction:
        case Direction.FORWARDS:
            asking, answering = first, second
        case Direction.BACKWARDS:
            asking, answering = second, first
            pairs, reference = pairs[:, ::-1], reference[:, ::-1]
        case _:
            assert_never(direction)
    device = asking.device
    targets = _candidate_ids(candidates, reference, n_entities=len(answering))
    sources = _ids(np.unique(reference[:, SOURCE]), device)
    if chunk_size is None:
        chunk_size = fit_chunk_size(FLOAT_BYTES * len(targets), device)
    queries, true = _ids(pairs[:, SOURCE], device), _ids(_find(pairs[:, TARGET], targets), device)

    with torch.no_grad(), exact_products(device):
        similarity = Similarity(answering[_ids(targets, device)], asking[sources], decoding)
        ranks = map_chunks(
            lambda rows: double_ranks(similarity.rows(asking[queries[rows]]), true[rows]),
            len(pairs),
            chunk_size=chunk_size,
            device=device,
        )
    return ranks.cpu().double().div_(2)


def _candidate_ids(
    candidates: Candidates, reference: Pairs, *, n_entities: int
) -> npt.NDArray[np.int32]:
    """Return the ids of the candidates, ascending."""
    match candidates:
        case Candidates.REFERENCE:
            return np.unique(reference[:, TARGET])
        case Candidates.ALL:
            return np.arange(n_entities, dtype=np.int32)
        case _:
            assert_never(candidates)


def _find(partners: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the place of each partner among the ascending candidates."""
    is_missing = ~np.isin(partners, targets)
    if is_missing.any():
        raise DataError(
            f"{is_missing.sum()} of {len(partners)} pairs name a partner that is not among the "
            f"{len(targets)} candidates, first entity {partners[is_missing][0]}. "
            "Pass all pairs of valid and test as `reference`, or choose all entities."
        )
    return np.searchsorted(targets, partners)


def _ids(ids: npt.NDArray[np.int32] | npt.NDArray[np.int64], device: torch.device) -> Tensor:
    return torch.from_numpy(ids.astype(np.int64)).to(device)
