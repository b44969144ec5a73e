"""Metrics: what the ranks of many true answers amount to."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from interstellar.errors import DataError

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
        """Sum up ranks (n,).

        Raises:
            DataError: There are no ranks.
        """
        if len(ranks) == 0:
            raise DataError(EMPTY_SPLIT)
        ranks = ranks.double()
        return cls(
            mrr=ranks.reciprocal().mean().item(),
            hits_at_1=_share_within(ranks, 1),
            hits_at_3=_share_within(ranks, 3),
            hits_at_10=_share_within(ranks, 10),
            mean_rank=ranks.mean().item(),
            n=len(ranks),
            auc_pr=auc_pr,
        )

    def as_dict(self) -> dict[str, float | int]:
        """Return the metrics by the keys of all our JSON; `auc_pr` only where it exists."""
        values: dict[str, float | int] = {
            "mrr": self.mrr,
            "hits@1": self.hits_at_1,
            "hits@3": self.hits_at_3,
            "hits@10": self.hits_at_10,
            "mean_rank": self.mean_rank,
            "n": self.n,
        }
        return values if self.auc_pr is None else values | {"auc_pr": self.auc_pr}

    @classmethod
    def from_dict(cls, values: Mapping[str, float | int]) -> "Metrics":
        """Return the metrics that `as_dict` wrote.

        Raises:
            DataError: A key is missing.
        """
        try:
            return cls(
                mrr=values["mrr"],
                hits_at_1=values["hits@1"],
                hits_at_3=values["hits@3"],
                hits_at_10=values["hits@10"],
                mean_rank=values["mean_rank"],
                n=int(values["n"]),
                auc_pr=values.get("auc_pr"),
            )
        except KeyError as error:
            raise DataError(
                f"metrics hold {', '.join(values) or 'nothing'}, but not {error}. "
                "They must be as `Metrics.as_dict` writes them."
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentMetrics:
    """What a one-to-one alignment amounts to: there are no ranks, hence no other metrics."""

    hits_at_1: float
    """Share of pairs that the alignment holds; an entity without a partner is a miss."""
    n: int
    """How many pairs there are."""

    @classmethod
    def of(cls, is_found: Tensor) -> "AssignmentMetrics":
        """Sum up whether each pair was found, bool (n,).

        Raises:
            DataError: There are no pairs.
        """
        if len(is_found) == 0:
            raise DataError(EMPTY_SPLIT)
        return cls(hits_at_1=is_found.double().mean().item(), n=len(is_found))

    def as_dict(self) -> dict[str, float | int]:
        """Return the metrics by the keys of all our JSON; those of ranks are left out."""
        return {"hits@1": self.hits_at_1, "n": self.n}


def _share_within(ranks: Tensor, k: int) -> float:
    return (ranks <= k).double().mean().item()
