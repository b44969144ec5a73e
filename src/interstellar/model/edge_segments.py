"""The edges of nodes cut into segments that programs of a kernel go through one by one.

A node with many edges would keep one program busy long after all others have finished. Its edges
are therefore several segments, whose results stand in slots until they are put together.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

SEGMENT = 128
"""Edges of a segment, at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segments:
    """Segments with the most edges first; every node has at least one. Tensors are int32."""

    nodes: Tensor
    """The node of each segment."""
    firsts: Tensor
    """Segment i has the edges `firsts[i]` to `ends[i] - 1`."""
    ends: Tensor
    slots: Tensor
    """Where the result of a segment is kept, or -1 where its node has no other."""
    hubs: Tensor
    """The nodes that have several segments, int64."""
    hub_slots: Tensor
    """Hub i has the slots `hub_slots[i]` to `hub_slots[i + 1] - 1`, in the order of its edges."""
    n_slots: int

    @classmethod
    def of(cls, starts: Tensor) -> "Segments":
        """Cut the edges `starts[v]` to `starts[v + 1] - 1` of every node v."""
        n_segments = (-(-starts.diff() // SEGMENT)).clamp(min=1)
        nodes = torch.repeat_interleave(n_segments)
        numbers = torch.arange(len(nodes), device=starts.device)
        numbers -= (n_segments.cumsum(0) - n_segments)[nodes]
        firsts = starts[nodes] + SEGMENT * numbers
        ends = torch.minimum(firsts + SEGMENT, starts[nodes + 1])
        is_of_hub = (n_segments > 1)[nodes]
        slots = torch.where(is_of_hub, is_of_hub.cumsum(0) - 1, -1)
        order = (ends - firsts).argsort(descending=True, stable=True)
        hubs = (n_segments > 1).nonzero().flatten()
        hub_slots = torch.cat([hubs.new_zeros(1), n_segments[hubs].cumsum(0)])
        return cls(
            nodes=nodes[order].int(),
            firsts=firsts[order].int(),
            ends=ends[order].int(),
            slots=slots[order].int(),
            hubs=hubs,
            hub_slots=hub_slots.int(),
            n_slots=int(hub_slots[-1]),
        )

    @property
    def tables(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What a program looks up."""
        return self.nodes, self.firsts, self.ends, self.slots
