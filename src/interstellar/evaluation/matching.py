"""Whole alignments of two lists of entities: the nearest of each, or one partner for each.

Entities are shuffled first. Published pairs are numbered alike on both sides, so whatever breaks
ties by number, or fills up what is left in order, would invent hits.
"""

from typing import assert_never

import numpy as np
import torch
from torch import Tensor

from interstellar.evaluation.hungarian import match_optimally
from interstellar.evaluation.nearest import find_nearest
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.evaluation.stable_matching import NOBODY, match_stably


def list_nearest(similarity: Similarity, k: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Return similarities and columns, (n_asking, k) on the CPU, of the k nearest of each."""
    n_asking, n_answering = similarity.shape
    everyone = torch.arange(n_asking, device=similarity.device)
    order = _draw_order(n_answering, rng, similarity.device)
    values, columns = find_nearest(similarity.take(everyone, order), k)
    return values.cpu(), order[columns].cpu()


def match_one_to_one(
    similarity: Similarity,
    decoding: Decoding,
    rng: np.random.Generator,
    *,
    memory_bytes: int | None = None,
) -> Tensor:
    """Return the column of each row's partner, `NOBODY` where it has none: int64 on the CPU.

    Similarities that are rescored, as those of Sinkhorn, are matched stably.

    Args:
        similarity: As `rescore` gives it for the decoding.
        decoding: How to match.
        rng: Breaks ties.
        memory_bytes: What the Hungarian method may take; None for what is free.
    """
    n_asking, n_answering = similarity.shape
    rows = _draw_order(n_asking, rng, similarity.device)
    columns = _draw_order(n_answering, rng, similarity.device)
    shuffled = similarity.take(rows, columns)
    match decoding:
        case Decoding.HUNGARIAN:
            found = match_optimally(shuffled, memory_bytes=memory_bytes)
        case Decoding.STABLE | Decoding.COSINE | Decoding.CSLS | Decoding.SINKHORN:
            found = match_stably(shuffled)
        case _:
            assert_never(decoding)
    found, rows, columns = found.cpu(), rows.cpu(), columns.cpu()
    is_matched = found != NOBODY
    partner = torch.full_like(found, NOBODY)
    partner[rows[is_matched]] = columns[found[is_matched]]
    return partner


def _draw_order(n: int, rng: np.random.Generator, device: torch.device) -> Tensor:
    return torch.from_numpy(rng.permutation(n)).to(device)
