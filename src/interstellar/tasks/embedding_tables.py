"""The embeddings of a network with their names, table by table.

Link prediction has two vectors of each entity, one as a subject and one as an object; alignment
reads the subjects. A relation has two as well, its own and that of its inverse, which bears the
same name. Two graphs may use one name, so a row says whose it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
from torch import Tensor

from interstellar.data.graph import AnyGraph, GraphPair
from interstellar.model.path_network import PathNetwork


class Table(StrEnum):
    """Which embeddings."""

    SUBJECTS = "subjects"
    OBJECTS = "objects"
    RELATIONS = "relations"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedVectors:
    """Rows of one table that belong to one graph, all relations or all inverses."""

    table: Table
    graph: int
    """1 or 2; always 1 in link prediction."""
    is_inverse: bool
    names: pa.Array
    is_shared: pa.Array
    """Whether the other graph uses a name too."""
    vectors: Tensor
    """Shape (n, dim)."""

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.names)

    def iterate_blocks(self, n_rows: int) -> Iterator["NamedVectors"]:
        """Yield the rows in order, at most `n_rows` at once."""
        for start in range(0, len(self), n_rows):
            block = slice(start, start + n_rows)
            yield replace(
                self,
                names=self.names[block],
                is_shared=self.is_shared[block],
                vectors=self.vectors[block],
            )


def list_vectors(table: Table, network: PathNetwork, graph: AnyGraph) -> list[NamedVectors]:
    """Return the rows of a table in their order."""
    rows = {
        Table.SUBJECTS: network.subjects,
        Table.OBJECTS: network.objects,
        Table.RELATIONS: network.relations,
    }[table].detach()
    names = _names_by_graph(table, graph)
    turns = (False, True) if table is Table.RELATIONS else (False,)
    kinds = [(is_inverse, number) for is_inverse in turns for number in range(len(names))]
    ends = list(accumulate(len(names[number]) for _, number in kinds))
    return [
        NamedVectors(
            table=table,
            graph=number + 1,
            is_inverse=is_inverse,
            names=names[number],
            is_shared=_is_shared(names, number),
            vectors=rows[end - len(names[number]) : end],
        )
        for (is_inverse, number), end in zip(kinds, ends, strict=True)
    ]


def _names_by_graph(table: Table, graph: AnyGraph) -> list[pa.Array]:
    sides = (graph.first, graph.second) if isinstance(graph, GraphPair) else (graph,)
    is_relations = table is Table.RELATIONS
    return [(side.relations if is_relations else side.entities).array for side in sides]


def _is_shared(names: list[pa.Array], number: int) -> pa.Array:
    others = names[1 - number] if len(names) == 2 else pa.array([], pa.string())
    return pc.is_in(names[number], value_set=others)
