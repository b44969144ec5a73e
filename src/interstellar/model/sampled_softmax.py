"""Softmax over a sample of the entities, for tables so large that the full one is too dear.

The sum over all entities is estimated from `n_negatives` of them, drawn uniformly and shared
by the rows of a batch: each stands for n_entities / n_negatives of them, which is added to its
logit as a logarithm; a row's true answer counts once, whether it was drawn or not. The estimate
of the sum is unbiased, and with every entity drawn once it is the full softmax.
"""

import math

import torch
from torch import Tensor

from interstellar.model.lookup import look_up
from interstellar.model.softmax_loss import EntityTable


def sampled_softmax_loss(
    v: Tensor,
    table: EntityTable,
    true: Tensor,
    negatives: Tensor,
    *,
    is_first: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return the estimated cross-entropy of each row, and the gradient of their sum by v.

    Args:
        v: Outputs, (rows, dim).
        table: The embeddings of all entities; its gradient is computed too.
        true: The right entity of each row, (rows,).
        negatives: Ids of the entities drawn, (n_negatives,).
        is_first: Whether the gradient of the table is set; otherwise it is added to.
    """
    if is_first:
        table.gradient.zero_()
    outputs = v.detach().requires_grad_()
    values = table.values.detach().requires_grad_()  # else nothing asks for its gradient
    candidates = look_up(values, table.gradient, negatives)
    answers = look_up(values, table.gradient, true)
    weight = math.log(table.n_entities / len(negatives))
    logits = outputs @ candidates.T + weight
    logits = logits.masked_fill(negatives == true.unsqueeze(1), -math.inf)
    true_logits = (outputs * answers).sum(dim=1, keepdim=True)
    log_sums = torch.logsumexp(torch.cat([true_logits, logits], dim=1), dim=1)
    losses = log_sums - true_logits.squeeze(1)
    losses.sum().backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    return losses.detach(), outputs.grad
