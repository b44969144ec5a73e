"""Tables of embeddings: rows of them, and outputs times all of their rows."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True, slots=True, eq=False)
class EntityTable:
    """The embeddings of all entities that outputs are multiplied with, and their gradient.

    Both may have more rows than there are entities, all of them zero: products run at the full
    speed of a card only where their sizes are whole blocks.
    """

    values: Tensor
    """(n_rows, dim)."""
    gradient: Tensor
    """(n_rows, dim); the loss writes it."""
    n_entities: int


def look_up(table: Tensor, gradient: Tensor | None, ids: Tensor) -> Tensor:
    """Return the rows of `table`, (…, dim), for ids of any shape.

    The gradient of the rows is added to `gradient`, which has the table's shape. Autograd by
    itself would fill a table of zeros for every look-up and add it to the last.
    """
    rows: Tensor = _LookUp.apply(table, gradient, ids.reshape(-1))  # type: ignore[no-untyped-call]
    return rows.view(*ids.shape, table.shape[1])


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, gradient: Tensor | None, ids: Tensor) -> Tensor:
        ctx.gradient = gradient
        ctx.save_for_backward(ids)
        return table.detach().index_select(0, ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_rows: Tensor) -> tuple[None, None, None]:
        [ids] = ctx.saved_tensors
        if of_rows.device.type == "cpu" and ctx.gradient.is_contiguous():
            ids = ids.long()  # for which torch has a way that takes a third of the time
        ctx.gradient.index_add_(0, ids, of_rows)
        return None, None, None


BLOCK_BYTES = 2**18
"""Of the table in one product: a quarter of a core's second-level cache."""
FEWEST_ROWS = 64
"""Below this many rows a block holds too little work for two threads."""


def multiply_out(v: Tensor, table: Tensor) -> Tensor:
    """Return v · o of all rows of v and of the table, (rows, n_entities), without gradients.

    On the CPU block by block: one product over a long table runs at half of a core's speed in the
    library that torch brings along (MKL). Over blocks of the table that stay in the cache it is
    half as fast again, and each logit is the same sum.
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
