"""Rank correlation: known values, what it ignores, and how sure it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from interstellar.reproduce import rank_correlation
from interstellar.reproduce.rank_correlation import Estimate, correlate, estimate, kendall, spearman


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_correlation, "N_RESAMPLES", 200)


def draw_pairs(n: int, noise: float) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return x.tolist(), (x + noise * rng.normal(size=n)).tolist()


def test_the_same_order_is_one_and_the_opposite_order_minus_one() -> None:
    same = correlate([1, 2, 3, 4], [0.1, 0.2, 0.4, 10.0], seed=0)
    opposite = correlate([1, 2, 3, 4], [9.0, 5.0, 2.0, 1.0], seed=0)

    assert same.spearman.value == pytest.approx(1)
    assert same.kendall.value == pytest.approx(1)
    assert same.spearman.interval == pytest.approx((1, 1))
    assert opposite.spearman.value == pytest.approx(-1)
    assert opposite.kendall.value == pytest.approx(-1)


def test_ties_are_counted_as_the_definitions_have_it() -> None:
    """x ties the last two: their ranks are 2.5; of 3 pairs 2 agree, and 1 ties in x alone."""
    found = correlate([1, 2, 2], [1, 2, 3], seed=0)

    assert found.spearman.value == pytest.approx(np.corrcoef([1, 2.5, 2.5], [1, 2, 3])[0, 1])
    assert found.kendall.value == pytest.approx(2 / np.sqrt(2 * 3))


@given(pairs=st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=12))
def test_only_the_order_counts(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    if len(set(x)) < 2 or len(set(y)) < 2:
        return

    stretched = np.exp(x)

    assert spearman(stretched, y) == pytest.approx(spearman(x, y))
    assert kendall(stretched, y) == pytest.approx(kendall(x, y))
    assert spearman(x, y) == pytest.approx(float(stats.spearmanr(x, y).statistic))
    assert spearman(-x, y) == pytest.approx(-spearman(x, y))


@pytest.mark.parametrize("scores", [([], []), ([1.0], [2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])])
def test_where_nothing_is_ordered_there_is_no_correlation(
    scores: tuple[list[float], list[float]],
) -> None:
    for first, second in (scores, scores[::-1]):
        found = correlate(first, second, seed=0)

        assert found.spearman == found.kendall == Estimate(value=None, interval=None)


def test_resamples_in_which_nothing_is_ordered_are_left_out() -> None:
    found = correlate([1, 2], [1, 2], seed=0)

    assert found.kendall.interval == (1, 1)


def test_the_interval_is_as_wide_as_theory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fisher's z of a correlation has a standard deviation of about √1.06 / √(n − 3)."""
    monkeypatch.setattr(rank_correlation, "N_RESAMPLES", 2000)
    x, y = draw_pairs(300, noise=1.0)

    found = estimate(spearman, np.array(x), np.array(y), seed=0)

    assert found.value is not None
    assert found.interval is not None
    half_width = 1.96 * np.sqrt(1.06 / 297)
    expected = np.tanh(np.arctanh(found.value) + np.array([-half_width, half_width]))
    assert found.interval == pytest.approx(expected, abs=0.03)


def test_the_interval_follows_from_the_seed() -> None:
    x, y = draw_pairs(20, noise=1.0)

    first, again, other = (correlate(x, y, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first.spearman.interval != other.spearman.interval
    assert first.spearman.value == other.spearman.value
