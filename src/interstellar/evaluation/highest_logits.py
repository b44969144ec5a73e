"""The k highest logits of each row, exactly, with equal ones in the order of their ids.

A row is cut into blocks, of which only the k with the highest maxima are looked into. An entity
of another block is behind one entity of each of these k: theirs is higher, or level and of a
lower id, since of level blocks the first are taken.
"""

import torch
from torch import Tensor

BLOCK = 64


def find_highest(logits: Tensor, k: int) -> Tensor:
    """Return the ids (rows, k) of the highest float32 logits (rows, n), best first.

    Where a row has a NaN, nothing is promised.
    """
    n_rows, n = logits.shape
    n_blocks = n // BLOCK
    if n_blocks <= 2 * k:
        return _order(logits, torch.arange(n, device=logits.device).expand(n_rows, n), k)
    maxima = logits[:, : n_blocks * BLOCK].view(n_rows, n_blocks, BLOCK).amax(dim=2)
    if n % BLOCK:
        last = logits[:, n_blocks * BLOCK :].amax(dim=1, keepdim=True)
        maxima = torch.cat([maxima, last], dim=1)
    numbers = torch.arange(maxima.shape[1], device=logits.device).expand_as(maxima)
    blocks = _order(maxima, numbers, k)
    ids = (blocks.unsqueeze(2) * BLOCK + torch.arange(BLOCK, device=logits.device)).flatten(1)
    values = logits.gather(1, ids.clamp(max=n - 1))
    return _order(values.masked_fill_(ids >= n, -torch.inf), ids, k)


def _order(values: Tensor, ids: Tensor, k: int) -> Tensor:
    """Return the ids of the k highest values, of equal ones the lowest ids first."""
    bits = values.add(0.0).view(torch.int32)  # adding 0 turns -0 into 0, its equal
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    keys = (ordered << 32) - ids  # ids below 2³² decide only between equal values
    places = keys.topk(k, dim=1).indices
    return ids.gather(1, places)
