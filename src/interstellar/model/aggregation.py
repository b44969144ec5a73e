"""Messages along edges and what becomes of them at the nodes they reach.

On the edge e from node u with relation r, for the query b,

    m_e = α_e act(a[u] ∘ b[r])

where ∘ is a combinator (of a gated one the logit of the gate is ga[u] + gb[r]). Each node takes
its incoming messages together with its boundary, which is the query's vector at the query's
subject and 0 elsewhere. Of n messages, boundary included, the statistics are Σ m, Σ m / n, max m,
min m and √(Σ m² / n − (Σ m / n)²). Where several messages are the largest, the boundary has the
gradient if it is one of them; else they share it (on CUDA the first has it).

The plain path computes nodes of equal degree together, so that every reduction is over a whole
dimension; the messages are computed anew for the gradient and never kept.
"""

from dataclasses import dataclass
from typing import Any, assert_never

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from interstellar.architecture.propagation import Aggregation
from interstellar.model.messages import (
    Boundary,
    Messages,
    combine_parts,
    differentiate,
    gather,
    message,
)
from interstellar.model.propagation_graph import DegreeBlock, Edges

MIN_VARIANCE = 1e-6
"""A smaller variance counts as this one, where the deviation has no gradient."""

BLOCK_NUMBERS = 2**17
"""Numbers of messages that the plain path computes at once: they stay in the cache."""


def n_statistics(aggregation: Aggregation) -> int:
    """Return how many vectors an aggregation makes of the messages that reach a node."""
    return 4 if aggregation is Aggregation.PNA else 1


def aggregate(
    messages: Messages, edges: Edges, boundary: Boundary, aggregation: Aggregation
) -> Tensor:
    """Return the statistics of each node's messages, (n_entities, batch, n_statistics, dim).

    Of PNA they are mean, max, min and deviation.
    """
    statistics: Tensor = _Aggregate.apply(  # type: ignore[no-untyped-call]
        messages, edges, boundary.nodes, aggregation, boundary.vectors, *messages.tensors
    )
    return statistics


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        form: Messages,
        edges: Edges,
        nodes: Tensor,
        aggregation: Aggregation,
        *tensors: Tensor | None,
    ) -> Tensor:
        z, *parts = tensors
        assert z is not None
        messages, boundary = _detached(form, parts), Boundary(nodes, z.detach())
        places = None
        if has_kernels(z.device):
            from interstellar.model.aggregation_kernel import (  # noqa: PLC0415 (triton)
                collect_fused,
            )

            statistics, places = collect_fused(messages, edges, boundary, aggregation)
        else:
            statistics = collect(messages, edges, boundary, aggregation)
        ctx.save_for_backward(statistics, places, nodes, *tensors)
        ctx.form, ctx.edges, ctx.aggregation = form, edges, aggregation
        return statistics

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        statistics, places, nodes, z, *parts = ctx.saved_tensors
        messages, boundary = _detached(ctx.form, parts), Boundary(nodes, z.detach())
        if places is not None:
            from interstellar.model.aggregation_back_kernel import (  # noqa: PLC0415 (triton)
                go_back_fused,
            )

            of_parts = go_back_fused(
                messages, ctx.edges, boundary, ctx.aggregation, statistics, gradient, places
            )
            return None, None, None, None, *of_parts
        slopes = slopes_of(ctx.aggregation, statistics, gradient, ctx.edges.degrees + 1)
        of_z = slopes.cut_boundary(boundary)
        return None, None, None, None, of_z, *distribute(messages, ctx.edges, slopes)


def has_kernels(device: torch.device) -> bool:
    """Return whether messages are computed by Triton kernels there."""
    return device.type == "cuda"


def _detached(form: Messages, parts: list[Tensor | None]) -> Messages:
    a, b, gate_a, gate_b, attention = (None if x is None else x.detach() for x in parts)
    assert b is not None
    return Messages(
        combinator=form.combinator,
        activation=form.activation,
        a=a,
        b=b,
        gate_a=gate_a,
        gate_b=gate_b,
        attention=attention,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slopes:
    """The gradient by what was summed and compared at a node; each (n_entities, batch, dim)."""

    of_sum: Tensor | None = None
    of_squares: Tensor | None = None
    extremes: tuple[tuple[Tensor, Tensor], ...] = ()
    """Maximum and minimum, as far as there are, each with its gradient."""

    def take(self, nodes: Tensor | slice) -> "Slopes":
        """Return the slopes of some nodes."""
        return Slopes(
            of_sum=None if self.of_sum is None else self.of_sum[nodes],
            of_squares=None if self.of_squares is None else self.of_squares[nodes],
            extremes=tuple((extreme[nodes], slope[nodes]) for extreme, slope in self.extremes),
        )

    def cut_boundary(self, boundary: Boundary) -> Tensor:
        """Return the gradient by the boundary's vectors; where it is extreme no edge has any."""
        z, nodes = boundary.vectors, boundary.nodes
        at = (nodes, torch.arange(len(nodes), device=nodes.device))
        gradient = torch.zeros_like(z)
        if self.of_sum is not None:
            gradient += self.of_sum[at]
        if self.of_squares is not None:
            gradient += 2 * z * self.of_squares[at]
        for extreme, slope in self.extremes:
            gradient += slope[at] * (extreme[at] == z)
            slope[extreme == boundary.spread(len(extreme))] = 0
        return gradient


def slopes_of(
    aggregation: Aggregation, statistics: Tensor, gradient: Tensor, n_messages: Tensor
) -> Slopes:
    """Return the gradient by sums and extremes, given that by the statistics."""
    n = n_messages.to(gradient.dtype).view(-1, 1, 1)
    match aggregation:
        case Aggregation.SUM:
            return Slopes(of_sum=gradient[:, :, 0])
        case Aggregation.MEAN:
            return Slopes(of_sum=gradient[:, :, 0] / n)
        case Aggregation.MAX:
            return Slopes(extremes=((statistics[:, :, 0], gradient[:, :, 0].clone()),))
        case Aggregation.PNA:
            mean, high, low, deviation = statistics.unbind(2)
            of_mean, of_high, of_low, of_deviation = gradient.unbind(2)
            is_free = deviation > MIN_VARIANCE**0.5
            of_variance = torch.where(is_free, of_deviation / (2 * deviation), 0)
            return Slopes(
                of_sum=(of_mean - 2 * mean * of_variance) / n,
                of_squares=of_variance / n,
                extremes=((high, of_high.clone()), (low, of_low.clone())),
            )
        case _:
            assert_never(aggregation)


def collect(
    messages: Messages, edges: Edges, boundary: Boundary, aggregation: Aggregation
) -> Tensor:
    """Return the statistics, (n_entities, batch, n_statistics, dim)."""
    total = boundary.spread(edges.graph.n_entities)
    is_pna, has_sum = aggregation is Aggregation.PNA, aggregation is not Aggregation.MAX
    squares, high, low = (total.square(), total.clone(), total.clone()) if is_pna else [total] * 3
    of_nodes: list[list[Tensor]] = [[], [], [], []]
    for block in cut_blocks(edges, total):
        m = message(messages, block).expand(-1, -1, total.shape[1], -1)
        if has_sum:
            of_nodes[0].append(m.sum(dim=1))
        if is_pna:
            of_nodes[1].append(m.square().sum(dim=1))
            of_nodes[3].append(m.amin(dim=1))
        if is_pna or not has_sum:
            of_nodes[2].append(m.amax(dim=1))
    sums, more_squares, highest, lowest = (torch.cat(x) if x else None for x in of_nodes)
    at = edges.nodes_of_blocks
    if sums is not None:
        total[at] += sums
    if more_squares is not None:
        squares[at] += more_squares
    if highest is not None:
        high[at] = torch.maximum(high[at], highest)
    if lowest is not None:
        low[at] = torch.minimum(low[at], lowest)
    n_messages = (edges.degrees + 1).to(total.dtype).view(-1, 1, 1)
    return finish(aggregation, n_messages, total, squares, high, low)


def finish(aggregation: Aggregation, n: Tensor, *sums: Tensor) -> Tensor:
    """Return the statistics, (n_entities, batch, n_statistics, dim), from sums and extremes."""
    total, squares, high, low = sums
    match aggregation:
        case Aggregation.SUM:
            return total.unsqueeze(2)
        case Aggregation.MEAN:
            return (total / n).unsqueeze(2)
        case Aggregation.MAX:
            return high.unsqueeze(2)
        case Aggregation.PNA:
            mean = total / n
            deviation = (squares / n - mean.square()).clamp(min=MIN_VARIANCE).sqrt()
            return torch.stack([mean, high, low, deviation], dim=2)
        case _:
            assert_never(aggregation)


def distribute(messages: Messages, edges: Edges, slopes: Slopes) -> list[Tensor | None]:
    """Return the gradient by each tensor of the messages."""
    gradients = [None if x is None else torch.zeros_like(x) for x in messages.tensors]
    slopes = slopes.take(edges.nodes_of_blocks)
    like = slopes.extremes[0][0] if slopes.of_sum is None else slopes.of_sum
    begin = 0
    for block in cut_blocks(edges, like):
        end = begin + len(block.nodes)
        parts = gather(messages, block)
        m = combine_parts(messages, parts).expand(-1, -1, like.shape[1], -1)
        slope = slope_of_messages(m, slopes.take(slice(begin, end)))
        _add_up(gradients, differentiate(messages, parts, slope), block)
        begin = end
    return gradients


def slope_of_messages(m: Tensor, slopes: Slopes) -> Tensor:
    """Return the gradient by each message of a block, (nodes, degree, batch, dim)."""
    if slopes.of_squares is not None and slopes.of_sum is not None:
        twice = (2 * slopes.of_squares).unsqueeze(1)
        slope = torch.addcmul(slopes.of_sum.unsqueeze(1), m, twice)
    elif slopes.of_sum is not None:
        slope = slopes.of_sum.unsqueeze(1).expand_as(m)
    else:
        slope = m.new_zeros(m.shape)
    for extreme, of_extreme in slopes.extremes:
        is_extreme = m.clone().eq_(extreme.unsqueeze(1))  # as numbers, for speed
        share = of_extreme / is_extreme.sum(dim=1).clamp_(min=1)
        slope.addcmul_(is_extreme, share.unsqueeze(1))
    return slope


def _add_up(
    gradients: list[Tensor | None], of_parts: list[Tensor | None], block: DegreeBlock
) -> None:
    places = (block.sources, block.relations, block.sources, block.relations, block.edges)
    for gradient, part, at in zip(gradients, of_parts, places, strict=True):
        if gradient is None or part is None:
            continue
        flat = part.flatten(0, 1)
        shared = flat if flat.shape[1] == gradient.shape[1] else flat.sum(dim=1, keepdim=True)
        gradient.index_add_(0, at.flatten(), shared)


def cut_blocks(edges: Edges, like: Tensor) -> list[DegreeBlock]:
    """Return blocks of edges whose messages, each as long as a row of `like`, fit the cache."""
    most = max(1, BLOCK_NUMBERS // like.shape[1:].numel())
    return [piece for block in edges.blocks for piece in block.cut(most)]
