"""The gradient of messages and their aggregation as Triton kernels.

A program handles one node and some queries: it goes through the edges that leave the node,
computes each message again, and adds up the gradient by the node's vectors in registers. That by
a relation's vectors is written once a run of edges, and added up in chunks of runs, then whole.
Nothing is added up by atomics, so the same input gives the same bits.
"""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from interstellar.architecture.propagation import Aggregation
from interstellar.model.message_kernel import (
    activate,
    combine,
    differentiate,
    flags_of,
    inputs_of,
    instead,
    load_part,
    place_of,
    steepness_of,
    write_node,
    write_run,
)
from interstellar.model.run_sum_kernel import put_hubs, sum_runs
from interstellar.model.slope_kernel import slope_of_boundary, slopes_fused

if TYPE_CHECKING:
    from interstellar.model.messages import Boundary, Messages
    from interstellar.model.propagation_graph import Edges

WARPS, UNROLL = 4, 2
"""Warps of a program, and edges whose vectors are loaded at once."""


def go_back_fused(
    messages: "Messages",
    edges: "Edges",
    boundary: "Boundary",
    aggregation: Aggregation,
    statistics: Tensor,
    gradient: Tensor,
    places: Tensor,
) -> tuple[Tensor | None, ...]:
    """Return the gradient by the boundary's vectors and by each tensor of the messages."""
    gradient = gradient.contiguous()
    slopes = slopes_fused(aggregation, statistics, gradient, edges)
    of_z = slope_of_boundary(boundary, aggregation, slopes, gradient, places)
    return of_z, *distribute_fused(messages, edges, aggregation, slopes, gradient, places)


def distribute_fused(
    messages: "Messages",
    edges: "Edges",
    aggregation: Aggregation,
    slopes: Tensor,
    gradient: Tensor,
    places: Tensor,
) -> list[Tensor | None]:
    """Return the gradient by each tensor of the messages.

    Slopes are what `slopes_fused` returns; of the gradient by the statistics only that by
    extremes is read.
    """
    _, batch, _, dim = gradient.shape
    out, like, flags = edges.graph.outgoing, messages.b, flags_of(messages, edges, batch, dim)
    n_blocks, is_gated = triton.cdiv(batch, flags["ROWS"]), messages.gate_b is not None
    shape = (1 + is_gated, out.n_runs, n_blocks if flags["IS_SHARED"] else batch, dim)
    of_runs = torch.empty(shape, dtype=torch.float32, device=like.device)
    of_slots = of_runs.new_empty(1 + is_gated, out.segments.n_slots, batch, dim)
    a, _, gate_a, _, attention = (
        None if x is None else torch.empty_like(x, memory_format=torch.contiguous_format)
        for x in messages.tensors
    )
    if gradient.numel():
        _distribute[(len(out.segments.nodes), n_blocks)](
            *inputs_of(messages),
            *(slopes, gradient, places, *out.segments.tables, out.edges, out.targets),
            *(out.relations, out.numbers, out.run_ends, instead(edges.kept_bytes, like)),
            *(instead(a, like), instead(gate_a, like), of_slots[0], of_slots[-1]),
            *(of_runs[0], of_runs[-1], instead(attention, like), batch, dim),
            **flags,
            UNROLL=UNROLL,
            AGGREGATION=str(aggregation),
            IS_PACKED=places.shape[2] == 1,
            num_warps=WARPS,
        )
    for of_node, slots in zip((a, gate_a), (of_slots[0], of_slots[-1]), strict=True):
        if of_node is not None:
            put_hubs(of_node, slots, out.segments)
    b, *gate_b = (sum_runs(x, out).sum_to_size(like.shape).to(like.dtype) for x in of_runs)
    return [a, b, gate_a, gate_b[0] if is_gated else None, attention]


@triton.jit  # type: ignore[untyped-decorator]
def _slope(  # type: ignore[no-untyped-def]
    slopes,
    gradient,
    places,
    at,
    columns,
    number,
    m,
    mask,
    dim,
    AGGREGATION: tl.constexpr,
    IS_PACKED: tl.constexpr,
):
    """Return the gradient by a message that reaches the node and query of row `at`."""
    if AGGREGATION == "pna":
        slope = tl.load(slopes + at * 2 * dim + columns, mask=mask, other=0.0)
        slope += 2 * m * tl.load(slopes + (at * 2 + 1) * dim + columns, mask=mask, other=0.0)
        if IS_PACKED:
            both = tl.load(places + at * dim + columns, mask=mask, other=-1)
            is_high, is_low = (both & 0xFFFF) == number, (both >> 16) == number
        else:
            high, low = places + at * 2 * dim + columns, places + (at * 2 + 1) * dim + columns
            is_high = tl.load(high, mask=mask, other=-1) == number
            is_low = tl.load(low, mask=mask, other=-1) == number
        of_high, of_low = gradient + (at * 4 + 1) * dim, gradient + (at * 4 + 2) * dim
        slope += tl.load(of_high + columns, mask=mask & is_high, other=0.0).to(tl.float32)
        slope += tl.load(of_low + columns, mask=mask & is_low, other=0.0).to(tl.float32)
    elif AGGREGATION == "max":
        is_high = tl.load(places + at * dim + columns, mask=mask, other=-1) == number
        slope = tl.load(gradient + at * dim + columns, mask=mask & is_high, other=0.0)
    else:
        slope = tl.load(slopes + at * dim + columns, mask=mask, other=0.0)
    return slope.to(tl.float32)


@triton.jit  # type: ignore[untyped-decorator]
def _load_end(  # type: ignore[no-untyped-def]
    vectors, gates, places, exchange, mask, HAS_VECTOR: tl.constexpr, COMBINATOR: tl.constexpr
):
    """Return a node's or a relation's part of messages, its other half, and that of the gate."""
    x, logit = load_part(vectors, gates, places, mask, HAS_VECTOR, COMBINATOR == "gated")
    x_x, _ = load_part(vectors, gates, places + exchange, mask, COMBINATOR == "hermitian", False)
    return x, x_x, logit


@triton.jit  # type: ignore[untyped-decorator]
def _follow(  # type: ignore[no-untyped-def]
    x,
    x_x,
    y,
    y_x,
    logit,
    alpha,
    slopes,
    gradient,
    places,
    at,
    columns,
    number,
    mask,
    dim,
    COMBINATOR: tl.constexpr,
    ACTIVATION: tl.constexpr,
    AGGREGATION: tl.constexpr,
    IS_PACKED: tl.constexpr,
):
    """Return the gradients of one edge: by a, b, the logit of the gate, and α entry by entry."""
    half = dim // 2
    m = activate(combine(x, y, logit, x_x, y_x, columns < half, COMBINATOR), ACTIVATION)
    d = _slope(
        slopes, gradient, places, at, columns, number, m * alpha, mask, dim,
        AGGREGATION, IS_PACKED,
    )  # fmt: skip
    of_alpha = d * m
    d *= alpha * steepness_of(m, ACTIVATION)
    d_x = d
    if COMBINATOR == "hermitian":
        exchanged = columns + tl.where(columns < half, half, -half)
        m_x = activate(combine(x_x, y_x, logit, x, y, exchanged < half, COMBINATOR), ACTIVATION)
        d_x = _slope(
            slopes, gradient, places, at, exchanged, number, m_x * alpha, mask, dim,
            AGGREGATION, IS_PACKED,
        )  # fmt: skip
        d_x *= alpha * steepness_of(m_x, ACTIVATION)
    of_x, of_y, of_logit = differentiate(x, y, logit, d, x_x, y_x, d_x, columns < half, COMBINATOR)
    return of_x, of_y, of_logit, of_alpha


@triton.jit  # type: ignore[untyped-decorator]
def _distribute(  # type: ignore[no-untyped-def]
    a,
    b,
    gate_a,
    gate_b,
    attention,
    slopes,
    gradient,
    places,
    segment_nodes,
    firsts,
    ends,
    slots,
    edges,
    targets,
    relations,
    numbers,
    run_ends,
    kept,
    of_a,
    of_gate_a,
    a_slots,
    gate_a_slots,
    b_runs,
    gate_b_runs,
    of_attention,
    batch,
    dim,
    COMBINATOR: tl.constexpr,
    ACTIVATION: tl.constexpr,
    HAS_ATTENTION: tl.constexpr,
    HAS_KEPT: tl.constexpr,
    IS_SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    UNROLL: tl.constexpr,
    AGGREGATION: tl.constexpr,
    IS_PACKED: tl.constexpr,
):
    IS_GATED: tl.constexpr = COMBINATOR == "gated"
    HAS_A: tl.constexpr = COMBINATOR != "None"
    node, slot = tl.load(segment_nodes + tl.program_id(0)), tl.load(slots + tl.program_id(0))
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    mask = (rows < batch) & (columns < dim)
    exchange = tl.where(columns < dim // 2, dim // 2, -(dim // 2))
    at_node = place_of(node, rows, columns, batch, dim, False)
    x, x_x, x_logit = _load_end(a, gate_a, at_node, exchange, mask, HAS_A, COMBINATOR)
    of_x = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    of_y, of_x_logit, of_y_logit = of_x, of_x, of_x
    end = tl.load(ends + tl.program_id(0))
    for start in range(tl.load(firsts + tl.program_id(0)), end, UNROLL):
        for i in tl.static_range(UNROLL):
            is_there = start + i < end
            edge = tl.load(edges + start + i, mask=is_there, other=0)
            at = tl.load(targets + start + i, mask=is_there, other=0).to(tl.int64) * batch + rows
            relation = tl.load(relations + start + i, mask=is_there, other=0)
            number = tl.load(numbers + start + i, mask=is_there, other=-2)
            wanted, alpha, weight = mask & is_there, 1.0, edge.to(tl.int64) * batch + rows
            at_relation = place_of(relation, rows, columns, batch, dim, IS_SHARED)
            y, y_x, y_logit = _load_end(b, gate_b, at_relation, exchange, wanted, True, COMBINATOR)
            if HAS_ATTENTION:
                alpha = tl.load(attention + weight, mask=(rows < batch) & is_there, other=0.0)
            if HAS_KEPT:
                wanted &= tl.load(kept + edge, mask=is_there, other=0) != 0
            more_x, more_y, more_logit, of_alpha = _follow(
                x, x_x, y, y_x, x_logit + y_logit, alpha, slopes, gradient, places, at, columns,
                number, wanted, dim, COMBINATOR, ACTIVATION, AGGREGATION, IS_PACKED,
            )  # fmt: skip
            if HAS_ATTENTION:
                of_alpha = tl.sum(of_alpha, axis=1)[:, None]
                tl.store(of_attention + weight, of_alpha, mask=(rows < batch) & is_there)
            of_x, of_y, of_x_logit = of_x + more_x, of_y + more_y, of_x_logit + more_logit
            of_y_logit += more_logit
            run = tl.load(run_ends + start + i, mask=is_there, other=-1)
            if run >= 0:
                write_run(b_runs, run, of_y, rows, columns, batch, dim, IS_SHARED)
                if IS_GATED:
                    write_run(gate_b_runs, run, of_y_logit, rows, columns, batch, dim, IS_SHARED)
                of_y, of_y_logit = tl.zeros_like(of_y), tl.zeros_like(of_y)
    if HAS_A:
        write_node(of_a, a_slots, of_x, at_node, slot, rows, columns, batch, dim)
    if IS_GATED:
        write_node(of_gate_a, gate_a_slots, of_x_logit, at_node, slot, rows, columns, batch, dim)
