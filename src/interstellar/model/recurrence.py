"""The steps of a path that must wait for each other: O_r where it reads h_{t-1} or O_s.

What does not read h_{t-1} was computed before for all steps: W_1 s, W_4 r, and the halves of
the gates that depend on them. Only the rest is done step by step.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from interstellar.architecture.choices import Activation, Combinator, Source
from interstellar.model.combinators import Gate, activate, activate_sum, combine, weigh
from interstellar.model.recurrent_link import RecurrentLink

if TYPE_CHECKING:
    from interstellar.model.path_cell import PathCell

Operator = Callable[[int, Tensor], Tensor]
"""Takes the step t and what waits for the step before; returns the operator's output."""


def recur(cell: "PathCell", s: Tensor, W_4_r: Tensor, h_0: Tensor) -> Tensor:
    """Return O_r = h_t of every step, (batch, length, dim)."""
    macro, micro = cell.architecture.macro, cell.architecture.micro
    relation_operator = prepare_operator(
        macro.relation,
        micro.relation_activation,
        cell.gate("r"),
        W_4_r,
        link_step_by_step(cell, 3),
        is_first_known=False,
    )
    subject_operator: Operator | None = None
    if macro.relation_source is Source.SUBJECT_OUTPUT:
        subject_operator = prepare_operator(
            macro.subject,
            micro.subject_activation,
            cell.gate("s"),
            cell.link(1, s),
            link_step_by_step(cell, 2),
            is_first_known=True,
        )
    h_t, outputs = h_0, []
    for t in range(W_4_r.shape[1]):
        x_r = h_t if subject_operator is None else subject_operator(t, h_t)
        h_t = relation_operator(t, x_r)
        outputs.append(h_t)
    return torch.stack(outputs, dim=1)


def prepare_operator(
    combinator: Combinator,
    activation: Activation,
    gate: Gate | None,
    known: Tensor,
    link: RecurrentLink | None,
    *,
    is_first_known: bool,
) -> Operator:
    """Return an operator one of whose inputs is known for all steps, (batch, length, dim).

    Args:
        combinator: How the inputs are combined.
        activation: What follows.
        gate: Of a gated combinator.
        known: The input that is known, W_1 s or W_4 r.
        link: The matrix on the input that waits, if it is trained.
        is_first_known: Whether the known input is the first or the second.
    """
    known_steps = known.unbind(1)  # once: the gradients of slices would each be a whole tensor
    gate_steps, gate_link = prepare_gate(gate, known, is_first_known=is_first_known)

    def operate(t: int, x: Tensor) -> Tensor:
        waiting = x if link is None else link.apply(x)
        a, b = (known_steps[t], waiting) if is_first_known else (waiting, known_steps[t])
        if combinator is Combinator.ADD:
            return activate_sum(activation, a, b)
        if gate_link is None:
            return activate(activation, combine(combinator, a, b))
        return activate(activation, weigh(a, b, gate_link.apply(waiting) + gate_steps[t]))

    return operate


def prepare_gate(
    gate: Gate | None, known: Tensor, *, is_first_known: bool
) -> tuple[tuple[Tensor, ...], RecurrentLink | None]:
    """Return the known part of a gate's logit, step by step, and the matrix of the other part."""
    if gate is None:
        return (), None
    known_part: Tensor = gate.W_a(known) if is_first_known else gate.W_b(known)
    return known_part.unbind(1), RecurrentLink(gate.W_b if is_first_known else gate.W_a)


def link_step_by_step(cell: "PathCell", i: int) -> RecurrentLink | None:
    """Return W_i for use once a step, or None where it is the identity."""
    linear = cell.linear(i)
    return None if linear is None else RecurrentLink(linear)
