"""The maps of parameters that the proofs in `canonical_form.py` give, rule by rule.

`forward[rule](old, p)` gives parameters for `rule(old)` from parameters p of `old`;
`backward[rule](old, q)` gives parameters for `old` from parameters q of `rule(old)`.
Rules that are not listed have nothing to move.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from interstellar.architecture import canonical_form as rules
from interstellar.architecture.architecture import Activation, Architecture, Combinator, Source

from .reference_cell import Array, Gate, Parameters, sigmoid

Transport = Callable[[Architecture, Parameters], Parameters]


def change(p: Parameters, W: dict[int, Array], b: dict[int, Array]) -> Parameters:
    return replace(p, W={**p.W, **W}, b={**p.b, **b})


def matrix(old: Architecture, p: Parameters, i: int) -> Array:
    """W_i as the cell sees it: the identity where it is not trained."""
    return p.W[i] if i in old.micro.trained else np.eye(len(p.W[i]))


def bias(old: Architecture, p: Parameters, i: int) -> Array:
    return p.b[i] if i in old.micro.trained else np.zeros(len(p.W[i]))


def half(p: Parameters) -> Array:
    return np.full(len(p.W[1]), 0.5)


def constant_from_activation_forward(old: Architecture, p: Parameters) -> Parameters:
    return change(p, {}, {6: p.W[6] @ half(p) + p.b[6]})


def constant_from_activation_backward(old: Architecture, q: Parameters) -> Parameters:
    return change(q, {}, {6: q.b[6] - q.W[6] @ half(q)})


def constant_from_gate_forward(old: Architecture, p: Parameters) -> Parameters:
    g = sigmoid(p.gate_v.W_b @ p.b[6] + p.gate_v.bias)
    return change(p, {}, {6: g * p.b[6]})


def constant_from_gate_backward(old: Architecture, q: Parameters) -> Parameters:
    zero = np.zeros_like(q.W[6])
    open_gate = Gate(zero, zero, np.zeros(len(zero)))
    return replace(change(q, {}, {6: 2 * q.b[6]}), gate_v=open_gate)


def is_written_with_half(old: Architecture) -> bool:
    is_half = old.micro.relation_activation is Activation.SIGMOID
    return is_half and old.macro.is_hidden_read


def multiplication_by(combinator: Combinator, k: Array) -> Array:
    """The matrix K with K x = k ⊙ x or k ⊗ x."""
    if combinator is Combinator.MULTIPLY:
        return np.diag(k)
    real, imaginary = (np.diag(part) for part in np.split(k, 2))
    return np.block([[real, -imaginary], [imaginary, real]])


def unit_of(combinator: Combinator, dim: int) -> Array:
    ones = np.ones(dim)
    return (
        ones if combinator is Combinator.MULTIPLY else np.r_[ones[: dim // 2], 0 * ones[: dim // 2]]
    )


def constant_factor_forward(old: Architecture, p: Parameters) -> Parameters:
    is_half = old.micro.relation_activation is Activation.SIGMOID
    O_r = half(p) if is_half else 0 * half(p)
    K = multiplication_by(old.macro.output, matrix(old, p, 6) @ O_r + bias(old, p, 6))
    return change(p, {5: (2 if is_written_with_half(old) else 1) * K @ p.W[5]}, {})


def constant_factor_backward(old: Architecture, q: Parameters) -> Parameters:
    W_5 = q.W[5] / (2 if is_written_with_half(old) else 1)
    if 6 in old.micro.trained:
        return change(q, {5: W_5, 6: 0 * q.W[6]}, {6: unit_of(old.macro.output, len(W_5))})
    K = multiplication_by(old.macro.output, half(q))
    return change(q, {5: np.linalg.inv(K) @ W_5}, {})


def output_matrix_forward(old: Architecture, p: Parameters) -> Parameters:
    W_6, W_4, b_4 = p.W[6], matrix(old, p, 4), bias(old, p, 4)
    return change(p, {3: W_6 @ p.W[3], 4: W_6 @ W_4}, {4: W_6 @ b_4 + p.b[6]})


def output_matrix_backward(old: Architecture, q: Parameters) -> Parameters:
    if 4 in old.micro.trained:
        return change(q, {6: np.eye(len(q.W[6]))}, {6: 0 * q.b[6]})
    return change(q, {6: q.W[4]}, {6: q.b[4]})


def two_sums_forward(old: Architecture, p: Parameters) -> Parameters:
    W_3, W_4, W_5, W_6 = (matrix(old, p, i) for i in (3, 4, 5, 6))
    b_4, b_6 = bias(old, p, 4), bias(old, p, 6)
    return change(p, {3: W_5 + W_6 @ W_3, 4: W_6 @ W_4}, {4: W_6 @ b_4 + b_6})


def two_sums_backward(old: Architecture, q: Parameters) -> Parameters:
    eye = np.eye(len(q.W[3]))
    W_3 = matrix(old, q, 3)
    if 6 in old.micro.trained:
        W = {4: eye, 5: q.W[3] - q.W[4] @ W_3, 6: q.W[4]}
        return change(q, W, {4: 0 * q.b[4], 6: q.b[4]})
    if 5 in old.micro.trained:
        return change(q, {5: q.W[3] - W_3}, {})
    return change(q, {3: q.W[3] - eye}, {})


def output_into_relation_forward(old: Architecture, p: Parameters) -> Parameters:
    return replace(change(p, {3: p.W[5]}, {}), gate_r=p.gate_v)


def output_into_relation_backward(old: Architecture, q: Parameters) -> Parameters:
    return replace(change(q, {5: q.W[3]}, {}), gate_v=q.gate_r)


def reader_of_subject(old: Architecture) -> int:
    return 3 if old.macro.relation_source is Source.SUBJECT_OUTPUT else 5


def link_of_subject_forward(old: Architecture, p: Parameters) -> Parameters:
    M = p.W[reader_of_subject(old)]
    return change(p, {1: M @ p.W[1], 2: M @ p.W[2]}, {2: M @ p.b[2]})


def link_of_subject_backward(old: Architecture, q: Parameters) -> Parameters:
    return change(q, {reader_of_subject(old): np.eye(len(q.W[1]))}, {})


Rule = Callable[[Architecture], Architecture]

forward: dict[Rule, Transport] = {
    rules.free_constant_from_activation: constant_from_activation_forward,
    rules.free_constant_from_gate: constant_from_gate_forward,
    rules.absorb_constant_factor: constant_factor_forward,
    rules.absorb_output_matrix: output_matrix_forward,
    rules.merge_two_sums: two_sums_forward,
    rules.move_output_into_relation: output_into_relation_forward,
    rules.absorb_link_of_subject: link_of_subject_forward,
}
backward: dict[Rule, Transport] = {
    rules.free_constant_from_activation: constant_from_activation_backward,
    rules.free_constant_from_gate: constant_from_gate_backward,
    rules.absorb_constant_factor: constant_factor_backward,
    rules.absorb_output_matrix: output_matrix_backward,
    rules.merge_two_sums: two_sums_backward,
    rules.move_output_into_relation: output_into_relation_backward,
    rules.absorb_link_of_subject: link_of_subject_backward,
}
