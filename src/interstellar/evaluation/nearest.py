"""The nearest of each entity, without the similarities of all to all in memory."""

import torch
from torch import Tensor

from interstellar.evaluation.chunks import fit_chunk_size, map_chunks
from interstellar.evaluation.ranks import FLOAT_BYTES
from interstellar.evaluation.similarity import Similarity


def find_nearest(similarity: Similarity, k: int) -> tuple[Tensor, Tensor]:
    """Return similarities and columns, both (n_asking, k), of the k nearest, nearest first.

    Where there are fewer columns than k, all of them. Among equals the order is arbitrary, and
    may follow the numbers of entities: shuffle them before.
    """
    n_asking, n_answering = similarity.shape
    k = min(k, n_answering)
    device = similarity.device
    if n_asking == 0 or k == 0:
        return torch.empty(n_asking, k, device=device), torch.empty(
            n_asking, k, device=device, dtype=torch.long
        )
    columns = torch.empty(n_asking, k, device=device, dtype=torch.long)

    def compute(rows: slice) -> Tensor:
        values, columns[rows] = similarity.rows(rows).topk(k, dim=1)
        return values

    chunk_size = fit_chunk_size(FLOAT_BYTES * n_answering, device)
    return map_chunks(compute, n_asking, chunk_size=chunk_size, device=device), columns
