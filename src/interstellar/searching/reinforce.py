"""Reinforcement learning: the policy gradient of Zoph & Le 2017 over all thirteen choices."""

from dataclasses import dataclass
from math import isnan
from typing import final

import numpy as np

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.coordinates import Point
from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import SettingsError
from interstellar.randomness import spawn
from interstellar.searching.recurrent_policy import Parameters, RecurrentPolicy
from interstellar.searching.strategy import FromScratch, Outcome

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's, as published


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforceSettings:
    """How the policy learns."""

    dim: int = 64
    """Width of the LSTM; Zoph & Le have two layers of 35."""
    learning_rate: float = 0.003
    """Zoph & Le have 0.0006 for 12,800 trials. A search here has a hundred or two; on planted
    scores 0.003 learnt most in them, and from 0.02 up the policy settled on what it met first."""
    baseline_decay: float = 0.9
    """Of the moving average of scores that an advantage is measured from: about ten trials."""
    entropy_weight: float = 0.0
    """What a nat of entropy is worth in score; 0 as in Zoph & Le. More keeps it exploring."""

    def __post_init__(self) -> None:
        if self.dim < 1 or self.learning_rate <= 0 or not 0 <= self.baseline_decay < 1:
            raise SettingsError(
                f"dim={self.dim}, learning_rate={self.learning_rate}, "
                f"baseline_decay={self.baseline_decay}, but the first must be at least 1, the "
                "second above 0 and the third from 0 to under 1. Change the one that is not."
            )


@final
class ReinforceSearch:
    """REINFORCE: each told trial makes its architecture likelier as far as it beat the baseline.

    With several in flight the gradient is taken with the weights as they are when told, which
    need not be those that drew the architecture. A failed trial counts as score 0. The first
    score told becomes the first baseline, and so moves nothing by itself.
    """

    def __init__(
        self, space: SearchSpace, seed: int, settings: ReinforceSettings | None = None
    ) -> None:
        self._space = space
        self._seed = seed
        self._settings = settings or ReinforceSettings()
        sizes = tuple(len(choice.options) for choice in space.choices())
        self._policy = RecurrentPolicy(sizes, self._settings.dim)
        self._parameters = self._policy.initialise(spawn(seed, "policy"))
        self._adam = _Adam(self._parameters, self._settings.learning_rate)
        self._baseline: float | None = None
        self._point_by_number: dict[int, Point] = {}
        self._n_asked = 0

    def ask(self) -> FromScratch:
        number = self._n_asked
        self._n_asked += 1
        point = self._policy.sample(self._parameters, spawn(self._seed, f"policy draw {number}"))
        self._point_by_number[number] = point
        return FromScratch(number=number, architecture=self._space.at(point))

    def tell(self, number: int, outcome: Outcome) -> None:
        assert outcome is None or isinstance(outcome, float | int)
        score = 0.0 if outcome is None or isnan(outcome) else outcome
        gradient = self._policy.gradient(
            self._parameters,
            self._point_by_number.pop(number),
            advantage=self._measure_advantage(score),
            entropy_weight=self._settings.entropy_weight,
        )
        self._adam.ascend(gradient)

    def answer(self) -> Architecture:
        return self._space.at(self._policy.follow(self._parameters))

    def _measure_advantage(self, score: float) -> float:
        """Return how far a score is above the baseline, then move the baseline."""
        baseline = score if self._baseline is None else self._baseline
        decay = self._settings.baseline_decay
        self._baseline = decay * baseline + (1 - decay) * score
        return score - baseline


@final
class _Adam:
    """Adam (Kingma & Ba 2015), uphill."""

    def __init__(self, parameters: Parameters, learning_rate: float) -> None:
        self._parameters = parameters
        self._learning_rate = learning_rate
        self._m = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._v = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._t = 0

    def ascend(self, gradient: Parameters) -> None:
        """Change the parameters in place."""
        self._t += 1
        for name, g in gradient.items():
            self._m[name] = BETA_1 * self._m[name] + (1 - BETA_1) * g
            self._v[name] = BETA_2 * self._v[name] + (1 - BETA_2) * g**2
            m_hat = self._m[name] / (1 - BETA_1**self._t)
            v_hat = self._v[name] / (1 - BETA_2**self._t)
            self._parameters[name] += self._learning_rate * m_hat / (np.sqrt(v_hat) + EPSILON)
