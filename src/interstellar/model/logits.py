"""Logits of all entities: outputs times the entity table, block by block on the CPU.

One product over a long table runs at half of a core's speed in the library that torch brings
along (MKL). Over blocks of the table that stay in the cache it is half as fast again, and each
logit is the same sum.
"""

import torch
from torch import Tensor

BLOCK_BYTES = 2**18
"""Of the table in one product: a quarter of a core's second-level cache."""
FEWEST_ROWS = 64
"""Below this many rows a block holds too little work for two threads."""


def multiply_out(v: Tensor, table: Tensor) -> Tensor:
    """Return v · o of all rows and entities, (rows, n_entities), without gradients.

    Args:
        v: Outputs, (rows, dim).
        table: Embeddings of all entities, (n_entities, dim).
    """
    v, table = v.detach(), table.detach()
    n_entities, dim = table.shape
    width = max(1, BLOCK_BYTES // (table.element_size() * max(1, dim)))
    if table.device.type != "cpu" or len(v) < FEWEST_ROWS or n_entities <= width:
        return v @ table.T
    width = -(-n_entities // -(-n_entities // width))  # no small block last: it would round anew
    logits = v.new_empty(len(v), n_entities)
    for start in range(0, n_entities, width):
        part = slice(start, start + width)
        torch.mm(v, table[part].T, out=logits[:, part])
    return logits
