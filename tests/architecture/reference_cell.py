"""The cell of `architecture.py` written out in NumPy, one line per line of the paper."""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from interstellar.architecture.architecture import (
    ALL_WEIGHTS,
    Activation,
    Architecture,
    Combinator,
    Source,
)

Array: TypeAlias = npt.NDArray[np.float64]

BIASED = (2, 4, 6)


@dataclass(frozen=True)
class Gate:
    W_a: Array
    W_b: Array
    bias: Array


@dataclass(frozen=True)
class Parameters:
    """Parameters for every link and every gate; a cell uses those it has."""

    W: dict[int, Array]
    b: dict[int, Array]
    gate_s: Gate
    gate_r: Gate
    gate_v: Gate


def draw_parameters(rng: np.random.Generator, dim: int) -> Parameters:
    W = {i: rng.normal(size=(dim, dim)) / np.sqrt(dim) for i in sorted(ALL_WEIGHTS)}
    b = {i: rng.normal(size=dim) for i in BIASED}
    return Parameters(W, b, draw_gate(rng, dim), draw_gate(rng, dim), draw_gate(rng, dim))


def draw_gate(rng: np.random.Generator, dim: int) -> Gate:
    return Gate(rng.normal(size=(dim, dim)), rng.normal(size=(dim, dim)), rng.normal(size=dim))


def evaluate(architecture: Architecture, p: Parameters, s: Array, r: Array) -> Array:
    """Return v_1 … v_L, shape (length, dim), for the path s_1, r_1, …, s_L, r_L."""
    macro, micro = architecture.macro, architecture.micro

    def W(i: int, x: Array) -> Array:  # noqa: N802 - as the paper writes it
        if i not in micro.trained:
            return x
        return p.W[i] @ x + p.b[i] if i in BIASED else p.W[i] @ x

    outputs = []
    h = s[0]
    for s_t, r_t in zip(s, r, strict=True):
        O_s = combine(macro.subject, p.gate_s, W(1, s_t), W(2, h))
        O_s = activate(micro.subject_activation, O_s)
        x_r = choose(macro.relation_source, s_t, h, O_s)
        O_r = combine(macro.relation, p.gate_r, W(3, x_r), W(4, r_t))
        O_r = activate(micro.relation_activation, O_r)
        x_v = choose(macro.output_source, s_t, h, O_s)
        O_v = combine(macro.output, p.gate_v, W(5, x_v), W(6, O_r))
        outputs.append(O_v)
        h = O_r
    return np.array(outputs)


def combine(combinator: Combinator, gate: Gate, a: Array, b: Array) -> Array:
    match combinator:
        case Combinator.ADD:
            return a + b
        case Combinator.MULTIPLY:
            return a * b
        case Combinator.HERMITIAN:
            return from_complex(as_complex(a) * as_complex(b))
        case Combinator.GATED:
            g = sigmoid(gate.W_a @ a + gate.W_b @ b + gate.bias)
            return (1 - g) * a + g * b
        case _:
            assert_never(combinator)


def activate(activation: Activation, x: Array) -> Array:
    match activation:
        case Activation.IDENTITY:
            return x
        case Activation.TANH:
            return np.tanh(x)
        case Activation.SIGMOID:
            return sigmoid(x)
        case _:
            assert_never(activation)


def choose(source: Source, s_t: Array, h: Array, O_s: Array) -> Array:
    match source:
        case Source.SUBJECT:
            return s_t
        case Source.HIDDEN:
            return h
        case Source.SUBJECT_OUTPUT:
            return O_s
        case Source.ZERO:
            return np.zeros_like(s_t)
        case _:
            assert_never(source)


def sigmoid(x: Array) -> Array:
    return (np.tanh(x / 2) + 1) / 2


def as_complex(x: Array) -> npt.NDArray[np.complex128]:
    real, imaginary = np.split(x, 2)
    return real + 1j * imaginary


def from_complex(x: npt.NDArray[np.complex128]) -> Array:
    return np.concatenate([x.real, x.imag])
