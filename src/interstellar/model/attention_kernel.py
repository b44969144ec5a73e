"""Attention of edges as Triton kernels; what is between nodes and weights is never kept.

Forward, a program handles an edge and some queries; backward, a node and the edges that leave it,
as in `aggregation_back_kernel.py`.
"""

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from interstellar.model.message_kernel import place_of, write_node, write_run
from interstellar.model.run_sum_kernel import put_hubs, sum_runs

if TYPE_CHECKING:
    from interstellar.model.propagation_graph import PropagationGraph

ROWS = 64
"""Queries that a program handles."""


def attend_fused(
    at_node: Tensor, at_relation: Tensor, w: Tensor, bias: Tensor, graph: "PropagationGraph"
) -> Tensor:
    """Do what `edge_attention.attend` says."""
    weights: Tensor = _Attend.apply(  # type: ignore[no-untyped-call]
        graph, at_node, at_relation, w, bias
    )
    return weights


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: "PropagationGraph", *tensors: Tensor) -> Tensor:
        at_node, at_relation, w, bias = (x.contiguous() for x in tensors)
        batch = at_node.shape[1]
        alpha = torch.empty(graph.n_edges, batch, dtype=torch.float32, device=at_node.device)
        flags = flags_of(at_node, at_relation)
        if alpha.numel():
            _, sources, relations = graph.incoming
            _attend[(graph.n_edges, triton.cdiv(batch, flags["ROWS"]))](
                *(at_node, at_relation, w, bias, sources, relations, alpha),
                *(batch, at_node.shape[2]),
                **flags,
                num_warps=2,
            )
        ctx.save_for_backward(at_node, at_relation, w, alpha)
        ctx.graph = graph
        return alpha

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        at_node, at_relation, w, alpha = ctx.saved_tensors
        _, batch, dim = at_node.shape
        out, flags = ctx.graph.outgoing, flags_of(at_node, at_relation)
        n_blocks = triton.cdiv(batch, flags["ROWS"])
        slope = gradient * alpha * (1 - alpha)
        n_programs = len(out.segments.nodes)
        of_node, of_w = torch.zeros_like(at_node), slope.new_zeros(n_programs, n_blocks, dim)
        of_slots = slope.new_empty(out.segments.n_slots, batch, dim)
        of_runs = slope.new_empty(out.n_runs, n_blocks if flags["IS_SHARED"] else batch, dim)
        if alpha.numel():
            _attend_back[(n_programs, n_blocks)](
                *(at_node, at_relation, w, slope, *out.segments.tables, out.edges),
                *(out.relations, out.run_ends, of_node, of_slots, of_runs, of_w, batch, dim),
                **flags,
                num_warps=2,
            )
        put_hubs(of_node, of_slots, out.segments)
        of_relation = sum_runs(of_runs, out).sum_to_size(at_relation.shape)
        return None, of_node, of_relation, of_w.sum(dim=(0, 1)), slope.sum().view(1)


def flags_of(at_node: Tensor, at_relation: Tensor) -> dict[str, Any]:
    """Return what the kernels are compiled for."""
    _, batch, dim = at_node.shape
    return {
        "IS_SHARED": at_relation.shape[1] < batch,
        "ROWS": min(ROWS, triton.next_power_of_2(batch)),
        "COLUMNS": triton.next_power_of_2(dim),
    }


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    at_node,
    at_relation,
    w,
    bias,
    sources,
    relations,
    alpha,
    batch,
    dim,
    IS_SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    edge = tl.program_id(0)
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    mask = (rows < batch) & (columns < dim)
    source, relation = tl.load(sources + edge), tl.load(relations + edge)
    at = place_of(source, rows, columns, batch, dim, False)
    inner = tl.load(at_node + at, mask=mask, other=0.0)
    at = place_of(relation, rows, columns, batch, dim, IS_SHARED)
    inner += tl.load(at_relation + at, mask=mask, other=0.0)
    inner = tl.maximum(inner, 0.0) * tl.load(w + columns, mask=columns < dim, other=0.0)
    logit = tl.sum(inner, axis=1)[:, None] + tl.load(bias)
    tl.store(alpha + edge.to(tl.int64) * batch + rows, tl.sigmoid(logit), mask=rows < batch)


@triton.jit  # type: ignore[untyped-decorator]
def _attend_back(  # type: ignore[no-untyped-def]
    at_node,
    at_relation,
    w,
    slope,
    segment_nodes,
    firsts,
    ends,
    slots,
    edges,
    relations,
    run_ends,
    of_node,
    of_slots,
    of_runs,
    of_w,
    batch,
    dim,
    IS_SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    node, slot = tl.load(segment_nodes + tl.program_id(0)), tl.load(slots + tl.program_id(0))
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    mask = (rows < batch) & (columns < dim)
    at = place_of(node, rows, columns, batch, dim, False)
    x = tl.load(at_node + at, mask=mask, other=0.0)
    factor = tl.load(w + columns, mask=columns < dim, other=0.0)
    of_x = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    of_y, of_factor = of_x, of_x
    for place in range(tl.load(firsts + tl.program_id(0)), tl.load(ends + tl.program_id(0))):
        edge, relation = tl.load(edges + place), tl.load(relations + place)
        at_y = place_of(relation, rows, columns, batch, dim, IS_SHARED)
        inner = x + tl.load(at_relation + at_y, mask=mask, other=0.0)
        to = slope + edge.to(tl.int64) * batch + rows
        d = tl.load(to, mask=rows < batch, other=0.0)
        of_factor += tl.where(mask, d * tl.maximum(inner, 0.0), 0.0)
        d = tl.where(inner > 0, d * factor, 0.0)
        of_x, of_y = of_x + d, of_y + d
        run = tl.load(run_ends + place)
        if run >= 0:
            write_run(of_runs, run, of_y, rows, columns, batch, dim, IS_SHARED)
            of_y = tl.zeros_like(of_y)
    write_node(of_node, of_slots, of_x, at, slot, rows, columns, batch, dim)
    to = of_w + (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * dim + columns
    tl.store(to, tl.sum(of_factor, axis=0)[None, :], mask=columns < dim)
