"""Sums of consecutive rows as a Triton kernel: a relation's runs of edges, a hub's segments."""

from typing import TYPE_CHECKING

import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from interstellar.model.edge_segments import Segments
    from interstellar.model.propagation_graph import OutgoingEdges

TILE = 1024
"""Numbers that a program adds at once: of one row, or of several short ones."""


def sum_runs(of_runs: Tensor, out: "OutgoingEdges") -> Tensor:
    """Return the sums, (2 · n_relations, rows, dim), of what the runs of each relation have."""
    return sum_rows(sum_rows(of_runs, out.chunk_starts), out.chunks_of_relation)


def put_hubs(of_nodes: Tensor, of_slots: Tensor, segments: "Segments") -> None:
    """Write for each hub the sum of what its segments have, (n_slots, batch, dim)."""
    if len(segments.hubs):
        of_hubs = sum_rows(of_slots, segments.hub_slots).to(of_nodes.dtype)
        of_nodes.index_copy_(0, segments.hubs, of_hubs)


def sum_rows(values: Tensor, starts: Tensor) -> Tensor:
    """Return the sum of the rows `starts[i]` to `starts[i + 1] - 1` for each i."""
    sums = values.new_zeros(len(starts) - 1, *values.shape[1:])
    if sums.numel():
        width = sums[0].numel()
        block = min(TILE, triton.next_power_of_2(width))
        _sum_rows[(len(sums), triton.cdiv(width, block))](
            values, starts, sums, width, ROWS=TILE // block, BLOCK=block
        )
    return sums


@triton.jit  # type: ignore[untyped-decorator]
def _sum_rows(values, starts, sums, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    first, end = tl.load(starts + tl.program_id(0)), tl.load(starts + tl.program_id(0) + 1)
    total = tl.zeros([ROWS, BLOCK], dtype=tl.float32)
    for start in range(first, end, ROWS):
        rows = start + tl.arange(0, ROWS)[:, None]
        mask = (rows < end) & (columns < width)
        total += tl.load(values + rows.to(tl.int64) * width + columns, mask=mask, other=0.0)
    to = sums + tl.program_id(0).to(tl.int64) * width + columns
    tl.store(to, tl.sum(total, axis=0)[None, :], mask=columns < width)
