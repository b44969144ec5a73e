"""Tables of names and numbers: as files (tab-separated text, CSV, Parquet) and as frames.

There is one policy for odd names: a name is always written as it stands, never escaped, so that
what is copied out of a file is the name. CSV puts quotes around it, as spreadsheets do, and
Parquet holds any text. Tab-separated text has no quotes: a name with a tab or a line break is
refused there before anything is written, with the formats that can hold it. Missing values are
empty text; true and false are in small letters; numbers are the shortest that read back equal.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol, assert_never, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from interstellar.data.graph import SPLITS, AnyGraph, GraphPair, KnowledgeGraph
from interstellar.data.spelling import quote
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError

UNWRITABLE = re.compile(r"[\t\r\n]")
"""What ends a cell or a line of tab-separated text."""
BYTE_ORDER_MARK = "\ufeff"
ROWS_AT_ONCE = 2**16


class TableFormat(StrEnum):
    """How the rows of a table are written."""

    TSV = "tsv"
    CSV = "csv"
    PARQUET = "parquet"


def table_format_of(path: Path) -> TableFormat:
    """Return the format that the ending of a file asks for."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in tuple(TableFormat):
        raise SettingsError(
            f"{path} ends in {path.suffix!r}, but tables are written as .tsv, .csv or .parquet. "
            "Choose a name with one of these endings."
        )
    return TableFormat(ending)


def refuse_unwritable(columns: Iterable[pa.Array], format: TableFormat) -> None:
    """Raise where a table of this format cannot hold one of these names."""
    if format is not TableFormat.TSV:
        return
    for names in columns:
        is_found = pc.match_substring_regex(names, UNWRITABLE.pattern)
        place = pc.index(is_found, value=True).as_py()
        if place >= 0:
            raise DataError(
                f"the name {quote(names[place].as_py())} holds a tab or a line break, which "
                "tab-separated text cannot. Write .csv or .parquet instead, or rename it."
            )


class TableWriter(Protocol):
    """Takes the rows of a table for a file."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append some rows."""
        ...


@contextmanager
def open_table(file: IO[bytes], schema: pa.Schema, format: TableFormat) -> Iterator[TableWriter]:
    """Give a writer that appends batches of rows to an open file, which is left open."""
    match format:
        case TableFormat.TSV:
            yield TsvWriter(file, schema.names)
        case TableFormat.CSV:
            with pyarrow.csv.CSVWriter(file, schema) as writer:
                yield writer
        case TableFormat.PARQUET:
            with pyarrow.parquet.ParquetWriter(file, schema) as writer:
                yield writer
        case _:
            assert_never(format)


def write_table(table: pa.Table, file: IO[bytes], format: TableFormat) -> None:
    """Write a whole table to an open file."""
    with open_table(file, table.schema, format) as writer:
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            writer.write(batch)


@final
class TsvWriter:
    """Writes tab-separated lines without quotes."""

    def __init__(self, file: IO[bytes], header: Sequence[str]) -> None:
        self._file = file
        self._is_first = not header
        if header:
            file.write(("\t".join(header) + "\n").encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Append some rows; refuse names that a line cannot hold."""
        refuse_unwritable(
            [column for column in batch.columns if is_text(column.type)], TableFormat.TSV
        )
        if len(batch) == 0:
            return
        cells = [pc.fill_null(column.cast(pa.string()), "") for column in batch.columns]
        if self._is_first and cells[0][0].as_py().startswith(BYTE_ORDER_MARK):
            self._file.write(BYTE_ORDER_MARK.encode())  # readers drop the first one
        self._is_first = False
        joined = pc.binary_join_element_wise(*cells, "\t") if len(cells) > 1 else cells[0]
        lines = pc.binary_join_element_wise(joined, "\n", "")
        n_bytes = int(pc.sum(pc.binary_length(lines)).as_py())
        self._file.write(lines.buffers()[2].slice(0, n_bytes))


def is_text(type_: pa.DataType) -> bool:
    """Return whether a column of this type holds strings."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(type_) for test in tests)


def write_columns(columns: Sequence[pa.Array], path: Path, *, header: Sequence[str] = ()) -> None:
    """Write columns side by side into a new file of tab-separated text, and onto the disk."""
    table = pa.table(list(columns), [str(place) for place in range(len(columns))])
    with path.open("wb") as file:
        writer = TsvWriter(file, header)
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            writer.write(batch)
        file.flush()
        os.fsync(file.fileno())


class FrameLibrary(StrEnum):
    """Whose frame."""

    ARROW = "arrow"
    PANDAS = "pandas"
    POLARS = "polars"


def to_frame(graph: AnyGraph, library: str = FrameLibrary.ARROW) -> Any:
    """Return the triplets of a graph by name.

    Columns are subject, relation, object and split; of two graphs subject, relation, object and
    graph (1 or 2), and their pairs are in `pairs_to_frame`.
    """
    return hand_over(tabulate(graph), library)


def pairs_to_frame(graph: GraphPair, library: str = FrameLibrary.ARROW) -> Any:
    """Return the known pairs of two graphs by name, in columns source, target and split."""
    parts = (graph.train, graph.valid, graph.test)
    pairs = np.concatenate(parts)
    columns = {
        "source": take_names(graph.source.entities, pairs[:, 0]),
        "target": take_names(graph.target.entities, pairs[:, 1]),
        "split": repeat_each(SPLITS, parts),
    }
    return hand_over(pa.table(columns), library)


def hand_over(table: pa.Table, library: str) -> Any:
    """Return an Arrow table as a frame of another library, which is imported only now."""
    if library not in tuple(FrameLibrary):
        raise SettingsError(f"library {library!r} is unknown. Choose {', '.join(FrameLibrary)}.")
    chosen = FrameLibrary(library)
    match chosen:
        case FrameLibrary.ARROW:
            return table
        case FrameLibrary.PANDAS:
            require(chosen)
            return table.to_pandas()
        case FrameLibrary.POLARS:
            return require(chosen).from_arrow(table)
        case _:
            assert_never(chosen)


def require(library: FrameLibrary) -> Any:
    """Return a library that need not be installed, or say how to install it."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{library} is not installed, but a frame of it is asked for. "
            f"Run `pip install {library}`, or ask for {FrameLibrary.ARROW}."
        ) from error


def tabulate(graph: AnyGraph) -> pa.Table:
    """Return all triplets of a graph by name, with the split or the graph that each belongs to."""
    if isinstance(graph, KnowledgeGraph):
        parts = [graph.split(split) for split in SPLITS]
        table = name_triplets(np.concatenate(parts), graph.entities, graph.relations)
        return table.append_column("split", repeat_each(SPLITS, parts))
    sides = [graph.source, graph.target]
    tables = [name_triplets(side.triplets, side.entities, side.relations) for side in sides]
    numbers = repeat_each((1, 2), tables).cast(pa.int8())
    return pa.concat_tables(tables).append_column("graph", numbers)


def name_triplets(triplets: Triplets, entities: Vocabulary, relations: Vocabulary) -> pa.Table:
    """Return triplets by name."""
    return pa.table(
        {
            "subject": take_names(entities, triplets[:, SUBJECT]),
            "relation": take_names(relations, triplets[:, RELATION]),
            "object": take_names(entities, triplets[:, OBJECT]),
        }
    )


def take_names(vocabulary: Vocabulary, ids: npt.NDArray[np.int32]) -> pa.Array:
    """Return the names of some ids."""
    return vocabulary.array.take(pa.array(ids))


def repeat_each(values: Sequence[str | int], parts: Sequence[Sized]) -> pa.Array:
    """Return each value as often as its part has rows."""
    return pa.array(values).take(pa.array(np.repeat(np.arange(len(parts)), [*map(len, parts)])))
