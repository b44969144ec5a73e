"""Cross-entropy among all rows of a table, whose logits never exist all at once.

The rows of a batch are multiplied out chunk by chunk, and each chunk is turned into its gradient at
once (`model/softmax_loss.py` says how), so that nothing is computed anew on the way back.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from interstellar.model.softmax_loss import cross_entropy

LOGITS_AT_ONCE = 2**25


def among_rows(
    v: Tensor, table: Tensor, bias: Tensor, answers: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """Return Σ −log softmax(v · table + bias) at each answer, summed over the rows of v."""
    loss: Tensor = _AmongRows.apply(v, table, bias, answers, label_smoothing)  # type: ignore[no-untyped-call]
    return loss


class _AmongRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, v: Tensor, table: Tensor, bias: Tensor, answers: Tensor, smoothing: float
    ) -> Tensor:
        loss, of_v = v.new_zeros(()), torch.empty_like(v)
        of_table, of_bias = torch.zeros_like(table), torch.zeros_like(bias)
        n_at_once = max(1, LOGITS_AT_ONCE // len(table))
        for start in range(0, len(v), n_at_once):
            part = slice(start, start + n_at_once)
            logits = torch.addmm(bias, v[part], table.T)
            losses, of_logits = cross_entropy(logits, answers[part], smoothing)
            loss += losses.sum()
            torch.mm(of_logits, table, out=of_v[part])
            of_table.addmm_(of_logits.T, v[part])
            of_bias += of_logits.sum(dim=0)
        ctx.save_for_backward(of_v, of_table, of_bias)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss: Tensor) -> tuple[Tensor | None, ...]:
        return (*(of_loss * gradient for gradient in ctx.saved_tensors), None, None)
