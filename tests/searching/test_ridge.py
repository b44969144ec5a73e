"""Bayesian ridge regression on choices, against the formula with all features written out."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from interstellar.searching.ridge import NOISES, PAIR_SHARE, Codes, Floats, Ridge, fit_ridge

SIZES = (3, 2, 4, 2)


def draw(n: int, seed: int) -> tuple[Codes, Floats]:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(-1, size - 1, n) for size in SIZES], axis=1)
    y = rng.standard_normal(n)
    return codes, y - y.mean()


def write_out(codes: Codes) -> Floats:
    """Return an indicator of each option and of each pair, scaled so that each row has length 1."""
    n = len(SIZES)
    single = [codes[:, i] == a for i, size in enumerate(SIZES) for a in range(-1, size - 1)]
    pairs = [
        (codes[:, i] == a) & (codes[:, j] == b)
        for i, j in combinations(range(n), 2)
        for a, b in product(range(-1, SIZES[i] - 1), range(-1, SIZES[j] - 1))
    ]
    scaled = [np.sqrt((1 - PAIR_SHARE) / n) * np.array(single, dtype=float)]
    scaled += [np.sqrt(PAIR_SHARE / (n * (n - 1) / 2)) * np.array(pairs, dtype=float)]
    return np.concatenate(scaled).T


def test_it_predicts_what_the_regression_on_written_out_features_does() -> None:
    (codes, y), (others, _) = draw(20, 0), draw(9, 1)
    ridge = Ridge(codes=codes, y=y, noise=0.3, s=1.7)
    phi, phi_others = write_out(codes), write_out(others)
    precision = phi.T @ phi / 0.3 + np.eye(phi.shape[1])
    w = np.linalg.solve(precision, phi.T @ y / 0.3)
    variance = np.sum(phi_others * np.linalg.solve(precision, phi_others.T).T, axis=1)

    mean, deviation = ridge.predict(others)

    np.testing.assert_allclose(mean, phi_others @ w, rtol=1e-9)
    np.testing.assert_allclose(deviation, 1.7 * np.sqrt(variance), rtol=1e-9)


@pytest.mark.parametrize("scale", [0.1, 5.0])
def test_the_noise_and_scale_are_the_likeliest(scale: float) -> None:
    codes, y = draw(30, 2)
    phi = write_out(codes)

    def log_likelihood(noise: float, s: float) -> float:
        covariance = s**2 * (phi @ phi.T + noise * np.eye(len(y)))
        return float(multivariate_normal.logpdf(scale * y, cov=covariance))

    fitted = fit_ridge(codes, scale * y)

    best = log_likelihood(fitted.noise, fitted.s)
    grid = product(NOISES, fitted.s * np.linspace(0.5, 2.0, 31))
    assert all(log_likelihood(noise, s) <= best + 1e-9 for noise, s in grid)


def test_noise_without_a_pattern_is_taken_for_noise_and_a_pattern_for_none() -> None:
    codes, y = draw(80, 3)
    pattern = write_out(codes) @ np.random.default_rng(0).standard_normal(write_out(codes).shape[1])

    assert fit_ridge(codes, y).noise == max(NOISES)
    assert fit_ridge(codes, pattern - pattern.mean()).noise == min(NOISES)


def test_what_is_believed_changes_no_prediction_but_makes_it_surer() -> None:
    (codes, y), (others, _) = draw(20, 4), draw(9, 5)
    ridge = fit_ridge(codes, y)

    mean, deviation = ridge.predict(others)
    believed_mean, believed_deviation = ridge.believe(others[:3]).predict(others)

    np.testing.assert_allclose(believed_mean, mean, atol=1e-12)
    assert np.all(believed_deviation <= deviation + 1e-12)
    assert np.all(believed_deviation[:3] < 0.9 * deviation[:3])


def test_values_that_are_all_equal_are_survived() -> None:
    codes, _ = draw(10, 6)

    mean, deviation = fit_ridge(codes, np.zeros(10)).predict(codes)

    assert np.all(mean == 0.0)
    assert np.all(np.isfinite(deviation))
