"""Full softmax over all entities (paper, Eq. loss), its memory bounded whatever their number.

L = sum over rows of −logit[true] + log Σ_o exp(logit[o]), with logit = v · o. The gradient
with respect to the logits is softmax − one-hot, so loss and gradients come from one pass: a
chunk of rows is multiplied out, turned into its gradient in place, multiplied back, and
forgotten. At most `chunk_rows` × n_entities logits exist at a time.

With label smoothing ε (Szegedy et al. 2016), the target is (1 − ε) · one-hot + ε / n_entities.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from interstellar.model.embedding_table import EntityTable, look_up, multiply_out


@dataclass(frozen=True, slots=True)
class LossPlan:
    """How the loss is computed; beyond rounding the result does not depend on it."""

    chunk_rows: int
    """Rows whose logits exist at the same time."""
    is_mixed: bool = False
    """Whether products are in float16 with sums in float32; needs CUDA.

    Not bfloat16: embeddings, outputs and softmax lie well within float16's range, and it has
    eight times the resolution at the same speed.
    """


def softmax_loss(
    v: Tensor,
    table: EntityTable,
    true: Tensor,
    plan: LossPlan,
    *,
    is_first: bool = True,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy of each row, (rows,), and the gradient of their sum by v.

    Args:
        v: Outputs, (rows, dim).
        table: The embeddings of all entities; its gradient is computed too.
        true: The right entity of each row, (rows,).
        plan: Chunking and precision.
        is_first: Whether the gradient of the table is set; otherwise it is added to.
        label_smoothing: The share ε of the target that all entities have alike.
    """
    compute = _compute_mixed if plan.is_mixed else _compute
    with torch.no_grad():
        return compute(v.detach(), table, true, plan.chunk_rows, is_first, label_smoothing)


def _compute(
    v: Tensor, table: EntityTable, true: Tensor, chunk_rows: int, is_first: bool, smoothing: float
) -> tuple[Tensor, Tensor]:
    values, gradient = table.values[: table.n_entities], table.gradient[: table.n_entities]
    losses, v_gradient = v.new_empty(len(v)), torch.empty_like(v)
    for start in range(0, len(v), chunk_rows):
        part = slice(start, start + chunk_rows)
        logits = multiply_out(v[part], values)
        losses[part], gradient_of_logits = cross_entropy(logits, true[part], smoothing)
        torch.mm(gradient_of_logits, values, out=v_gradient[part])
        beta = 0 if is_first and start == 0 else 1
        gradient.addmm_(gradient_of_logits.T, v[part], beta=beta)
    return losses, v_gradient


def cross_entropy(
    logits: Tensor, true: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy of each row, (rows,), and its gradient, softmax − target."""
    true = true.long().unsqueeze(1)
    log_probabilities = torch.log_softmax(logits, dim=1)
    losses = -log_probabilities.gather(1, true).squeeze(1)
    if label_smoothing:
        losses.lerp_(-log_probabilities.mean(dim=1), label_smoothing)
    probabilities = log_probabilities.exp_()
    if label_smoothing:
        probabilities.sub_(label_smoothing / logits.shape[1])
    target = probabilities.new_full(true.shape, label_smoothing - 1)
    probabilities.scatter_add_(1, true, target)
    return losses, probabilities


def _compute_mixed(
    v: Tensor, table: EntityTable, true: Tensor, chunk_rows: int, is_first: bool, smoothing: float
) -> tuple[Tensor, Tensor]:
    from interstellar.model.network_kernels import turn_into_gradient_  # noqa: PLC0415 (triton)

    values, outputs = table.values.to(torch.float16), v.to(torch.float16)
    losses, v_gradient = torch.empty(len(v), device=v.device), torch.empty_like(v)
    for start in range(0, len(v), chunk_rows):
        part = slice(start, start + chunk_rows)
        logits = outputs[part] @ values.T
        turn_into_gradient_(logits, true[part], losses[part], table.n_entities, smoothing)
        torch.mm(logits, values, out_dtype=torch.float32, out=v_gradient[part])
        if is_first and start == 0:
            torch.mm(logits.T, outputs[part], out_dtype=torch.float32, out=table.gradient)
        else:
            table.gradient.add_(torch.mm(logits.T, outputs[part], out_dtype=torch.float32))
    return losses, v_gradient


def sampled_softmax_loss(
    v: Tensor, table: EntityTable, true: Tensor, negatives: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the estimated cross-entropy of each row, and the gradient of their sum by v.

    For tables so large that the full softmax is too dear. The sum over all entities is estimated
    from `n_negatives` of them, drawn uniformly and shared by the rows of a batch: each stands for
    n_entities / n_negatives of them, which is added to its logit as a logarithm; a row's true
    answer counts once, whether it was drawn or not. The estimate of the sum is unbiased, and with
    every entity drawn once it is the full softmax. Arguments as for `softmax_loss`; `negatives` are
    the ids of the entities drawn, (n_negatives,). The gradient of the table is added to.
    """
    values = table.values.detach().requires_grad_()  # else nothing asks for its gradient
    find_rows = partial(look_up, values, table.gradient)
    return estimate_softmax_loss(v, find_rows, true, negatives, table.n_entities)


def estimate_softmax_loss(
    v: Tensor,
    find_rows: Callable[[Tensor], Tensor],
    true: Tensor,
    negatives: Tensor,
    n_entities: int,
) -> tuple[Tensor, Tensor]:
    """Do the same with rows of the table that a function looks up; it adds their gradients too."""
    outputs = v.detach().requires_grad_()
    candidates, answers = find_rows(negatives), find_rows(true)
    weight = math.log(n_entities / len(negatives))
    logits = outputs @ candidates.T + weight
    logits = logits.masked_fill(negatives == true.unsqueeze(1), -math.inf)
    true_logits = (outputs * answers).sum(dim=1, keepdim=True)
    log_sums = torch.logsumexp(torch.cat([true_logits, logits], dim=1), dim=1)
    losses = log_sums - true_logits.squeeze(1)
    losses.sum().backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    return losses.detach(), outputs.grad
