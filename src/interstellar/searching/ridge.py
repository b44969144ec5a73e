"""Bayesian ridge regression on choices: what single options are worth, and pairs of them."""

from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Codes: TypeAlias = NDArray[np.int64]
"""(n, n_choices): which option each choice takes."""
Floats: TypeAlias = NDArray[np.float64]

PAIR_SHARE = 0.6
"""Of the variance, what pairs of options explain beforehand; single options explain the rest."""
NOISES = (0.1, 0.3, 1.0, 3.0)
"""Variances that the noise may have, in variances of what options explain."""


class Posterior(Protocol):
    """What a regression believes after it was fitted."""

    def predict(self, codes: Codes) -> tuple[Floats, Floats]:
        """Return the mean and the deviation of what each row is worth, (n,) each."""

    def believe(self, codes: Codes) -> Self:
        """Return what it would believe if each row had turned out as it predicts."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """y = w · φ + ε, w ~ N(0, s²) and ε ~ N(0, s² noise), given some rows of codes with their y.

    φ has a number for each option and for each pair of options of two choices, which is not 0
    where it is taken. So φ · φ′ only counts equal choices, and φ itself is never built.
    """

    codes: Codes
    y: Floats
    noise: float
    s: float

    def predict(self, codes: Codes) -> tuple[Floats, Floats]:
        K = multiply(self.codes, self.codes) + self.noise * np.eye(len(self.y))
        k = multiply(self.codes, codes)
        solved = cho_solve(cho_factor(K, lower=True), k)
        variance = 1.0 - np.sum(k * solved, axis=0)  # φ · φ = 1
        return self.y @ solved, self.s * np.sqrt(np.maximum(variance, 1e-12))

    def believe(self, codes: Codes) -> Self:
        y = np.concatenate([self.y, self.predict(codes)[0]])
        return replace(self, codes=np.concatenate([self.codes, codes]), y=y)


def multiply(first: Codes, second: Codes) -> Floats:
    """Return φ · φ′ of each row of the first with each of the second, 1 where they are equal."""
    n = first.shape[1]
    n_equal = np.sum(first[:, None] == second, axis=2, dtype=np.float64)
    pairs = n_equal * (n_equal - 1.0) / (n * (n - 1.0))
    products: Floats = (1.0 - PAIR_SHARE) * n_equal / n + PAIR_SHARE * pairs
    return products


def fit_ridge(codes: Codes, y: Floats) -> Ridge:
    """Return the regression with the noise and scale under which y, of mean 0, is likeliest.

    The likelihood is N(y; 0, s² (Φ Φᵀ + noise)); given the noise, the best s² is known.
    """
    values, vectors = np.linalg.eigh(multiply(codes, codes))
    best = (-np.inf, 0.0, 0.0)
    for noise in NOISES:
        variances = np.maximum(values, 0.0) + noise
        s2 = max(float(np.mean((vectors.T @ y) ** 2 / variances)), 1e-12)
        log_likelihood = -0.5 * float(len(y) * np.log(s2) + np.sum(np.log(variances)))
        best = max(best, (log_likelihood, noise, s2))
    _, noise, s2 = best
    return Ridge(codes=codes, y=y, noise=noise, s=float(np.sqrt(s2)))
