"""Entity alignment: from embeddings of two graphs to similarities, and to ranks of partners."""

from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.graph import Pairs
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.chunks import fit_chunk_size, map_chunks
from interstellar.evaluation.matching import match_one_to_one
from interstellar.evaluation.ranks import FLOAT_BYTES, double_ranks
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.evaluation.sinkhorn import SinkhornSettings, balance

Ids: TypeAlias = npt.NDArray[np.int32]

CSLS_NEIGHBOURS = 10
"""k of Conneau et al. 2018, Word translation without parallel data."""


class Candidates(StrEnum):
    """The entities of both graphs that take part in an alignment."""

    REFERENCE = "reference"
    """Those that any reference pair names: 10,500 on each side in the published sets."""
    ALL = "all"
    """All entities of both graphs."""


def rank_partners(
    source: Tensor,
    target: Tensor,
    pairs: Pairs,
    *,
    reference: Pairs,
    candidates: Candidates = Candidates.REFERENCE,
    decoding: Decoding = Decoding.COSINE,
    chunk_size: int | None = None,
) -> Tensor:
    """Return the rank of each pair's partner, float64 (n,) on the CPU.

    Ties stand at the mean of their places, so that the order of ids, in which published pairs
    are sorted alike on both sides, never helps.

    Args:
        source: Embeddings (n_entities, dim) of the graph whose entities look for partners.
        target: Those of the other graph, on the same device.
        pairs: The pairs to rank, as ids in each graph.
        reference: All pairs not known in training (valid and test), `pairs` among them.
        candidates: The entities among which a partner is looked for. CSLS and Sinkhorn also weigh
            the other sources: all reference entities or all entities, not only those of `pairs`,
            since that is the problem one has when nothing but the train pairs is known.
        decoding: From embeddings to similarities; a one-to-one decoding gives no ranks.
        chunk_size: Pairs at once; None for what fits the memory.
    """
    if decoding.is_one_to_one:
        raise SettingsError(
            f"{decoding} gives each entity one partner, so other candidates have no ranks. "
            "Ask which pairs it finds (`find_partners`), or choose cosine, csls or sinkhorn."
        )
    source, rows = _take_part(source, pairs[:, 0], reference[:, 0], candidates)
    target, columns = _take_part(target, pairs[:, 1], reference[:, 1], candidates)
    similarity = rescore(source, target, decoding)
    if chunk_size is None:
        chunk_size = fit_chunk_size(FLOAT_BYTES * similarity.shape[1], similarity.device)

    def compute(chunk: slice) -> Tensor:
        return double_ranks(similarity.rows(rows[chunk]), columns[chunk])

    ranks = map_chunks(compute, len(pairs), chunk_size=chunk_size, device=similarity.device)
    return ranks.cpu().double().div_(2)


def find_partners(
    source: Tensor,
    target: Tensor,
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
    source, rows = _take_part(source, pairs[:, 0], reference[:, 0], candidates)
    target, columns = _take_part(target, pairs[:, 1], reference[:, 1], candidates)
    partner = match_one_to_one(rescore(source, target, decoding), decoding, rng)
    return partner[rows.cpu()] == columns.cpu()


def _take_part(
    embeddings: Tensor, of_pairs: Ids, of_reference: Ids, candidates: Candidates
) -> tuple[Tensor, Tensor]:
    """Return the embeddings of those of one graph that take part, and where the pairs' are."""
    everyone: Ids = np.arange(len(embeddings), dtype=np.int32)
    ids = np.unique(of_reference) if candidates is Candidates.REFERENCE else everyone
    is_missing = ~np.isin(of_pairs, ids)
    if is_missing.any():
        raise DataError(
            f"{is_missing.sum()} of {len(of_pairs)} pairs name a partner that is not among the "
            f"{len(ids)} candidates, first entity {of_pairs[is_missing][0]}. "
            "Pass all pairs of valid and test as `reference`, or choose all entities."
        )
    device = embeddings.device
    places = torch.from_numpy(np.searchsorted(ids, of_pairs)).to(device)
    return embeddings[torch.from_numpy(ids).to(device)], places


def rescore(
    source: Tensor, target: Tensor, decoding: Decoding, *, memory_bytes: int | None = None
) -> Similarity:
    """Return the similarities of embeddings (n_sources, dim) and (n_targets, dim).

    CSLS and Sinkhorn look at all of both at once: pass all that are to be aligned, and no others.
    One-to-one decodings compare cosines. Sinkhorn keeps at most `memory_bytes` (None for half of
    what is free); the result is the same, but takes longer where the matrix does not fit.
    """
    cosine = Similarity.cosine(source, target)
    match decoding:
        case Decoding.COSINE | Decoding.HUNGARIAN | Decoding.STABLE:
            return cosine
        case Decoding.CSLS:
            r_1, r_2 = mean_of_nearest(cosine), mean_of_nearest(cosine.turned())
            return _with_offsets(cosine, 2.0, -r_1, -r_2)
        case Decoding.SINKHORN:
            settings = SinkhornSettings()
            log_u, log_v = balance(cosine, settings, memory_bytes=memory_bytes)
            return _with_offsets(cosine, 1 / settings.temperature, log_u, log_v)
        case _:
            assert_never(decoding)


def mean_of_nearest(similarity: Similarity) -> Tensor:
    """Return the mean similarity of each source to the k nearest, (n_sources,)."""
    (n_sources, n_targets), device = similarity.shape, similarity.device
    k = min(CSLS_NEIGHBOURS, n_targets)

    def compute(rows: slice) -> Tensor:
        return similarity.rows(rows).topk(k, dim=1).values.mean(dim=1)

    chunk_size = fit_chunk_size(FLOAT_BYTES * max(1, n_targets), device)
    return map_chunks(compute, n_sources, chunk_size=chunk_size, device=device)


def _with_offsets(cosine: Similarity, scale: float, b: Tensor, c: Tensor) -> Similarity:
    b, c = share_offsets(cosine.source, b), share_offsets(cosine.target, c)
    return replace(cosine, scale=scale, source_offset=b, target_offset=c)


def share_offsets(embeddings: Tensor, offsets: Tensor) -> Tensor:
    """Return the offsets (n,), the same for entities of the same embedding.

    A sum depends in its last bit on where in memory its terms stand. Left alone, this would
    break ties by the number of an entity.
    """
    _, group = torch.unique(hash_rows(embeddings), return_inverse=True)
    highest = torch.full_like(offsets, -torch.inf)
    return highest.scatter_reduce_(0, group, offsets, "amax")[group]


def hash_rows(embeddings: Tensor) -> Tensor:
    """Return an int64 for each row (n, dim) of float32, by its bits: equal for equal rows."""
    generator = torch.Generator().manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, (embeddings.shape[1],), generator=generator)
    factors = (2 * factors + 1).to(embeddings.device)
    bits = (embeddings + 0.0).view(torch.int32)  # -0 becomes 0
    return map_chunks(
        lambda rows: (bits[rows].long() * factors).sum(dim=1),
        len(bits),
        chunk_size=fit_chunk_size(8 * max(1, bits.shape[1]), bits.device),
        device=bits.device,
    )
