"""The controller of a search: one categorical distribution a choice, moved by natural gradient.

The adaptive stochastic natural gradient of Akimoto et al. 2019, which the paper's natural policy
gradient is (Section 3.2, "Details of the search algorithm"). θ are the expectation parameters:
θ_j is the probability of option j. Scores are maximised throughout; who has a loss gives −loss.

Two deviations. θ moves only where the drawn points differ in what they earned and in where they
lie: else there is no direction, and G/‖s‖ would blow up rounding errors (or be 0/0). And Δ never
falls so low that β = δ/√N would exceed 1, where (1 − β) s̄ + √(β(2 − β)) s/‖s‖ is no average any
more, and has no value beyond 2: a long run of steps in one direction leads there.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from math import ceil, exp, inf, isnan, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interstellar.architecture.search_space import Point
from interstellar.errors import SettingsError

Vector: TypeAlias = NDArray[np.float64]

DELTA_0 = 1.0
"""δ₀, the length of the first step in the Fisher norm."""
DELTA_MAX = inf
"""Δ_max; as Akimoto et al. have it, nothing keeps the steps from becoming ever shorter."""
ALPHA = 1.5
"""How much longer than under pure noise ‖s̄‖² must be for the steps to become longer."""
MIN_NORM = 1e-12
"""A Fisher norm below it is rounding: the points are one and the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerState:
    """What a controller, or one part of it, has learnt. Written as JSON, it comes back equal."""

    theta: tuple[tuple[float, ...], ...]
    """θ: of each choice, the probabilities of its K options."""
    s_bar: tuple[float, ...]
    """s̄: the whitened steps, averaged; K − 1 entries a choice."""
    gamma: float
    """γ: what ‖s̄‖² would be if the steps were pure noise."""
    Delta: float
    """Δ: how much shorter than δ₀ the steps are."""
    n_choices: int
    """d of the floor under the probabilities: all choices of the controller, also those of its
    other part."""

    def __post_init__(self) -> None:
        if self.n_choices < max(3, len(self.theta)):
            raise SettingsError(
                f"n_choices={self.n_choices} is too few for a controller with {len(self.theta)} "
                "choices here. It counts all choices of the controller, and at least 3, or no "
                "probability could move. Give the number of all choices."
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the state as plain values that `json.dumps` takes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ControllerState":
        return cls(
            theta=tuple(tuple(map(float, theta)) for theta in values["theta"]),
            s_bar=tuple(map(float, values["s_bar"])),
            gamma=float(values["gamma"]),
            Delta=float(values["Delta"]),
            n_choices=int(values["n_choices"]),
        )


def uniform(sizes: Iterable[int], n_choices: int) -> ControllerState:
    """Return the state before anything was learnt, for choices with so many options each."""
    theta = tuple((1 / K,) * K for K in sizes)
    s_bar = (0.0,) * _count_parameters(theta)
    return ControllerState(theta=theta, s_bar=s_bar, gamma=0.0, Delta=1.0, n_choices=n_choices)


def sample(state: ControllerState, rng: np.random.Generator) -> Point:
    """Return a point, each choice drawn by its own distribution."""
    draws = rng.random(len(state.theta)).tolist()
    return tuple(
        min(bisect_right(list(accumulate(theta)), u), len(theta) - 1)
        for theta, u in zip(state.theta, draws, strict=True)
    )


def mode(state: ControllerState) -> Point:
    """Return the likeliest point; of equally likely options the first."""
    return tuple(theta.index(max(theta)) for theta in state.theta)


def update(
    state: ControllerState, points: Sequence[Point], scores: Sequence[float | None]
) -> ControllerState:
    """Return the state after points drawn from it earned these scores.

    Higher is better; None (the trial failed) and nan are worse than any other.
    """
    u = utilities(scores)
    theta = [np.array(theta_i) for theta_i in state.theta]
    G = natural_gradient(theta, points, u)
    s = whiten(theta, G)
    norm = float(np.linalg.norm(s))
    if np.ptp(u) == 0 or norm < MIN_NORM:
        return state

    N = _count_parameters(state.theta)
    delta = DELTA_0 / state.Delta
    beta = delta / sqrt(N)
    moved = [theta_i + delta * G_i / norm for theta_i, G_i in zip(theta, G, strict=True)]
    s_bar = (1 - beta) * np.array(state.s_bar) + sqrt(beta * (2 - beta)) * s / norm
    gamma = (1 - beta) ** 2 * state.gamma + beta * (2 - beta)
    Delta = min(DELTA_MAX, state.Delta * exp(beta * (gamma - float(s_bar @ s_bar) / ALPHA)))
    return ControllerState(
        theta=tuple(_keep_above_floor(theta_i, state.n_choices) for theta_i in moved),
        s_bar=tuple(s_bar.tolist()),
        gamma=gamma,
        Delta=max(DELTA_0 / sqrt(N), Delta),
        n_choices=state.n_choices,
    )


def utilities(scores: Sequence[float | None]) -> Vector:
    """Return u: of λ, the best ⌈λ/4⌉ get 1/⌈λ/4⌉, the worst as many −1/⌈λ/4⌉; ties their mean."""
    values = np.array([-inf if x is None or isnan(x) else x for x in scores])
    n = ceil(len(values) / 4)
    u_by_rank = np.zeros(len(values))
    u_by_rank[:n] += 1 / n
    u_by_rank[-n:] -= 1 / n
    u = np.empty(len(values))
    u[np.argsort(-values, kind="stable")] = u_by_rank
    for value in set(values.tolist()):
        u[values == value] = u[values == value].mean()
    return u


def natural_gradient(theta: Sequence[Vector], points: Sequence[Point], u: Vector) -> list[Vector]:
    """Return, of each choice, G = mean_k (u_k − ū)(T(a_k) − θ), T(a) being one-hot."""
    weights = (u - u.mean()) / len(u)
    taken = np.array(points)
    return [
        weights @ (np.eye(len(theta_i))[taken[:, i]] - theta_i) for i, theta_i in enumerate(theta)
    ]


def whiten(theta: Sequence[Vector], G: Sequence[Vector]) -> Vector:
    """Return s, all choices in one vector; ‖s‖ is the Fisher norm of G.

    Of each choice s_j = g_j/√θ_j + √θ_j · S/(θ_K + √θ_K), where g are the first K − 1 entries of
    its G and S = Σ g_j.
    """
    parts = []
    for theta_i, G_i in zip(theta, G, strict=True):
        theta_j, theta_K, g = theta_i[:-1], theta_i[-1], G_i[:-1]
        S = g.sum()
        parts.append(g / np.sqrt(theta_j) + np.sqrt(theta_j) * S / (theta_K + np.sqrt(theta_K)))
    return np.concatenate(parts)


def _keep_above_floor(theta: Vector, d: int) -> tuple[float, ...]:
    """Return θ with no probability under 1/(d(K − 1)) and sum 1.

    What was added to reach the floor is taken from all, in proportion to how far above it they
    are, so that none falls under it again.
    """
    K = len(theta)
    if K == 1:
        return (1.0,)
    floor = 1 / (d * (K - 1))
    above = np.maximum(theta - floor, 0)
    return tuple((floor + above * (1 - K * floor) / above.sum()).tolist())


def _count_parameters(theta: Sequence[Sequence[float]]) -> int:
    """Return N = Σ (K − 1)."""
    return sum(len(theta_i) - 1 for theta_i in theta)
