"""AUC-PR: average precision over the logits of all queries and the answers they choose among.

As Countries is judged: 24 countries with 5 regions each make 120 logits, of which 24 are true.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import RELATION, SUBJECT, Triplets
from interstellar.errors import DataError
from interstellar.evaluation.precision import exact_products
from interstellar.evaluation.ranks import ComputeLogits


def auc_pr_among(
    compute_logits: ComputeLogits,
    queries: Triplets,
    known: KnownAnswers,
    *,
    answers: npt.NDArray[np.int32],
    device: torch.device,
) -> float:
    """Return the average precision over the logits that each query gives to `answers`.

    A query is a subject and a relation, asked once however many objects it has; true are all
    its known answers. All queries are computed at once, so they must be few.
    """
    asked = np.unique(queries[:, [SUBJECT, RELATION]], axis=0).astype(np.int64)
    is_true = np.zeros((len(asked), known.n_entities), dtype=np.bool_)
    is_true[known.look_up(*asked.T)] = True
    subjects, relations = torch.from_numpy(asked).to(device).T.contiguous()
    with torch.no_grad(), exact_products(device):
        logits = compute_logits(subjects, relations).cpu()
    return average_precision(logits[:, answers], is_true[:, answers])


def average_precision(logits: Tensor, is_true: npt.NDArray[np.bool_]) -> float:
    """Return Σ (R_n - R_{n-1}) P_n over the distinct logits, highest first.

    P_n and R_n are precision and recall of all answers with at least the n-th highest logit, so
    that equal logits enter together. A NaN never wins: it counts as the lowest logit of a true
    answer and the highest of a false one.

    Args:
        logits: Of any shape, one for each query and answer.
        is_true: Of the same shape.

    Raises:
        DataError: No answer is true.
    """
    values = logits.detach().double().cpu().numpy().ravel()
    is_true = is_true.ravel()
    if not is_true.any():
        raise DataError(
            "none of the answers is true for any query, so precision has no meaning. "
            "The objects of the split must be among the answers."
        )
    values = np.where(np.isnan(values), np.where(is_true, -np.inf, np.inf), values)
    order = np.argsort(-values)
    values, is_true = values[order], is_true[order]
    last_of_level = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    n_true = np.cumsum(is_true)[last_of_level]
    precision = n_true / (last_of_level + 1)
    recall_gain = np.diff(n_true, prepend=0) / n_true[-1]
    return float(precision @ recall_gain)
