"""From embeddings to the similarities that a decoding compares."""

from dataclasses import replace
from typing import assert_never

import torch
from torch import Tensor

from interstellar.evaluation.chunks import fit_chunk_size, map_chunks
from interstellar.evaluation.ranks import FLOAT_BYTES
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.evaluation.sinkhorn import SinkhornSettings, balance

CSLS_NEIGHBOURS = 10
"""k of Conneau et al. 2018, Word translation without parallel data."""


def rescore(
    asking: Tensor, answering: Tensor, decoding: Decoding, *, memory_bytes: int | None = None
) -> Similarity:
    """Return the similarities of embeddings (n_asking, dim) and (n_answering, dim).

    CSLS and Sinkhorn look at all of both at once: pass all that are to be aligned, and no others.
    One-to-one decodings compare cosines.

    Args:
        asking: Embeddings of those who ask.
        answering: Those of the candidates, on the same device.
        decoding: What to compare.
        memory_bytes: What Sinkhorn may keep; None for half of what is free. The result is the
            same, but takes longer where the matrix does not fit.
    """
    cosine = Similarity.cosine(asking, answering)
    match decoding:
        case Decoding.COSINE | Decoding.HUNGARIAN | Decoding.STABLE:
            return cosine
        case Decoding.CSLS:
            r_1, r_2 = mean_of_nearest(cosine), mean_of_nearest(cosine.turned())
            return _with_offsets(cosine, scale=2.0, offsets=(-r_1, -r_2))
        case Decoding.SINKHORN:
            settings = SinkhornSettings()
            offsets = balance(cosine, settings, memory_bytes=memory_bytes)
            return _with_offsets(cosine, scale=1 / settings.temperature, offsets=offsets)
        case _:
            assert_never(decoding)


def mean_of_nearest(similarity: Similarity) -> Tensor:
    """Return the mean similarity of each who asks to the k nearest, (n_asking,)."""
    n_asking, n_answering = similarity.shape
    k = min(CSLS_NEIGHBOURS, n_answering)
    return map_chunks(
        lambda rows: similarity.rows(rows).topk(k, dim=1).values.mean(dim=1),
        n_asking,
        chunk_size=fit_chunk_size(FLOAT_BYTES * max(1, n_answering), similarity.device),
        device=similarity.device,
    )


def _with_offsets(
    cosine: Similarity, *, scale: float, offsets: tuple[Tensor, Tensor]
) -> Similarity:
    of_asking, of_answering = offsets
    return replace(
        cosine,
        scale=scale,
        asking_offset=share_offsets(cosine.asking, of_asking),
        answering_offset=share_offsets(cosine.answering, of_answering),
    )


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
