"""Which messages reach which nodes, and their sums and extremes there; for the plain path."""

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

ROW_BITS = 28
"""Float64 has 29 bits more than float32; a row in all but the first of them changes no rounding."""
NEARLY_ZERO = 2.0**-160
"""Less than any number of float32. It keeps 0 with a row in its last bits from being denormal."""


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Some rows of a table for each bag."""

    starts: Tensor
    """Bag i has the rows at the places `starts[i]` to `starts[i + 1] - 1`."""
    rows: Tensor

    def keeping(self, is_kept: Tensor) -> "Bags":
        """Return the bags with those of their rows that are kept."""
        n_before = torch.cat([self.starts.new_zeros(1), is_kept.cumsum(0)])
        return Bags(n_before[self.starts], self.rows[is_kept])

    def add_up(self, table: Tensor) -> Tensor:
        """Return the sum of each bag's rows of a table, (n, length)."""
        if self._has_nothing(table):
            return table.new_zeros(self.n_bags, table.shape[1])
        return functional.embedding_bag(
            self.rows, table.contiguous(), self.starts, mode="sum", include_last_offset=True
        )

    def find_extreme(self, table: Tensor, kind: Literal["amax", "amin"]) -> Tensor:
        """Return the largest or least number of each bag's rows in each column; 0 of none."""
        if self._has_nothing(table):
            return table.new_zeros(self.n_bags, table.shape[1])
        ones = torch.ones(len(self.rows), dtype=table.dtype)
        size = (self.n_bags, len(table))
        with warnings.catch_warnings():  # once: these tensors may change
            warnings.simplefilter("ignore", UserWarning)
            matrix = torch.sparse_csr_tensor(self.starts, self.rows, ones, size=size)
        found: Tensor = torch.sparse.mm(matrix, table, kind)
        return found

    def find_extremes(self, table: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return the largest and the least numbers, each with its row."""
        is_packable = table.dtype is torch.float32 and len(table) <= 2**ROW_BITS
        if is_packable or self._has_nothing(table):
            packed = pack_rows(table)
            high, low = (self.find_extreme(packed, kind) for kind in ("amax", "amin"))
            return unpack_rows(high), unpack_rows(low)
        high, high_rows = self._find_slowly(table)
        low, low_rows = self._find_slowly(-table)
        return (high, high_rows), (-low, low_rows)

    @property
    def n_bags(self) -> int:
        """How many there are, empty ones included."""
        return len(self.starts) - 1

    def _has_nothing(self, table: Tensor) -> bool:
        return not len(self.rows) or not table.numel()

    def _find_slowly(self, table: Tensor) -> tuple[Tensor, Tensor]:
        found, _, _, rows = torch.embedding_bag(
            table.contiguous(), self.rows, self.starts, mode=2, include_last_offset=True
        )
        return found, rows.int()


def pack_rows(table: Tensor) -> Tensor:
    """Return the same numbers, of float32, in float64, with the row of each in the last bits.

    So the extreme of some numbers is found with its row, at the speed of finding it alone.
    """
    rows = torch.arange(len(table)).unsqueeze(1)
    bits = table.double().masked_fill_(table == 0, NEARLY_ZERO).view(torch.int64)
    return bits.bitwise_or_(rows).view(torch.float64)


def unpack_rows(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers, in float32, and their rows."""
    return packed.float(), packed.view(torch.int64).bitwise_and(2**ROW_BITS - 1).int()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageFlow:
    """The messages that are sent, and the nodes they reach.

    A node sends the same along all its edges with one relation: it is one message.
    """

    sources: Tensor
    """(n_messages,), as relations and edges."""
    relations: Tensor
    edges: Tensor
    """An edge that the message is sent along."""
    arrivals: Bags
    """The messages that reach each node."""
    departures: Bags
    """The nodes that each message reaches."""
    order: Tensor
    """The edges by their messages."""

    @classmethod
    def of(
        cls, columns: tuple[Tensor, Tensor, Tensor], starts: Tensor, keys: Tensor
    ) -> "MessageFlow":
        """Let edges (source, relation, target), by target, with equal keys send one message."""
        sources, relations, targets = columns
        distinct, numbers = torch.unique(keys, return_inverse=True)
        order = torch.argsort(numbers, stable=True)
        ends = torch.arange(len(distinct) + 1)
        begins = torch.searchsorted(numbers[order], ends)
        firsts = order[begins[:-1]]
        return cls(
            sources=sources[firsts],
            relations=relations[firsts],
            edges=firsts,
            arrivals=Bags(starts, numbers),
            departures=Bags(begins, targets[order]),
            order=order,
        )

    def keeping(self, kept: Tensor | None) -> "MessageFlow":
        """Return the flow along the edges that are kept; None: along all."""
        if kept is None:
            return self
        return replace(
            self,
            arrivals=self.arrivals.keeping(kept),
            departures=self.departures.keeping(kept[self.order]),
        )
