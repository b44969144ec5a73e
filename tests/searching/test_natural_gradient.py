"""Tests of the controller: its formulas against dense ones, its steps, its edge cases."""

import json
from dataclasses import replace
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from interstellar.errors import SettingsError
from interstellar.searching.natural_gradient import (
    ControllerState,
    mode,
    natural_gradient,
    sample,
    uniform,
    update,
    utilities,
    whiten,
)

Vector = NDArray[np.float64]

SIZES = (4, 1, 3, 2)
D = 13

seeds = st.integers(0, 2**16)
many_sizes = st.lists(st.integers(1, 5), min_size=1, max_size=6)


def walk(sizes: tuple[int, ...], seed: int, n_updates: int) -> ControllerState:
    """Return a state somewhere: after updates with scores that are noise."""
    rng = np.random.default_rng(seed)
    state = uniform(sizes, D)
    for _ in range(n_updates):
        points = [sample(state, rng) for _ in range(2)]
        state = update(state, points, rng.random(2).tolist())
    return state


def draw_theta(sizes: list[int], rng: np.random.Generator) -> list[Vector]:
    return [rng.dirichlet(np.full(K, 2.0)) for K in sizes]


def fisher(theta: Vector) -> Vector:
    """Return H of one categorical in the parameters θ_1 … θ_{K−1}: diag(1/θ_j) + 11ᵀ/θ_K."""
    return np.asarray(np.diag(1 / theta[:-1]) + 1 / theta[-1])


def vanilla_gradient(theta: Vector, taken: list[int], u: Vector) -> Vector:
    """Return mean_k (u_k − ū) ∇ ln p(a_k), with θ_K = 1 − Σ θ_j."""
    last = len(theta) - 1
    score_functions = [
        np.array([(a == j) / theta[j] - (a == last) / theta[-1] for j in range(last)])
        for a in taken
    ]
    return np.asarray((u - u.mean()) @ np.array(score_functions) / len(u))


@given(sizes=many_sizes, seed=seeds, n_points=st.integers(2, 9))
def test_the_natural_gradient_is_the_inverse_fisher_matrix_times_the_vanilla_one(
    sizes: list[int], seed: int, n_points: int
) -> None:
    rng = np.random.default_rng(seed)
    theta = draw_theta(sizes, rng)
    points = [tuple(int(rng.integers(K)) for K in sizes) for _ in range(n_points)]
    u = rng.normal(size=n_points)

    G = natural_gradient(theta, points, u)

    for i, (theta_i, G_i) in enumerate(zip(theta, G, strict=True)):
        vanilla = vanilla_gradient(theta_i, [point[i] for point in points], u)
        dense = np.linalg.inv(fisher(theta_i)) @ vanilla
        np.testing.assert_allclose(G_i[:-1], dense, atol=1e-12)
        assert G_i.sum() == pytest.approx(0)


@given(sizes=many_sizes, seed=seeds)
def test_whitening_gives_the_fisher_norm(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = draw_theta(sizes, rng)
    G = [g - g.mean() for g in (rng.normal(size=K) for K in sizes)]

    s = whiten(theta, G)

    dense = sum(g[:-1] @ fisher(t) @ g[:-1] for t, g in zip(theta, G, strict=True))
    assert len(s) == sum(K - 1 for K in sizes)
    assert s @ s == pytest.approx(dense)


def test_one_update_is_the_formulas_of_the_method() -> None:
    state = replace(uniform((2,), D), theta=((0.3, 0.7),), s_bar=(0.2,), gamma=0.4, Delta=2.0)

    moved = update(state, [(0,), (1,)], [1.0, 0.0])

    G = (0.7 - -0.3) / 2
    s = G / sqrt(0.3) + sqrt(0.3) * G / (0.7 + sqrt(0.7))
    beta = 0.5  # δ/√N with δ = 1/Δ and N = 1
    s_bar = (1 - beta) * 0.2 + sqrt(beta * (2 - beta))
    gamma = (1 - beta) ** 2 * 0.4 + beta * (2 - beta)
    assert moved.theta[0][0] == pytest.approx(0.3 + 0.5 * G / s)
    assert moved.s_bar == pytest.approx((s_bar,))
    assert moved.gamma == pytest.approx(gamma)
    assert moved.Delta == pytest.approx(2.0 * exp(beta * (gamma - s_bar**2 / 1.5)))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.1, 0.7], [-1, 1]),
        ([0.7, 0.1, 0.5], [1, -1, 0]),
        ([1, 2, 3, 4, 5, 6, 7, 8], [-0.5, -0.5, 0, 0, 0, 0, 0.5, 0.5]),
        ([0.5, 0.5, 0.1, 0.2], [0.5, 0.5, -1, 0]),
        ([-3.0, -3.0], [0, 0]),
        ([None, 0.0], [-1, 1]),
        ([None, float("nan"), 0.3], [-0.5, -0.5, 1]),
        ([0.4], [0]),
    ],
)
def test_utilities_go_by_rank_and_ties_share_their_mean(
    scores: list[float | None], expected: list[float]
) -> None:
    assert utilities(scores).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("scores", [[0.5, 0.5], [-0.5, -0.5], [None, None]])
def test_equal_scores_move_nothing(scores: list[float | None]) -> None:
    state = walk(SIZES, 0, 5)

    assert update(state, [(0, 0, 0, 0), (1, 0, 1, 1)], scores) == state


@pytest.mark.parametrize("n_points", [2, 12])
def test_equal_scores_and_equal_points_move_nothing_however_many(n_points: int) -> None:
    state = walk(SIZES, 0, 5)
    points = [(k % 4, 0, k % 3, k % 2) for k in range(n_points)]
    scores = [float(k) for k in range(n_points)]

    assert update(state, points, [1 / 3] * n_points) == state
    assert update(state, [points[1]] * n_points, scores) == state


def test_the_option_of_the_better_point_becomes_likelier() -> None:
    state = uniform(SIZES, D)

    moved = update(state, [(2, 0, 1, 0), (0, 0, 1, 1)], [0.9, 0.2])

    assert moved.theta[0][2] > 0.25 > moved.theta[0][0]
    assert moved.theta[1] == (1.0,)
    assert moved.theta[2] == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert moved.theta[3][0] > 0.5 > moved.theta[3][1]
    assert mode(moved) == (2, 0, 0, 0)


def test_a_failed_trial_counts_as_worse_than_any_score() -> None:
    state = uniform((2, 2, 2), 3)

    moved = update(state, [(0, 0, 0), (1, 1, 1)], [None, -1e9])

    assert mode(moved) == (1, 1, 1)


@given(seed=seeds, n_updates=st.integers(0, 60))
def test_probabilities_stay_on_the_simplex_and_above_the_floor(seed: int, n_updates: int) -> None:
    state = walk(SIZES, seed, n_updates)

    for theta in state.theta:
        assert sum(theta) == pytest.approx(1)
        if len(theta) > 1:
            assert min(theta) >= 1 / (D * (len(theta) - 1)) - 1e-12


@given(seed=seeds, n_updates=st.integers(0, 20))
def test_a_state_comes_back_from_json_to_the_last_bit(seed: int, n_updates: int) -> None:
    state = walk(SIZES, seed, n_updates)

    assert ControllerState.from_dict(json.loads(json.dumps(state.as_dict()))) == state


def test_a_choice_with_one_option_changes_nothing_for_the_others() -> None:
    points, scores = [(0, 1, 0), (3, 0, 1)], [0.1, 0.2]
    with_single = [(a, 0, b, c) for a, b, c in points]

    plain = update(uniform((4, 3, 2), D), points, scores)
    extended = update(uniform((4, 1, 3, 2), D), with_single, scores)

    assert extended.theta == (plain.theta[0], (1.0,), *plain.theta[1:])
    assert replace(extended, theta=plain.theta) == plain


def test_a_controller_without_any_freedom_stays_what_it_is() -> None:
    state = uniform((1, 1, 1), D)

    assert update(state, [(0, 0, 0), (0, 0, 0)], [0.1, 0.2]) == state
    assert sample(state, np.random.default_rng(0)) == mode(state) == (0, 0, 0)


def test_a_long_run_in_one_direction_leaves_numbers_in_their_range() -> None:
    state = replace(uniform((4, 4, 4, 4, 4), D), Delta=25.0)  # as after much noise

    for _ in range(200):
        state = update(state, [(0,) * 5, (1,) * 5], [1.0, 0.0])
        assert 1 / sqrt(15) <= state.Delta < 100
        assert np.isfinite([*state.s_bar, state.gamma, *state.theta[0]]).all()

    assert mode(state) == (0,) * 5


def test_samples_follow_the_probabilities() -> None:
    theta = ((0.7, 0.2, 0.1), (1.0,), (0.25, 0.75))
    state = replace(uniform((3, 1, 2), D), theta=theta)
    rng = np.random.default_rng(0)

    points = np.array([sample(state, rng) for _ in range(20_000)])

    for i, theta_i in enumerate(theta):
        frequencies = np.bincount(points[:, i], minlength=len(theta_i)) / len(points)
        np.testing.assert_allclose(frequencies, theta_i, atol=0.015)


def test_a_converged_controller_draws_its_mode_about_a_third_of_the_time() -> None:
    sizes = (4, 4, 4, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2)
    state = uniform(sizes, D)
    for _ in range(300):
        state = update(state, [(0,) * D, (1,) * D], [1.0, 0.0])
        for k in (2, 3):
            worse = tuple(min(k, K - 1) for K in sizes)
            state = update(state, [(0,) * D, worse], [1.0, 0.0])

    likelihood = np.prod([max(theta) for theta in state.theta])

    assert likelihood == pytest.approx((12 / 13) ** 13, rel=1e-6)


def test_the_mode_is_the_first_of_equals() -> None:
    assert mode(uniform(SIZES, D)) == (0, 0, 0, 0)


@pytest.mark.parametrize(("sizes", "n_choices"), [((2,), 2), (SIZES, 3)])
def test_too_few_choices_for_the_floor_are_refused(sizes: tuple[int, ...], n_choices: int) -> None:
    with pytest.raises(SettingsError, match="n_choices"):
        uniform(sizes, n_choices)
