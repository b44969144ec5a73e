"""Metrics of ranks."""

import json

import pytest
import torch

from interstellar.errors import DataError
from interstellar.evaluation.metrics import Metrics

RANKS = torch.tensor([1.0, 1.5, 3.0, 10.0, 20.0], dtype=torch.float64)


def test_metrics_are_means_over_the_ranks() -> None:
    metrics = Metrics.of(RANKS)

    assert metrics.mrr == pytest.approx((1 + 1 / 1.5 + 1 / 3 + 0.1 + 0.05) / 5)
    assert (metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10) == (0.2, 0.6, 0.8)
    assert metrics.mean_rank == pytest.approx(7.1)
    assert metrics.n == 5


def test_a_tie_for_the_first_place_is_no_hit() -> None:
    assert Metrics.of(torch.tensor([1.5])).hits_at_1 == 0


def test_the_keys_are_those_of_the_command_line() -> None:
    plain, with_auc = Metrics.of(RANKS), Metrics.of(RANKS, auc_pr=0.5)

    assert list(plain.as_dict()) == ["mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "n"]
    assert with_auc.as_dict() == plain.as_dict() | {"auc_pr": 0.5}


@pytest.mark.parametrize("auc_pr", [None, 0.25])
def test_metrics_come_back_from_json(auc_pr: float | None) -> None:
    metrics = Metrics.of(RANKS, auc_pr=auc_pr)

    assert Metrics.from_dict(json.loads(json.dumps(metrics.as_dict()))) == metrics


def test_a_missing_key_is_named() -> None:
    with pytest.raises(DataError, match="hold mrr, but not 'hits@1'"):
        Metrics.from_dict({"mrr": 0.5})


def test_no_ranks_have_no_metrics() -> None:
    with pytest.raises(DataError, match="no answers to rank"):
        Metrics.of(torch.empty(0))
