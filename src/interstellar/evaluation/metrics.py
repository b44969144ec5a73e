"""Metrics: what the ranks of many true answers amount to; and AUC-PR, which needs no ranks."""

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import RELATION, SUBJECT, Triplets
from interstellar.errors import DataError
from interstellar.evaluation.chunks import exact_products
from interstellar.evaluation.ranks import ComputeLogits

EMPTY_SPLIT = (
    "there are no answers to rank, because the split is empty. "
    "Choose another split, or hold out part of the data."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Means over all ranked answers, as numbers from 0 to 1 but for `mean_rank` and `n`."""

    mrr: float
    """Mean of 1 / rank."""
    hits_at_1: float
    """Share of ranks that are at most 1."""
    hits_at_3: float
    hits_at_10: float
    mean_rank: float
    n: int
    """How many answers were ranked."""
    auc_pr: float | None = None
    """Average precision, where it was computed (Countries)."""

    @classmethod
    def of(cls, ranks: Tensor, *, auc_pr: float | None = None) -> "Metrics":
        """Sum up ranks (n,); a `DataError` where there are none."""
        if len(ranks) == 0:
            raise DataError(EMPTY_SPLIT)
        ranks = ranks.double()
        hits = {f"hits_at_{k}": (ranks <= k).double().mean().item() for k in (1, 3, 10)}
        mrr, mean_rank = ranks.reciprocal().mean().item(), ranks.mean().item()
        return cls(mrr=mrr, **hits, mean_rank=mean_rank, n=len(ranks), auc_pr=auc_pr)

    def as_dict(self) -> dict[str, float | int]:
        """Return the metrics by the keys of all our JSON; `auc_pr` only where it exists."""
        values = {key.replace("_at_", "@"): value for key, value in asdict(self).items()}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentMetrics:
    """What a one-to-one alignment amounts to: there are no ranks, hence no other metrics."""

    hits_at_1: float
    """Share of pairs that the alignment holds; an entity without a partner is a miss."""
    n: int
    """How many pairs there are."""

    @classmethod
    def of(cls, is_found: Tensor) -> "AssignmentMetrics":
        """Sum up whether each pair was found, bool (n,); a `DataError` where there are none."""
        if len(is_found) == 0:
            raise DataError(EMPTY_SPLIT)
        return cls(hits_at_1=is_found.double().mean().item(), n=len(is_found))

    def as_dict(self) -> dict[str, float | int]:
        """Return the metrics by the keys of all our JSON; those of ranks are left out."""
        return {"hits@1": self.hits_at_1, "n": self.n}


def auc_pr_among(
    compute_logits: ComputeLogits,
    queries: Triplets,
    known: KnownAnswers,
    *,
    answers: npt.NDArray[np.int32],
    device: torch.device,
    within_query: bool = False,
) -> float:
    """Return the average precision over the logits that each query gives to `answers`.

    As Countries is judged: 24 countries with 5 regions each make 120 logits, of which 24 are true.
    A query is a subject and a relation, asked once however many objects it has; true are all
    its known answers. All queries are computed at once, so they must be few. Where logits mean
    something `within_query` alone, an answer counts by its log-probability among the answers.
    """
    asked = np.unique(queries[:, [SUBJECT, RELATION]], axis=0).astype(np.int64)
    is_true = np.zeros((len(asked), known.n_entities), dtype=np.bool_)
    is_true[known.look_up(*asked.T)] = True
    subjects, relations = torch.from_numpy(asked).to(device).T.contiguous()
    with torch.no_grad(), exact_products(device):
        logits = compute_logits(subjects, relations).cpu()[:, answers]
    if within_query:
        logits = torch.log_softmax(logits.double(), dim=1)
    return average_precision(logits, is_true[:, answers])


def average_precision(logits: Tensor, is_true: npt.NDArray[np.bool_]) -> float:
    """Return Σ (R_n - R_{n-1}) P_n over the distinct logits, highest first.

    P_n and R_n are precision and recall of all answers with at least the n-th highest logit, so
    that equal logits enter together. A NaN never wins: it counts as the lowest logit of a true
    answer and the highest of a false one. Logits and truth may have any shape.
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
