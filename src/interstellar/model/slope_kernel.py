"""The gradient by what was summed at nodes, and by the boundary, given that by the statistics."""

from typing import TYPE_CHECKING, assert_never

import torch
import triton
import triton.language as tl
from torch import Tensor

from interstellar.architecture.propagation import Aggregation

if TYPE_CHECKING:
    from interstellar.model.messages import Boundary
    from interstellar.model.propagation_graph import Edges

TILE = 1024


def slopes_fused(
    aggregation: Aggregation, statistics: Tensor, gradient: Tensor, edges: "Edges"
) -> Tensor:
    """Return the gradient by Σ m and, of PNA, by Σ m², (n_entities, batch, 1 or 2, dim)."""
    n_messages = (edges.degrees + 1).view(-1, 1, 1, 1)
    if aggregation is Aggregation.MEAN:
        return gradient / n_messages
    if aggregation is not Aggregation.PNA:
        return gradient
    n, batch, _, dim = statistics.shape
    slopes = torch.empty(n, batch, 2, dim, dtype=torch.float32, device=statistics.device)
    if slopes.numel():
        columns = triton.next_power_of_2(dim)
        rows = max(1, TILE // columns)
        arguments = (statistics, gradient, n_messages, slopes, n * batch, batch, dim)
        _write_slopes[(triton.cdiv(n * batch, rows),)](*arguments, ROWS=rows, COLUMNS=columns)
    return slopes


def slope_of_boundary(
    boundary: "Boundary", aggregation: Aggregation, slopes: Tensor, gradient: Tensor, places: Tensor
) -> Tensor:
    """Return the gradient by the boundary's vectors, (batch, dim)."""
    z, at = boundary.vectors, boundary.at
    slopes, gradient, places = slopes[at], gradient[at], places[at]
    match aggregation:
        case Aggregation.SUM | Aggregation.MEAN:
            of_z = slopes[:, 0]
        case Aggregation.MAX:
            of_z = gradient[:, 0] * (places[:, 0] < 0)
        case Aggregation.PNA:
            low = places[:, -1] >> 16 if places.shape[1] == 1 else places[:, 1]
            high = places[:, 0] << 16 if places.shape[1] == 1 else places[:, 0]
            of_z = slopes[:, 0] + 2 * z * slopes[:, 1]
            of_z = of_z + gradient[:, 1] * (high < 0) + gradient[:, 2] * (low < 0)
        case _:
            assert_never(aggregation)
    return of_z.to(z.dtype)


@triton.jit  # type: ignore[untyped-decorator]
def _write_slopes(  # type: ignore[no-untyped-def]
    statistics,
    gradient,
    n_messages,
    slopes,
    n_rows,
    batch,
    dim,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    mask = (row < n_rows) & (column < dim)
    n = tl.load(n_messages + row // batch, mask=row < n_rows, other=1).to(tl.float32)
    first = row.to(tl.int64) * (4 * dim) + column
    last = first + 3 * dim
    mean = tl.load(statistics + first, mask=mask, other=0.0).to(tl.float32)
    deviation = tl.load(statistics + last, mask=mask, other=1.0).to(tl.float32)
    of_mean = tl.load(gradient + first, mask=mask, other=0.0).to(tl.float32)
    of_deviation = tl.load(gradient + last, mask=mask, other=0.0).to(tl.float32)
    of_variance = tl.where(deviation > 1.0001e-3, of_deviation / (2 * deviation), 0.0)
    to = slopes + row.to(tl.int64) * (2 * dim) + column
    tl.store(to, (of_mean - 2 * mean * of_variance) / n, mask=mask)
    tl.store(to + dim, of_variance / n, mask=mask)
