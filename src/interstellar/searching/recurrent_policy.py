"""The policy of Zoph & Le 2017: an LSTM that takes the choices in turn, in plain NumPy.

A step reads what was taken at the step before and gives the probabilities of its choice:

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
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from interstellar.architecture.coordinates import Point

Array: TypeAlias = NDArray[np.float64]
Parameters: TypeAlias = dict[str, Array]
Taker: TypeAlias = Callable[[int, Array], int]
"""Says which option of a choice is taken, given the choice's number and its probabilities."""

INITIAL_RANGE = 0.08
"""All parameters start uniform in ±0.08 (Zoph & Le 2017): the first draws are near uniform."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return {
            name: rng.uniform(-INITIAL_RANGE, INITIAL_RANGE, shape)
            for name, shape in shapes.items()
        }

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

    def unroll(self, parameters: Parameters, take: Taker) -> list[Step]:
        """Return the steps, one a choice, with what `take` took."""
        steps: list[Step] = []
        h, c, row = np.zeros(self.dim), np.zeros(self.dim), 0
        for i, part in enumerate(self._parts()):
            gates, c_next, h_next = _go_on(parameters, parameters["E"][row], h, c)
            log_p = _log_softmax(parameters["V"][part] @ h_next + parameters["a"][part])
            taken = take(i, np.exp(log_p))
            steps.append(
                Step(
                    row=row,
                    h_prev=h,
                    c_prev=c,
                    gates=gates,
                    c=c_next,
                    h=h_next,
                    log_p=log_p,
                    taken=taken,
                )
            )
            h, c, row = h_next, c_next, 1 + part.start + taken
        return steps

    def _parts(self) -> list[slice]:
        """Return, of each choice, its options' rows in V and a; in E they stand one row lower."""
        ends = accumulate(self.sizes)
        return [slice(end - size, end) for size, end in zip(self.sizes, ends, strict=True)]


def _go_on(
    parameters: Parameters, x: Array, h_prev: Array, c_prev: Array
) -> tuple[tuple[Array, Array, Array, Array], Array, Array]:
    """Return the gates, c and h of one step."""
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
    dz = np.concatenate(
        [
            dc * g * i * (1 - i),
            dc * step.c_prev * f * (1 - f),
            dh * tanh_c * o * (1 - o),
            dc * i * (1 - g**2),
        ]
    )
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
