"""Reinforcement learning: the policy gradient of Zoph & Le 2017 over all thirteen choices.

The policy is an LSTM that takes the choices in turn, in plain NumPy. A step reads what was taken
at the step before and gives the probabilities of its choice:

    x = E[taken before]                         E[0] at the first step
    i, f, o = σ(z_1), σ(z_2), σ(z_3)            z = W x + U h_prev + b, in four parts
    g = tanh(z_4)
    c = f ⊙ c_prev + i ⊙ g,   h = o ⊙ tanh(c)
    p = softmax(V h + a)                        the rows of V and a that are of this choice

One layer where Zoph & Le have two: thirteen choices need less memory than their networks do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import isnan
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import Point, SearchSpace
from interstellar.errors import SettingsError
from interstellar.randomness import spawn
from interstellar.searching.trial import Proposal, TrialResult

Array: TypeAlias = NDArray[np.float64]
Parameters: TypeAlias = dict[str, Array]

INITIAL_RANGE = 0.08
"""All parameters start uniform in ±0.08 (Zoph & Le 2017): the first draws are near uniform."""
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

    def ask(self) -> Proposal:
        number = self._n_asked
        self._n_asked += 1
        point = self._policy.sample(self._parameters, spawn(self._seed, f"policy draw {number}"))
        self._point_by_number[number] = point
        return Proposal(number=number, architecture=self._space.at(point))

    def tell(self, number: int, result: TrialResult) -> None:
        score = 0.0 if result.score is None or isnan(result.score) else result.score
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
        self._t += 1
        for name, g in gradient.items():
            self._m[name] = BETA_1 * self._m[name] + (1 - BETA_1) * g
            self._v[name] = BETA_2 * self._v[name] + (1 - BETA_2) * g**2
            m_hat = self._m[name] / (1 - BETA_1**self._t)
            v_hat = self._v[name] / (1 - BETA_2**self._t)
            self._parameters[name] += self._learning_rate * m_hat / (np.sqrt(v_hat) + EPSILON)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step computed and the way back needs."""

    row: int
    """Of E: what was read."""
    h_prev: Array
    c_prev: Array
    gates: tuple[Array, Array, Array, Array]
    """i, f, o, g."""
    c: Array
    h: Array
    log_p: Array
    taken: int


@dataclass(frozen=True, slots=True)
class RecurrentPolicy:
    """The shape of the policy: of each choice the number of options, and the LSTM's width."""

    sizes: tuple[int, ...]
    dim: int

    def initialise(self, rng: np.random.Generator) -> Parameters:
        """Return the parameters before anything was learnt."""
        n_options, dim = sum(self.sizes), self.dim
        shapes: dict[str, tuple[int, ...]] = {
            "E": (1 + n_options, dim),
            "W": (4 * dim, dim),
            "U": (4 * dim, dim),
            "b": (4 * dim,),
            "V": (n_options, dim),
            "a": (n_options,),
        }
        most = INITIAL_RANGE
        return {name: rng.uniform(-most, most, shape) for name, shape in shapes.items()}

    def sample(self, parameters: Parameters, rng: np.random.Generator) -> Point:
        """Return a point, each choice drawn given those before it."""
        steps = self.unroll(parameters, lambda _, p: int(rng.choice(len(p), p=p)))
        return tuple(step.taken for step in steps)

    def follow(self, parameters: Parameters) -> Point:
        """Return the point that takes the likeliest option at each step, the first of equals."""
        steps = self.unroll(parameters, lambda _, p: int(p.argmax()))
        return tuple(step.taken for step in steps)

    def gradient(
        self, parameters: Parameters, point: Point, *, advantage: float, entropy_weight: float
    ) -> Parameters:
        """Return the gradient of advantage · log p(point) + entropy_weight · Σ H(p).

        H(p), the entropy, is of each step's probabilities given what `point` took before it.
        """
        steps = self.unroll(parameters, lambda i, _: point[i])
        gradient = {name: np.zeros_like(value) for name, value in parameters.items()}
        dh, dc = np.zeros(self.dim), np.zeros(self.dim)
        for step, part in zip(reversed(steps), reversed(self._parts()), strict=True):
            dlogits = _differentiate_objective(step, advantage, entropy_weight)
            gradient["V"][part] += np.outer(dlogits, step.h)
            gradient["a"][part] += dlogits
            dh = dh + parameters["V"][part].T @ dlogits
            dh, dc = _go_back(parameters, gradient, step, dh, dc)
        return gradient

    def unroll(self, parameters: Parameters, take: Callable[[int, Array], int]) -> list[Step]:
        """Return the steps, one a choice; `take` is told its number and its probabilities."""
        steps: list[Step] = []
        h, c, row = np.zeros(self.dim), np.zeros(self.dim), 0
        for i, part in enumerate(self._parts()):
            gates, c_next, h_next = _go_on(parameters, parameters["E"][row], h, c)
            log_p = _log_softmax(parameters["V"][part] @ h_next + parameters["a"][part])
            taken = take(i, np.exp(log_p))
            steps.append(Step(row, h, c, gates, c_next, h_next, log_p, taken))
            h, c, row = h_next, c_next, 1 + part.start + taken
        return steps

    def _parts(self) -> list[slice]:
        """Return, of each choice, its options' rows in V and a; in E they stand one row lower."""
        ends = accumulate(self.sizes)
        return [slice(end - size, end) for size, end in zip(self.sizes, ends, strict=True)]


def _go_on(
    parameters: Parameters, x: Array, h_prev: Array, c_prev: Array
) -> tuple[tuple[Array, Array, Array, Array], Array, Array]:
    z = parameters["W"] @ x + parameters["U"] @ h_prev + parameters["b"]
    z_1, z_2, z_3, z_4 = np.split(z, 4)
    i, f, o = _sigmoid(z_1), _sigmoid(z_2), _sigmoid(z_3)
    g = np.tanh(z_4)
    c = f * c_prev + i * g
    h = o * np.tanh(c)
    return (i, f, o, g), c, h


def _go_back(
    parameters: Parameters, gradient: Parameters, step: Step, dh: Array, dc: Array
) -> tuple[Array, Array]:
    """Add one step's share to `gradient`; return what h_prev and c_prev get."""
    i, f, o, g = step.gates
    tanh_c = np.tanh(step.c)
    dc = dc + dh * o * (1 - tanh_c**2)
    dz_1, dz_2 = dc * g * i * (1 - i), dc * step.c_prev * f * (1 - f)
    dz_3, dz_4 = dh * tanh_c * o * (1 - o), dc * i * (1 - g**2)
    dz = np.concatenate([dz_1, dz_2, dz_3, dz_4])
    gradient["W"] += np.outer(dz, parameters["E"][step.row])
    gradient["U"] += np.outer(dz, step.h_prev)
    gradient["b"] += dz
    gradient["E"][step.row] += parameters["W"].T @ dz
    return parameters["U"].T @ dz, dc * f


def _differentiate_objective(step: Step, advantage: float, entropy_weight: float) -> Array:
    """Return the derivative of advantage · log p_taken + entropy_weight · H(p) by the logits."""
    p = np.exp(step.log_p)
    H = -(p @ step.log_p)
    one_hot = np.zeros_like(p)
    one_hot[step.taken] = 1.0
    derivative: Array = advantage * (one_hot - p) - entropy_weight * p * (step.log_p + H)
    return derivative


def _log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max()
    log_p: Array = shifted - np.log(np.exp(shifted).sum())
    return log_p


def _sigmoid(z: Array) -> Array:
    """Return 1/(1 + e^−z), written so that nothing overflows."""
    return 0.5 + 0.5 * np.tanh(0.5 * z)
