"""Metrics of ranks, and average precision."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.errors import DataError
from interstellar.evaluation.metrics import Metrics, auc_pr_among, average_precision
from tests.evaluation.small_rankings import CPU

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


def test_no_ranks_have_no_metrics() -> None:
    with pytest.raises(DataError, match="no answers to rank"):
        Metrics.of(torch.empty(0))


@given(seed=st.integers(0, 2**16), n=st.integers(1, 150), n_levels=st.sampled_from([1, 2, 5, 0]))
def test_average_precision_is_scikit_learns(seed: int, n: int, n_levels: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.integers(n_levels, size=n) if n_levels else rng.normal(size=n)
    is_true = rng.random(n) < 0.2
    is_true[rng.integers(n)] = True

    ours = average_precision(torch.from_numpy(logits.astype(np.float32)), is_true)

    theirs = average_precision_score(is_true, logits.astype(np.float32))
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_the_true_answers_first_is_perfect_and_ties_are_not() -> None:
    is_true = np.array([[True, False], [True, False]])

    assert average_precision(torch.tensor([[2.0, 1.0], [3.0, 0.0]]), is_true) == 1
    assert average_precision(torch.zeros(2, 2), is_true) == 0.5


def test_nan_never_wins() -> None:
    is_true = np.array([True, False, False])

    assert average_precision(torch.tensor([torch.nan, 0.0, -1.0]), is_true) == pytest.approx(1 / 3)
    assert average_precision(torch.tensor([1.0, torch.nan, 0.0]), is_true) == pytest.approx(1 / 2)


def test_nothing_true_is_reported() -> None:
    with pytest.raises(DataError, match="none of the answers is true"):
        average_precision(torch.zeros(3), np.zeros(3, dtype=np.bool_))


def test_each_query_is_asked_once_among_the_answers_alone() -> None:
    # Country 0 lies in the regions 3 and 4, country 1 in 4; region 2 and the countries are not
    # asked about, however high their logits are.
    test = np.array([[0, 0, 3], [0, 0, 4], [1, 0, 4]], dtype=np.int32)
    known = KnownAnswers.of_triplets(test, n_entities=6, n_relations=1)
    logits = torch.tensor([[9.0, 9.0, 9.0, 4.0, 3.0, 0.0], [9.0, 9.0, 9.0, 2.0, 1.0, 0.5]])
    asked = []

    def compute_logits(subjects: Tensor, relations: Tensor) -> Tensor:
        asked.extend(subjects.tolist())
        return logits[subjects]

    answers = np.array([3, 4, 5], dtype=np.int32)
    value = auc_pr_among(compute_logits, test, known, answers=answers, device=CPU)

    assert asked == [0, 1]
    assert value == pytest.approx((1 + 1 + 3 / 4) / 3)


def test_within_a_query_what_all_its_logits_have_in_common_does_not_count() -> None:
    test = np.array([[0, 0, 2], [1, 0, 3]], dtype=np.int32)
    known = KnownAnswers.of_triplets(test, n_entities=4, n_relations=1)
    logits = torch.tensor([[0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 10.0, 12.0]])
    answers = np.array([2, 3], dtype=np.int32)

    values = [
        auc_pr_among(
            lambda s, _: logits[s], test, known, answers=answers, device=CPU, within_query=within
        )
        for within in (False, True)
    ]

    assert values == [pytest.approx((1 + 2 / 3) / 2), 1.0]
