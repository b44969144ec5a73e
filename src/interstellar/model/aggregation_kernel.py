"""Messages and their aggregation as one Triton kernel, forward.

What is computed is said in `aggregation.py`. A program handles one node and some queries: it goes
through the edges that reach the node and keeps the statistics in registers. Maximum and minimum
are kept with the number of the edge they came from. Sums are in float32 whatever the states are.
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
    flags_of,
    inputs_of,
    instead,
    load_two,
    place_of,
)

if TYPE_CHECKING:
    from interstellar.model.messages import Boundary, Messages
    from interstellar.model.propagation_graph import Edges

MOST_PACKED = 2**15 - 1
"""With fewer edges a node, numbers of two of them are kept in one of 32 bits."""

WARPS, UNROLL = 4, 4
"""Warps of a program, and edges whose vectors are loaded at once."""


def collect_fused(
    messages: "Messages", edges: "Edges", boundary: "Boundary", aggregation: Aggregation
) -> tuple[Tensor, Tensor]:
    """Return the statistics, and which edge of its node each extreme came from (-1: boundary).

    The latter are (n_entities, batch, 0 to 2, dim): of PNA those of maximum and minimum are two
    halves of one number where they fit, so that all tiles of a program lie alike.
    """
    graph, like = edges.graph, boundary.vectors
    batch, dim, segments = boundary.n_columns, like.shape[1], graph.segments
    is_packed = graph.most_incoming < MOST_PACKED
    n_statistics, n_places = {"pna": (4, 2 - is_packed), "max": (1, 1)}.get(aggregation, (1, 0))
    statistics = like.new_empty(graph.n_entities, batch, n_statistics, dim)
    shape = (graph.n_entities, batch, n_places, dim)
    places = torch.empty(shape, dtype=torch.int32, device=like.device)
    sums = like.new_empty(segments.n_slots, 4, batch, dim, dtype=torch.float32)
    numbers = like.new_empty(segments.n_slots, 2, batch, dim, dtype=torch.int32)
    counts = like.new_empty(segments.n_slots, dtype=torch.float32)
    flags = flags_of(messages, edges, batch, dim)
    is_one = boundary.is_one_query
    at = boundary.numbers(graph.n_entities) if is_one else boundary.nodes.contiguous()
    begun = (at, like.contiguous())
    kept_and_written = (sums, numbers, counts, statistics, places, batch, dim)
    last = {"AGGREGATION": str(aggregation), "IS_PACKED": is_packed, "IS_ONE": is_one}
    last["num_warps"] = WARPS
    n_blocks = triton.cdiv(batch, flags["ROWS"])
    if statistics.numel():
        _collect[(len(segments.nodes), n_blocks)](
            *(*inputs_of(messages), *begun, *segments.tables, *graph.incoming),
            *(instead(edges.kept_bytes, like), *kept_and_written),
            **flags,
            UNROLL=UNROLL,
            **last,
        )
    if sums.numel():
        tile = {name: flags[name] for name in ("ROWS", "COLUMNS")}
        _merge[(len(segments.hubs), n_blocks)](
            *(*begun, segments.hubs, segments.hub_slots, *kept_and_written), **tile, **last
        )
    return statistics, places


@triton.jit  # type: ignore[untyped-decorator]
def _message(  # type: ignore[no-untyped-def]
    a,
    b,
    gate_a,
    gate_b,
    source,
    relation,
    rows,
    columns,
    mask,
    batch,
    dim,
    COMBINATOR: tl.constexpr,
    ACTIVATION: tl.constexpr,
    IS_SHARED: tl.constexpr,
):
    """Return act(a ∘ b) of one edge for a tile of queries and entries."""
    half = dim // 2
    at_node = place_of(source, rows, columns, batch, dim, False)
    at_relation = place_of(relation, rows, columns, batch, dim, IS_SHARED)
    x, y, logit = load_two(a, b, gate_a, gate_b, at_node, at_relation, mask, COMBINATOR)
    x_x, y_x = x, y
    if COMBINATOR == "hermitian":
        exchange = tl.where(columns < half, half, -half)
        x_x, y_x, _ = load_two(
            a, b, gate_a, gate_b, at_node + exchange, at_relation + exchange, mask, COMBINATOR
        )
    return activate(combine(x, y, logit, x_x, y_x, columns < half, COMBINATOR), ACTIVATION)


@triton.jit  # type: ignore[untyped-decorator]
def _write(  # type: ignore[no-untyped-def]
    statistics, places, at, columns, mask, dim, total, squares, n, high, low, high_place, low_place,
    AGGREGATION: tl.constexpr, IS_PACKED: tl.constexpr,
):  # fmt: skip
    """Write what an aggregation wants of sums and extremes; `at` is the row of node and query."""
    if AGGREGATION == "sum":
        tl.store(statistics + at * dim + columns, total, mask=mask)
    elif AGGREGATION == "mean":
        tl.store(statistics + at * dim + columns, total / n, mask=mask)
    elif AGGREGATION == "max":
        tl.store(statistics + at * dim + columns, high, mask=mask)
        tl.store(places + at * dim + columns, high_place, mask=mask)
    else:
        mean = total / n
        deviation = tl.sqrt(tl.maximum(squares / n - mean * mean, 1e-6))
        tl.store(statistics + at * 4 * dim + columns, mean, mask=mask)
        tl.store(statistics + (at * 4 + 1) * dim + columns, high, mask=mask)
        tl.store(statistics + (at * 4 + 2) * dim + columns, low, mask=mask)
        tl.store(statistics + (at * 4 + 3) * dim + columns, deviation, mask=mask)
        if IS_PACKED:
            both = (high_place & 0xFFFF) | (low_place << 16)
            tl.store(places + at * dim + columns, both, mask=mask)
        else:
            tl.store(places + at * 2 * dim + columns, high_place, mask=mask)
            tl.store(places + (at * 2 + 1) * dim + columns, low_place, mask=mask)


@triton.jit  # type: ignore[untyped-decorator]
def _begin(  # type: ignore[no-untyped-def]
    nodes, z, node, rows, columns, mask, batch, dim, IS_ONE: tl.constexpr
):
    """Return the boundary of a node; of one query, `nodes` has which each node has, or -1."""
    if IS_ONE:
        number = tl.load(nodes + node)
        is_here = number >= 0
        at = z + number * dim + columns
    else:
        is_here = tl.load(nodes + rows, mask=rows < batch, other=-1) == node
        at = z + rows * dim + columns
    return tl.load(at, mask=mask & is_here, other=0.0).to(tl.float32)


@triton.jit  # type: ignore[untyped-decorator]
def _keep(  # type: ignore[no-untyped-def]
    sums, numbers, counts, slot, rows, columns, mask, batch, dim,
    total, squares, n, high, low, high_place, low_place,
    AGGREGATION: tl.constexpr,
):  # fmt: skip
    """Write what a segment of a hub's edges amounts to."""
    at, size = slot.to(tl.int64) * batch * dim, batch * dim
    inner = rows * dim + columns
    if AGGREGATION != "max":
        tl.store(sums + at * 4 + inner, total, mask=mask)
    if AGGREGATION == "pna":
        tl.store(sums + at * 4 + size + inner, squares, mask=mask)
        tl.store(sums + at * 4 + 3 * size + inner, low, mask=mask)
        tl.store(numbers + at * 2 + size + inner, low_place, mask=mask)
    if AGGREGATION == "pna" or AGGREGATION == "max":  # noqa: PLR1714 (Triton knows no `in`)
        tl.store(sums + at * 4 + 2 * size + inner, high, mask=mask)
        tl.store(numbers + at * 2 + inner, high_place, mask=mask)
    tl.store(counts + slot, n)


@triton.jit  # type: ignore[untyped-decorator]
def _collect(  # type: ignore[no-untyped-def]
    a,
    b,
    gate_a,
    gate_b,
    attention,
    nodes,
    z,
    segment_nodes,
    firsts,
    ends,
    slots,
    starts,
    sources,
    relations,
    kept,
    sums,
    numbers,
    counts,
    statistics,
    places,
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
    IS_ONE: tl.constexpr,
):
    node = tl.load(segment_nodes + tl.program_id(0))
    slot = tl.load(slots + tl.program_id(0))
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    mask = (rows < batch) & (columns < dim)
    high = _begin(nodes, z, node, rows, columns, mask, batch, dim, IS_ONE)
    total, n = tl.where(slot < 0, high, 0.0), tl.where(slot < 0, 1.0, 0.0)
    squares, low = total * total, high
    high_place = tl.full([ROWS, COLUMNS], -1, dtype=tl.int32)
    low_place = high_place
    origin, end = tl.load(starts + node), tl.load(ends + tl.program_id(0))
    for start in range(tl.load(firsts + tl.program_id(0)), end, UNROLL):
        for i in tl.static_range(UNROLL):
            edge = start + i
            is_there = edge < end
            source = tl.load(sources + edge, mask=is_there, other=0)
            relation = tl.load(relations + edge, mask=is_there, other=0)
            m = _message(
                a, b, gate_a, gate_b, source, relation, rows, columns, mask & is_there,
                batch, dim, COMBINATOR, ACTIVATION, IS_SHARED,
            )  # fmt: skip
            if HAS_ATTENTION:
                weights = attention + edge.to(tl.int64) * batch + rows
                m *= tl.load(weights, mask=(rows < batch) & is_there, other=0.0)
            if HAS_KEPT:
                is_there &= tl.load(kept + edge, mask=is_there, other=0) != 0
            m = tl.where(is_there, m, 0.0)
            n += tl.where(is_there, 1.0, 0.0)
            total, squares = total + m, squares + m * m
            is_higher, is_lower = is_there & (m > high), is_there & (m < low)
            high, low = tl.where(is_higher, m, high), tl.where(is_lower, m, low)
            high_place = tl.where(is_higher, edge - origin, high_place)
            low_place = tl.where(is_lower, edge - origin, low_place)
    if slot < 0:
        at = node.to(tl.int64) * batch + rows
        _write(
            statistics, places, at, columns, mask, dim,
            total, squares, n, high, low, high_place, low_place, AGGREGATION, IS_PACKED,
        )  # fmt: skip
    else:
        _keep(
            sums, numbers, counts, slot, rows, columns, mask, batch, dim,
            total, squares, n, high, low, high_place, low_place, AGGREGATION,
        )  # fmt: skip


@triton.jit  # type: ignore[untyped-decorator]
def _merge(  # type: ignore[no-untyped-def]
    nodes,
    z,
    hubs,
    hub_slots,
    sums,
    numbers,
    counts,
    statistics,
    places,
    batch,
    dim,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    AGGREGATION: tl.constexpr,
    IS_PACKED: tl.constexpr,
    IS_ONE: tl.constexpr,
):
    node = tl.load(hubs + tl.program_id(0))
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    mask = (rows < batch) & (columns < dim)
    total = _begin(nodes, z, node, rows, columns, mask, batch, dim, IS_ONE)
    squares, high, low, n, size = total * total, total, total, 1.0, batch * dim
    high_place = tl.full([ROWS, COLUMNS], -1, dtype=tl.int32)
    low_place = high_place
    first, end = tl.load(hub_slots + tl.program_id(0)), tl.load(hub_slots + tl.program_id(0) + 1)
    at = sums + first.to(tl.int64) * 4 * size + rows * dim + columns
    place = numbers + first.to(tl.int64) * 2 * size + rows * dim + columns
    for slot in range(first, end):
        n += tl.load(counts + slot)
        if AGGREGATION != "max":
            total += tl.load(at, mask=mask, other=0.0)
        if AGGREGATION == "pna":
            squares += tl.load(at + size, mask=mask, other=0.0)
            less = tl.load(at + 3 * size, mask=mask, other=0.0)
            less_place = tl.load(place + size, mask=mask, other=-1)
            low_place = tl.where(less < low, less_place, low_place)
            low = tl.minimum(low, less)
        if AGGREGATION == "pna" or AGGREGATION == "max":  # noqa: PLR1714 (Triton knows no `in`)
            more = tl.load(at + 2 * size, mask=mask, other=0.0)
            more_place = tl.load(place, mask=mask, other=-1)
            high_place = tl.where(more > high, more_place, high_place)
            high = tl.maximum(high, more)
        at += 4 * size
        place += 2 * size
    _write(
        statistics, places, node.to(tl.int64) * batch + rows, columns, mask, dim,
        total, squares, n, high, low, high_place, low_place, AGGREGATION, IS_PACKED,
    )  # fmt: skip
