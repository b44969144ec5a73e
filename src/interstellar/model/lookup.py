"""Rows of an embedding table, whose gradient goes straight into the table's own."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


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
