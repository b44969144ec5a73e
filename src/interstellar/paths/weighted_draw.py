"""The plain way to draw a step: weigh every edge of the row, for the few rows that need it.

Where nearly all of a row is disfavoured, drawing again and again would take long. Only whole
numbers are summed here, so that the result does not depend on the order of summation.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from interstellar.paths.walk_index import WalkIndex
from interstellar.paths.walk_settings import WalkSettings

_MAX_EDGES = 2**22
"""Edges looked at together; a single row may have more."""

IsNear = Callable[[Tensor, Tensor], Tensor]
"""Tells of edges (keys) and anchors whether the depth bias disfavours them."""


def draw_by_weight(
    index: WalkIndex,
    settings: WalkSettings,
    is_near: IsNear,
    *,
    u: Tensor,
    current: Tensor,
    anchor: Tensor,
) -> Tensor:
    """Return the key of one edge from each entity in `current`, chosen by uniform numbers `u`."""
    n_edges = index.n_edges(current).long()
    drawn = torch.empty_like(current)
    for rows in _slabs(n_edges):
        n = n_edges[rows]
        begin = n.cumsum(0) - n
        owner = torch.arange(len(n), device=n.device).repeat_interleave(n)
        first = index.bounds.index_select(0, current[rows]) - begin
        keys = index.keys[torch.arange(len(owner), device=n.device) + first[owner]]
        kind = 2 * ((keys & index.layout.group_bit) != 0) + is_near(keys, anchor[rows][owner])
        counts = torch.bincount(4 * owner + kind, minlength=4 * len(n)).view(-1, 4)
        chosen, nth = _choose_kind(counts, _weight_by_kind(settings), u[rows])
        matches = kind == chosen[owner]
        n_matches = matches.cumsum(0)
        n_before = n_matches[begin] - matches[begin].long()
        drawn[rows] = keys[torch.searchsorted(n_matches, n_before + nth + 1)]
    return drawn


def _slabs(n_edges: Tensor) -> Iterator[slice]:
    slab = (n_edges.cumsum(0) - n_edges) // _MAX_EDGES
    start = 0
    for n_rows in torch.unique_consecutive(slab, return_counts=True)[1].tolist():
        yield slice(start, start + n_rows)
        start += n_rows


def _weight_by_kind(settings: WalkSettings) -> tuple[float, float, float, float]:
    """Return the weight of an edge by 2 · (not favoured by β) + (near the anchor)."""
    alpha = settings.depth_bias
    beta = 1.0 if settings.cross_bias is None else settings.cross_bias
    return (beta * alpha, beta * (1 - alpha), (1 - beta) * alpha, (1 - beta) * (1 - alpha))


def _choose_kind(
    counts: Tensor, weight_by_kind: tuple[float, float, float, float], u: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a kind for each row of `counts`, (n, 4), and which edge of that kind."""
    weights = torch.tensor(weight_by_kind, dtype=torch.float64, device=counts.device)
    shares = counts * weights
    upper = shares.clone()
    for kind in range(1, 4):
        upper[:, kind] += upper[:, kind - 1]
    place = u * upper[:, 3]
    chosen = (place.unsqueeze(1) >= upper[:, :3]).sum(1)
    column = chosen.unsqueeze(1)
    within = place - (upper - shares).gather(1, column).squeeze(1)
    nth = (within / weights[chosen]).long()
    n_of_kind = counts.gather(1, column).squeeze(1)
    return chosen, torch.minimum(nth.clamp_(min=0), n_of_kind - 1)
