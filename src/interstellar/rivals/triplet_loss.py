"""What triplets cost, from the logits of their answers and of wrong answers."""

import math
from typing import assert_never

import torch
from torch import Tensor
from torch.nn import functional

from interstellar.rivals.rival_settings import RivalLoss

LOWER_LIMIT, WEIGHT_OF_WRONG = 0.01, 2.0
"""γ₁ and μ of the limit-based loss: BootEA's authors sum over ten wrong ones, each weighs 0.2."""
SHARE_OF_NEAREST = 0.05
"""1 − ε of BootEA's truncated sampling: wrong answers are among so many nearest to the right."""
LEAST = -1e30
"""A logit that is nobody's, but finite: for a softmax of nothing else."""


def pick_nearest(wrong: Tensor, answers: Tensor, drawn: Tensor) -> Tensor:
    """Return the logits of those drawn that are nearest to each row's answer, (n, picked).

    `wrong` are logits, (n, drawn), the others vectors. An entity that is drawn uniformly and is
    among the nearest of the drawn is about as uniform among the nearest of all.
    """
    n_picked = max(1, round(SHARE_OF_NEAREST * wrong.shape[1]))
    with torch.no_grad():
        cosines = functional.normalize(answers, dim=-1) @ functional.normalize(drawn, dim=-1).T
        nearest = cosines.topk(n_picked, dim=1, sorted=False).indices
    return wrong.gather(1, nearest)


def among_all(logits: Tensor, answers: Tensor, label_smoothing: float) -> Tensor:
    """Return the cross-entropy of each row's answer among all entities, summed over the rows."""
    return functional.cross_entropy(
        logits, answers, reduction="sum", label_smoothing=label_smoothing
    )


def among_drawn(
    own: Tensor, wrong: Tensor, loss: RivalLoss, *, margin: float, n_entities: int
) -> Tensor:
    """Return the loss of rows with logits of their answer, (n,), and of drawn ones, (n, drawn).

    What was drawn and is the answer itself has the logit −∞, and costs nothing. For the softmax
    each of the k drawn stands for n_entities / k of them.
    """
    match loss:
        case RivalLoss.SOFTMAX:
            weight = math.log(n_entities / wrong.shape[1])
            both = torch.cat([own.unsqueeze(1), wrong + weight], dim=1)
            return (torch.logsumexp(both, dim=1) - own).sum()
        case RivalLoss.SELF_ADVERSARIAL:
            shares = wrong.detach().clamp_min(LEAST).softmax(dim=1)
            of_wrong = (shares * functional.softplus(wrong)).sum(dim=1)
            return (functional.softplus(-own) + of_wrong).sum() / 2
        case RivalLoss.MARGIN:
            return functional.relu(margin - own.unsqueeze(1) + wrong).mean(dim=1).sum()
        case RivalLoss.HARD:
            raise AssertionError("it is of all, and none are drawn")
        case RivalLoss.LIMIT:
            of_wrong = functional.relu(margin + wrong).mean(dim=1)
            return (functional.relu(-own - LOWER_LIMIT) + WEIGHT_OF_WRONG * of_wrong).sum()
        case _:
            assert_never(loss)
