"""The embeddings of a network by name, in one file for other programs.

| format | a row |
| --- | --- |
| Parquet | columns name, kind, table, graph, is_inverse, vector (a list of dim float32) |
| TSV, CSV | a header; the same columns, but for the vector dim numbers v1, v2 … |
| word2vec | first `n dim`; then the name as one word and dim numbers, separated by spaces |

Link prediction has two vectors of each entity, one as a subject and one as an object; alignment
reads the subjects. Most models outside the search space have one, which stands among the subjects;
what is complex stands as it is stored, and what a graph convolution makes as it is compared. A
relation has two as well, its own and that of its inverse, which bears the same name; it has none
where graph convolutions align. Two graphs may use one name, so a row says whose it is. Where
vectors of relations are shorter (angles of RotatE), the last columns of a text are empty.

Numbers are the shortest that read back to the same float32. In tables names stand as they are
(`data/tables.py`). A word-vector file percent-encodes white space, control characters and the
percent sign as addresses of the web do (a space is %20). So a % that two hexadecimal digits do not
follow is never part of a name, and begins a mark: `%graph1` or `%graph2` follows a name that both
graphs use, `%subject`, `%object` or `%relation` every name where several tables are written, and
`%inverse` an inverse.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from interstellar.data.graph import AnyGraph, GraphPair
from interstellar.data.tables import TableFormat, open_table, refuse_unwritable
from interstellar.errors import SettingsError
from interstellar.records.safe_files import refuse_output, replacing_file
from interstellar.rivals.pair_network import PairNetwork
from interstellar.rivals.rsn_lstm import SkippingNetwork
from interstellar.rivals.triplet_network import TripletNetwork
from interstellar.runs.trained_run import TrainedRun
from interstellar.words import choose

ALL_TABLES = "all"
NUMBERS_AT_ONCE, ROWS_AT_ONCE = 2**20, 2**13
"""The most of one block: as text a number takes about twelve bytes, and names may be long."""
FACTS = {"kind": pa.string(), "table": pa.string(), "graph": pa.int8(), "is_inverse": pa.bool_()}
"""What stands in a row of a table between the name and the numbers, and its type."""
_NOT_IN_A_WORD = re.compile(r"[\s%\x00-\x1f\x7f]")
_MARK = re.compile(r"%(?![0-9A-F]{2})")


class EmbeddingFormat(StrEnum):
    """How embeddings are written."""

    PARQUET = "parquet"
    TSV = "tsv"
    CSV = "csv"
    WORD2VEC = "word2vec"


FORMAT_BY_SUFFIX = {".parquet": "parquet", ".pq": "parquet", ".tsv": "tsv", ".csv": "csv"}
FORMAT_BY_SUFFIX |= {".txt": "word2vec", ".vec": "word2vec"}


class Table(StrEnum):
    """Which embeddings."""

    SUBJECTS = "subjects"
    OBJECTS = "objects"
    RELATIONS = "relations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written, and of what network."""

    path: Path
    format: EmbeddingFormat
    tables: tuple[Table, ...]
    rows: int
    entities: int
    """Of the network, of both graphs together; each has a row in every table of entities."""
    relations: int
    """Of the network, inverses left out."""
    dim: int
    """Numbers of the longest vector."""


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
        return len(self.names)

    @property
    def numbers(self) -> pa.Array:
        """The numbers of all rows, one after the other."""
        return pa.array(self.vectors.cpu().numpy().astype(np.float32, copy=False).ravel())

    def iterate_blocks(self) -> Iterator["NamedVectors"]:
        """Yield the rows in order, so many at once as memory takes easily."""
        n_at_once = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // self.vectors.shape[1]))
        for start in range(0, len(self), n_at_once):
            rows = slice(start, start + n_at_once)
            names, is_shared, vectors = self.names[rows], self.is_shared[rows], self.vectors[rows]
            yield replace(self, names=names, is_shared=is_shared, vectors=vectors)


def export_embeddings(
    trained: TrainedRun,
    path: Path,
    *,
    table: str | None = None,
    format: str | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write the embeddings of a run into one file, whole or not at all.

    Unless said, all tables are written, in a word-vector file the subjects, since there a name has
    one vector; and the file's ending decides on the format.
    """
    chosen = _choose_format(path, format)
    graph, vectors = trained.task.graph, find_tables(trained)
    tables = _choose_tables(table, chosen, vectors)
    refuse_output(path, inputs=trained.experiment.sources, overwrite=overwrite)
    parts = [part for each in tables for part in _list_vectors(each, vectors[each], graph)]
    if chosen is not EmbeddingFormat.WORD2VEC:
        refuse_unwritable((part.names for part in parts), TableFormat(chosen.value))
    with replacing_file(path) as file:
        if chosen is EmbeddingFormat.WORD2VEC:
            _write_words(parts, file)
        else:
            _write_rows(parts, file, TableFormat(chosen.value))
    return Exported(
        path=path,
        format=chosen,
        tables=tables,
        rows=sum(map(len, parts)),
        entities=len(graph.all_entities),
        relations=len(graph.all_relations),
        dim=max(part.vectors.shape[1] for part in parts),
    )


@torch.no_grad()
def find_tables(trained: TrainedRun) -> dict[Table, Tensor]:
    """Return the tables that the network of a run has."""
    network = trained.network
    if isinstance(network, TripletNetwork):
        entities, relations = network.tables()
        return {Table.SUBJECTS: entities.detach(), Table.RELATIONS: relations.detach()}
    if isinstance(network, PairNetwork):  # it compares entities, and knows nothing of relations
        return {Table.SUBJECTS: network.subjects}
    if isinstance(network, SkippingNetwork):
        subjects, objects = network.subjects, network.next_entities.detach()
    else:
        network = trained.path_network
        subjects, objects = network.subjects.detach(), network.objects.detach()
    return dict(zip(Table, (subjects, objects, network.relations.detach()), strict=True))


def _choose_tables(
    table: str | None, format: EmbeddingFormat, vectors: Mapping[Table, Tensor]
) -> tuple[Table, ...]:
    if table is None:
        table = Table.SUBJECTS if format is EmbeddingFormat.WORD2VEC else ALL_TABLES
    if table not in (*Table, ALL_TABLES):
        raise SettingsError(
            f"`table` is {table!r}, which is unknown. Choose {', '.join(Table)} or {ALL_TABLES}."
        )
    chosen = tuple(vectors) if table == ALL_TABLES else (Table(table),)
    if chosen[0] not in vectors:
        raise SettingsError(
            f"`table` is {table}, but this model has one vector of each entity, which stands among "
            f"the subjects. Choose {', '.join(vectors)} or {ALL_TABLES}."
        )
    lengths = {vectors[each].shape[1] for each in chosen}
    if format is EmbeddingFormat.WORD2VEC and len(lengths) > 1:
        raise SettingsError(
            f"the vectors have {' and '.join(map(str, sorted(lengths)))} numbers, but those of a "
            f"word-vector file are of one length. Choose one table: {', '.join(vectors)}."
        )
    return chosen


def _choose_format(path: Path, format: str | None) -> EmbeddingFormat:
    found = FORMAT_BY_SUFFIX.get(path.suffix.lower()) if format is None else format
    if found is None:
        raise SettingsError(
            f"{path.name} ends in {path.suffix!r}, which is no format of embeddings. Use one of "
            f"{', '.join(FORMAT_BY_SUFFIX)}, or give `format`: {', '.join(EmbeddingFormat)}."
        )
    return choose("`format`", found, EmbeddingFormat)


def _list_vectors(table: Table, vectors: Tensor, graph: AnyGraph) -> list[NamedVectors]:
    """Return the rows of a table in their order."""
    sides = (graph.source, graph.target) if isinstance(graph, GraphPair) else (graph,)
    is_relations = table is Table.RELATIONS
    names = [(side.relations if is_relations else side.entities).array for side in sides]
    turns = (False, True) if is_relations else (False,)
    kinds = [(is_inverse, number) for is_inverse in turns for number in range(len(names))]
    parts = vectors.split_with_sizes([len(names[number]) for _, number in kinds])
    others = names[::-1] if len(names) == 2 else [pa.array([], pa.string())]
    return [
        NamedVectors(
            table=table,
            graph=number + 1,
            is_inverse=is_inverse,
            names=names[number],
            is_shared=pc.is_in(names[number], value_set=others[number]),
            vectors=part,
        )
        for (is_inverse, number), part in zip(kinds, parts, strict=True)
    ]


def _write_rows(parts: list[NamedVectors], file: BinaryIO, format: TableFormat) -> None:
    lengths = {part.vectors.shape[1] for part in parts}
    dim, is_list = max(lengths), format is TableFormat.PARQUET
    list_type = pa.list_(pa.float32(), dim if len(lengths) == 1 else -1)
    numbers = (
        {"vector": list_type}
        if is_list
        else {f"v{place}": pa.float32() for place in range(1, dim + 1)}
    )
    schema = pa.schema({"name": pa.string(), **FACTS, **numbers})
    with open_table(file, schema, format) as writer:
        for block in (block for part in parts for block in part.iterate_blocks()):
            kind = "relation" if block.table is Table.RELATIONS else "entity"
            constants = (kind, block.table.value, block.graph, block.is_inverse)
            facts = [
                pa.repeat(pa.scalar(constant, type_), len(block))
                for constant, type_ in zip(constants, FACTS.values(), strict=True)
            ]
            if is_list:
                length = block.vectors.shape[1]
                vectors = [pa.FixedSizeListArray.from_arrays(block.numbers, length).cast(list_type)]
            else:
                vectors = [pa.array(column) for column in block.vectors.cpu().numpy().T.copy()]
                vectors += [pa.nulls(len(block), pa.float32())] * (dim - len(vectors))
            writer.write(pa.record_batch([block.names, *facts, *vectors], schema))


def _write_words(parts: list[NamedVectors], file: BinaryIO) -> None:
    """Write how many there are, then a line a row: a word, and its numbers."""
    dim = parts[0].vectors.shape[1]
    file.write(f"{sum(map(len, parts))} {dim}\n".encode())
    is_mixed = len({part.table for part in parts}) > 1
    for block in (block for part in parts for block in part.iterate_blocks()):
        bounds = pa.array(np.arange(0, (len(block) + 1) * dim, dim, dtype=np.int32))
        texts = pa.ListArray.from_arrays(bounds, block.numbers.cast(pa.string()))
        words = _mark_words(block, is_mixed=is_mixed)
        lines = pc.binary_join_element_wise(words, pc.binary_join(texts, " "), " ")
        file.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def _mark_words(block: NamedVectors, *, is_mixed: bool) -> pa.Array:
    """Return the names as words, each with the marks that it needs to be the only one."""
    words = escape_words(block.names)
    of_graph = pc.binary_join_element_wise(words, f"%graph{block.graph}", "")
    words = pc.if_else(block.is_shared, of_graph, words)
    marks = f"%{block.table.removesuffix('s')}" if is_mixed else ""
    marks += "%inverse" if block.is_inverse else ""
    return pc.binary_join_element_wise(words, marks, "")


def escape_words(names: pa.Array) -> pa.Array:
    """Return names without white space, each a word."""
    words = (
        _NOT_IN_A_WORD.sub(lambda found: quote(found[0], safe=""), name)
        for name in names.to_pylist()
    )
    return pa.array(words, pa.string())


def read_word(word: str) -> tuple[str, tuple[str, ...]]:
    """Return the name that a word stands for, and the marks that follow it."""
    name, *marks = _MARK.split(word)
    return unquote(name), tuple(marks)
