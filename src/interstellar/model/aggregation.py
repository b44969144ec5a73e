"""Messages along edges and what becomes of them at the nodes they reach.

On the edge e from node u with relation r, for the query b,

    m_e = α_e act(a[u] ∘ b[r])

where ∘ is a combinator (of a gated one the logit of the gate is ga[u] + gb[r]). Each node takes
its incoming messages together with its boundary, which is the query's vector at the query's
subject and 0 elsewhere. Of n messages, boundary included, the statistics are Σ m, Σ m / n, max m,
min m and √(Σ m² / n − (Σ m / n)²). Where several messages are the largest, the boundary has the
gradient if it is one of them; else one of them has it (on CUDA the first).

The plain path computes each message once, whatever number of nodes it reaches; messages are
computed anew for the gradient and never kept.
"""

from dataclasses import dataclass
from typing import Any, assert_never

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from interstellar.architecture.propagation import Aggregation
from interstellar.model.message_flow import MessageFlow
from interstellar.model.messages import (
    Boundary,
    Messages,
    combine_parts,
    differentiate,
    gather,
)
from interstellar.model.propagation_graph import Edges

MIN_VARIANCE = 1e-6
"""A smaller variance counts as this one, where the deviation has no gradient."""

NUMBERS_AT_ONCE = 2**20
"""Of messages that the plain path computes at once, unless those of one query are more."""


def n_statistics(aggregation: Aggregation) -> int:
    """Return how many vectors an aggregation makes of the messages that reach a node."""
    return 4 if aggregation is Aggregation.PNA else 1


def aggregate(
    messages: Messages, edges: Edges, boundary: Boundary, aggregation: Aggregation
) -> Tensor:
    """Return the statistics of each node's messages, (n_entities, batch, n_statistics, dim).

    Of PNA they are mean, max, min and deviation.
    """
    if has_kernels(boundary.vectors.device) or boundary.is_one_query:
        return _aggregate_at_once(messages, edges, boundary, aggregation)
    numbers_a_query = len(flow_of(messages, edges).sources) * boundary.vectors.shape[1]
    n = max(1, NUMBERS_AT_ONCE // max(1, numbers_a_query))
    parts = zip(messages.split(n), boundary.split(n), strict=False)  # messages may have no queries
    found = [_aggregate_at_once(m, edges, z, aggregation) for m, z in parts]
    return found[0] if len(found) == 1 else torch.cat(found, dim=1)


def _aggregate_at_once(
    messages: Messages, edges: Edges, boundary: Boundary, aggregation: Aggregation
) -> Tensor:
    statistics: Tensor = _Aggregate.apply(  # type: ignore[no-untyped-call]
        messages, edges, boundary.detach(), aggregation, boundary.vectors, *messages.tensors
    )
    return statistics


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        form: Messages,
        edges: Edges,
        boundary: Boundary,
        aggregation: Aggregation,
        *tensors: Tensor | None,
    ) -> Tensor:
        z, *parts = tensors
        assert z is not None
        messages = _detached(form, parts)
        places: Tensor | None
        ctx.is_fused = has_kernels(z.device)
        if ctx.is_fused:
            from interstellar.model.aggregation_kernel import (  # noqa: PLC0415 (triton)
                collect_fused,
            )

            statistics, places = collect_fused(messages, edges, boundary, aggregation)
        else:
            statistics, places = collect(
                messages, edges, boundary, aggregation, with_places=any(ctx.needs_input_grad)
            )
        ctx.save_for_backward(statistics, places, *parts)
        ctx.form, ctx.edges, ctx.boundary, ctx.aggregation = form, edges, boundary, aggregation
        return statistics

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        statistics, places, *parts = ctx.saved_tensors
        messages, boundary = _detached(ctx.form, parts), ctx.boundary
        if ctx.is_fused:
            from interstellar.model.aggregation_back_kernel import (  # noqa: PLC0415 (triton)
                go_back_fused,
            )

            of_parts = go_back_fused(
                messages, ctx.edges, boundary, ctx.aggregation, statistics, gradient, places
            )
            return None, None, None, None, *of_parts
        n_messages = ctx.edges.degrees + 1
        slopes = slopes_of(ctx.aggregation, statistics, gradient, n_messages, places)
        of_z = slopes.at_boundary(boundary)
        return None, None, None, None, of_z, *distribute(messages, ctx.edges, slopes)


def has_kernels(device: torch.device) -> bool:
    """Return whether messages are computed by Triton kernels there."""
    return device.type == "cuda"


def _detached(form: Messages, parts: list[Tensor | None]) -> Messages:
    return form.with_tensors(None if x is None else x.detach() for x in parts)


def flow_of(messages: Messages, edges: Edges) -> MessageFlow:
    """Return the flow of messages that differ from edge to edge only if they have attention."""
    return edges.flow if messages.attention is None else edges.flow_of_edges


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slopes:
    """The gradient by what was summed and compared at a node; each (n_entities, batch, dim)."""

    of_sum: Tensor | None = None
    of_squares: Tensor | None = None
    of_extremes: tuple[tuple[Tensor, Tensor], ...] = ()
    """By maximum and minimum, each with the messages that they are; -1 for the boundary."""

    def at_boundary(self, boundary: Boundary) -> Tensor:
        """Return the gradient by the boundary's vectors."""
        z, at = boundary.vectors, boundary.at
        gradient = torch.zeros_like(z)
        if self.of_sum is not None:
            gradient += self.of_sum[at]
        if self.of_squares is not None:
            gradient += 2 * z * self.of_squares[at]
        for slope, places in self.of_extremes:
            gradient += slope[at] * (places[at] < 0)
        return gradient


def slopes_of(
    aggregation: Aggregation,
    statistics: Tensor,
    gradient: Tensor,
    n_messages: Tensor,
    places: Tensor,
) -> Slopes:
    """Return the gradient by sums and extremes, given that by the statistics."""
    n = n_messages.to(gradient.dtype).view(-1, 1, 1)
    match aggregation:
        case Aggregation.SUM:
            return Slopes(of_sum=gradient[:, :, 0])
        case Aggregation.MEAN:
            return Slopes(of_sum=gradient[:, :, 0] / n)
        case Aggregation.MAX:
            return Slopes(of_extremes=((gradient[:, :, 0], places[:, :, 0]),))
        case Aggregation.PNA:
            mean, _, _, deviation = statistics.unbind(2)
            of_mean, of_high, of_low, of_deviation = gradient.unbind(2)
            is_free = deviation > MIN_VARIANCE**0.5
            of_variance = torch.where(is_free, of_deviation / (2 * deviation), 0)
            high_places, low_places = places.unbind(2)
            return Slopes(
                of_sum=(of_mean - 2 * mean * of_variance) / n,
                of_squares=of_variance / n,
                of_extremes=((of_high, high_places), (of_low, low_places)),
            )
        case _:
            assert_never(aggregation)


def collect(
    messages: Messages,
    edges: Edges,
    boundary: Boundary,
    aggregation: Aggregation,
    *,
    with_places: bool,
) -> tuple[Tensor, Tensor | None]:
    """Return the statistics, and where they are asked for the messages that extremes are.

    The latter are (n_entities, batch, 0 to 2, dim), -1 for the boundary.
    """
    flow = flow_of(messages, edges)
    z = boundary.spread(edges.graph.n_entities)
    m = combine_parts(messages, gather(messages, flow)).expand(-1, z.shape[1], -1).flatten(1)
    total, squares, high, low, places = z, z, z, z, None
    if aggregation is not Aggregation.MAX:
        total = z + flow.arrivals.add_up(m).view_as(z)
    if aggregation is Aggregation.PNA:
        squares = z.square() + flow.arrivals.add_up(m.square()).view_as(z)
    if aggregation in (Aggregation.MAX, Aggregation.PNA):
        high, low, places = find_extremes(m, z, flow, with_places=with_places)
    if aggregation is Aggregation.MAX and places is not None:
        places = places[:, :, :1].clone()
    n_messages = (edges.degrees + 1).to(z.dtype).view(-1, 1, 1)
    return finish(aggregation, n_messages, total, squares, high, low), places


def find_extremes(
    m: Tensor, z: Tensor, flow: MessageFlow, *, with_places: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return maximum and minimum of messages and boundary, and which messages they are."""
    has_some = (flow.arrivals.starts.diff() > 0).view(-1, 1, 1)
    if with_places:
        (high, high_at), (low, low_at) = flow.arrivals.find_extremes(m)
    else:
        high, low = (flow.arrivals.find_extreme(m, kind) for kind in ("amax", "amin"))
    high, low = high.view_as(z), low.view_as(z)
    is_high, is_low = ~(high <= z) & has_some, ~(low >= z) & has_some  # so is what is no number
    found = torch.where(is_high, high, z), torch.where(is_low, low, z)
    if not with_places:
        return *found, None
    places = [
        torch.where(is_it, at.view_as(z), -1)
        for is_it, at in ((is_high, high_at), (is_low, low_at))
    ]
    return *found, torch.stack(places, dim=2)


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
    flow = flow_of(messages, edges)
    parts = gather(messages, flow)
    slope = slope_of_messages(combine_parts(messages, parts), flow, slopes)
    of_parts = differentiate(messages, parts, slope)
    places = (flow.sources, flow.relations, flow.sources, flow.relations, flow.edges)
    return [
        None if x is None or of_x is None else _add_up(x, at, of_x)
        for x, of_x, at in zip(messages.tensors, of_parts, places, strict=True)
    ]


def slope_of_messages(m: Tensor, flow: MessageFlow, slopes: Slopes) -> Tensor:
    """Return the gradient by each message, (n_messages, batch, dim)."""
    like = slopes.of_extremes[0][0] if slopes.of_sum is None else slopes.of_sum
    shape = (len(m), *like.shape[1:])
    if slopes.of_sum is None:
        slope = like.new_zeros(shape)
    else:
        slope = flow.departures.add_up(slopes.of_sum.flatten(1)).view(shape)
    if slopes.of_squares is not None:
        twice = flow.departures.add_up(2 * slopes.of_squares.flatten(1))
        slope.addcmul_(m, twice.view(shape))
    columns = torch.arange(like.shape[1:].numel(), device=like.device).view(like.shape[1:])
    for of_extreme, at in slopes.of_extremes:
        places = at.clamp(min=0).long() * len(columns.flatten()) + columns
        if slope.numel():
            slope.view(-1).index_add_(0, places.flatten(), (of_extreme * (at >= 0)).flatten())
    return slope


def _add_up(like: Tensor, at: Tensor, x: Tensor) -> Tensor:
    shared = x if x.shape[1] == like.shape[1] else x.sum(dim=1, keepdim=True)
    return torch.zeros_like(like).index_add_(0, at, shared)
