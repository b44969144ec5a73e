"""What answers cost among all rows of a table, whose logits never exist all at once.

The rows of a batch are multiplied out chunk by chunk, and each chunk is turned into its gradient at
once (`model/softmax_loss.py` says how), so that nothing is computed anew on the way back.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from interstellar.model.softmax_loss import cross_entropy

LOGITS_AT_ONCE, ON_CPU = 2**25, 2**22
LEAST_EXPONENT = -80.0
"""What is smaller adds nothing to a sum, and its power would be a slow denormal number."""
RowLoss: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Of logits and of answers: the loss of each row, and its gradient, which may take their place."""


def among_rows(
    v: Tensor, table: Tensor, bias: Tensor, answers: Tensor, row_loss: RowLoss = cross_entropy
) -> Tensor:
    """Return the losses of the logits v · table + bias, summed over the rows of v."""
    loss: Tensor = _AmongRows.apply(v, table, bias, answers, row_loss)  # type: ignore[no-untyped-call]
    return loss


class _AmongRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, v: Tensor, table: Tensor, bias: Tensor, answers: Tensor, row_loss: RowLoss
    ) -> Tensor:
        loss, of_v = v.new_zeros(()), torch.empty_like(v)
        of_table, of_bias = torch.zeros_like(table), torch.zeros_like(bias)
        at_once = ON_CPU if v.device.type == "cpu" else LOGITS_AT_ONCE
        n_at_once = max(1, at_once // len(table))
        for start in range(0, len(v), n_at_once):
            part = slice(start, start + n_at_once)
            logits = torch.addmm(bias, v[part], table.T)
            losses, of_logits = row_loss(logits, answers[part])
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


def hard_loss(logits: Tensor, answers: Tensor, hardness: float = 30.0) -> tuple[Tensor, Tensor]:
    """Return what each row costs, and its gradient (Mao, Wang, Wu and Lan 2021).

    log Σ exp(λ φ(o′) / σ) − λ φ(o) / σ over all o′ but the answer o, σ the deviation of the row's
    logits, which has no gradient: what is not nearly as good as the best of the wrong ones counts
    for nothing. The authors' γ and τ change only what is added to the loss.
    """
    answers = answers.long().unsqueeze(1)
    logits.sub_(logits.mean(dim=1, keepdim=True))  # changes nothing; and std() is slow on the CPU
    spread = torch.linalg.vector_norm(logits, dim=1, keepdim=True).clamp_min(1e-12)
    scale = hardness * logits.shape[1] ** 0.5 / spread
    own = scale * logits.gather(1, answers)
    wrong = logits.mul_(scale).scatter_(1, answers, -torch.inf)
    most = wrong.amax(dim=1, keepdim=True)
    powers = wrong.sub_(most).clamp_min_(LEAST_EXPONENT).exp_()
    sums = powers.sum(dim=1, keepdim=True)
    gradient = powers.mul_(scale / sums)
    return (most + sums.log() - own).squeeze(1), gradient.scatter_(1, answers, -scale)
