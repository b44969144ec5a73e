"""The threshold is the best there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.evaluation.threshold import (
    Quality,
    choose_precise_threshold,
    choose_threshold,
)

PREDICTIONS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12)


@given(predictions=PREDICTIONS, n_missing=st.integers(0, 3))
def test_no_threshold_has_a_higher_f1_and_no_lower_one_the_same(
    predictions: list[tuple[int, bool]], n_missing: int
) -> None:
    n_true = len(predictions) + n_missing

    threshold = choose_threshold(
        np.array([float(value) for value, _ in predictions]),
        np.array([is_right for _, is_right in predictions]),
        n_true=n_true,
    )

    f1 = {}
    for tried in {value for value, _ in predictions}:
        kept = [is_right for value, is_right in predictions if value >= tried]
        f1[tried] = 2 * sum(kept) / (len(kept) + n_true)
    assert threshold == min(tried for tried in f1 if f1[tried] == max(f1.values()))


@given(predictions=PREDICTIONS, precision=st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_the_lowest_threshold_that_is_precise_enough_is_found(
    predictions: list[tuple[int, bool]], precision: float
) -> None:
    threshold = choose_precise_threshold(
        np.array([float(value) for value, _ in predictions]),
        np.array([is_right for _, is_right in predictions]),
        precision=precision,
    )

    precise = []
    for tried in {value for value, _ in predictions}:
        kept = [is_right for value, is_right in predictions if value >= tried]
        precise += [tried] if sum(kept) >= precision * len(kept) else []
    assert threshold == min(precise, default=np.inf)


def test_without_partners_no_threshold_is_precise() -> None:
    nothing = np.empty(0), np.empty(0, dtype=np.bool_)

    assert choose_precise_threshold(*nothing, precision=0.5) == np.inf


def test_without_partners_nothing_is_left_out() -> None:
    assert choose_threshold(np.empty(0), np.empty(0, dtype=np.bool_), n_true=3) == -np.inf


def test_quality_is_precision_recall_and_their_harmonic_mean() -> None:
    quality = Quality.of(n_right=3, n_given=4, n_true=6)

    assert (quality.precision, quality.recall) == (0.75, 0.5)
    assert quality.f1 == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    assert Quality.of(n_right=0, n_given=0, n_true=0).as_dict() == {
        "precision": 1,
        "recall": 1,
        "f1": 1,
        "n": 0,
    }
