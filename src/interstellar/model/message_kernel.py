"""What the kernels of messages share: how a message is computed, and what they are told.

A program handles a tile of queries (rows) and entries (columns). What ends in `_x` stands at the
same place in the other half of a complex vector, as ⊗ needs it.
"""

from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from interstellar.model.messages import Messages
    from interstellar.model.propagation_graph import Edges

TILE = 1024
"""Numbers of a node that a program handles."""


def inputs_of(messages: "Messages") -> tuple[Tensor, ...]:
    """Return the five tensors of messages; b stands in for those that are not there."""
    return tuple(instead(x, messages.b).contiguous() for x in messages.tensors)


def instead(x: Tensor | None, other: Tensor) -> Tensor:
    """Return another tensor where there is none; the kernel does not read it."""
    return other if x is None else x


def flags_of(messages: "Messages", edges: "Edges", batch: int, dim: int) -> dict[str, Any]:
    """Return what a kernel is compiled for."""
    columns = triton.next_power_of_2(dim)
    return {
        "COMBINATOR": str(messages.combinator),
        "ACTIVATION": str(messages.activation),
        "HAS_ATTENTION": messages.attention is not None,
        "HAS_KEPT": edges.kept is not None,
        "IS_SHARED": messages.b.shape[1] < batch,
        "ROWS": max(1, min(TILE // columns, triton.next_power_of_2(batch))),
        "COLUMNS": columns,
    }


@triton.jit  # type: ignore[untyped-decorator]
def activate(x, ACTIVATION: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return act(x)."""
    if ACTIVATION == "tanh":
        x = 2 * tl.sigmoid(2 * x) - 1
    elif ACTIVATION == "sigmoid":
        x = tl.sigmoid(x)
    return x


@triton.jit  # type: ignore[untyped-decorator]
def combine(a, b, logit, a_x, b_x, is_real, COMBINATOR: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return a ∘ b, or b where nothing is combined."""
    if COMBINATOR == "add":
        b = a + b
    elif COMBINATOR == "multiply":
        b = a * b
    elif COMBINATOR == "hermitian":
        b = tl.where(is_real, a * b - a_x * b_x, a * b_x + a_x * b)
    elif COMBINATOR == "gated":
        b = a + tl.sigmoid(logit) * (b - a)
    return b


@triton.jit  # type: ignore[untyped-decorator]
def load_part(vectors, gates, places, mask, HAS_VECTOR: tl.constexpr, HAS_GATE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return a node's or a relation's part of messages and of their gates' logits."""
    x = tl.zeros(mask.shape, dtype=tl.float32)
    logit = x
    if HAS_VECTOR:
        x = tl.load(vectors + places, mask=mask, other=0.0).to(tl.float32)
    if HAS_GATE:
        logit = tl.load(gates + places, mask=mask, other=0.0).to(tl.float32)
    return x, logit


@triton.jit  # type: ignore[untyped-decorator]
def load_two(  # type: ignore[no-untyped-def]
    a,
    b,
    gate_a,
    gate_b,
    at_node,
    at_relation,
    mask,
    COMBINATOR: tl.constexpr,
):
    """Return a, b and the logit of the gate at places of nodes and of relations."""
    IS_GATED: tl.constexpr = COMBINATOR == "gated"
    x, logit = load_part(a, gate_a, at_node, mask, COMBINATOR != "None", IS_GATED)
    y, more = load_part(b, gate_b, at_relation, mask, True, IS_GATED)
    return x, y, logit + more


@triton.jit  # type: ignore[untyped-decorator]
def place_of(node, rows, columns, batch, dim, IS_SHARED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return where the numbers of a node or relation are; where it is shared, for all rows."""
    places = (node.to(tl.int64) * batch + rows) * dim + columns
    if IS_SHARED:
        places = node.to(tl.int64) * dim + columns + 0 * rows
    return places


@triton.jit  # type: ignore[untyped-decorator]
def steepness_of(m, ACTIVATION: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return act′ where act is m."""
    steepness = tl.full(m.shape, 1.0, dtype=tl.float32)
    if ACTIVATION == "tanh":
        steepness = 1 - m * m
    elif ACTIVATION == "sigmoid":
        steepness = m * (1 - m)
    return steepness


@triton.jit  # type: ignore[untyped-decorator]
def differentiate(a, b, logit, d, a_x, b_x, d_x, is_real, COMBINATOR: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the gradients by a, b and the logit of the gate, d being that by a ∘ b."""
    of_a, of_b, of_logit = d, d, d
    if COMBINATOR == "multiply":
        of_a, of_b = d * b, d * a
    elif COMBINATOR == "hermitian":
        of_a = tl.where(is_real, d * b + d_x * b_x, d * b_x - d_x * b)
        of_b = tl.where(is_real, d * a + d_x * a_x, d * a_x - d_x * a)
    elif COMBINATOR == "gated":
        g = tl.sigmoid(logit)
        of_a, of_b, of_logit = d * (1 - g), d * g, d * (b - a) * g * (1 - g)
    return of_a, of_b, of_logit


@triton.jit  # type: ignore[untyped-decorator]
def write_run(  # type: ignore[no-untyped-def]
    runs, run, sums, rows, columns, batch, dim, IS_SHARED: tl.constexpr
):
    """Write what a run of edges adds to the gradient by its relation."""
    if IS_SHARED:
        at = (run.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)) * dim + columns
        tl.store(runs + at, tl.sum(sums, axis=0)[None, :], mask=columns < dim)
    else:
        at = (run.to(tl.int64) * batch + rows) * dim + columns
        tl.store(runs + at, sums, mask=(rows < batch) & (columns < dim))


@triton.jit
def write_node(to, to_slots, sums, at_node, slot, rows, columns, batch, dim):  # type: ignore[no-untyped-def]
    """Write a node's gradient, or into a slot what one segment of a hub adds to it."""
    mask = (rows < batch) & (columns < dim)
    if slot < 0:
        tl.store(to + at_node, sums, mask=mask)
    else:
        at = (slot.to(tl.int64) * batch + rows) * dim + columns
        tl.store(to_slots + at, sums, mask=mask)
