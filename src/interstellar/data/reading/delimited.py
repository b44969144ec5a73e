"""Tab- and comma-separated text.

Arrow reads the whole file in one go. Only when something is wrong is the file gone
through line by line, to say where, and for all lines at once.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from interstellar.data.findings import Findings
from interstellar.data.reading.columns import Columns
from interstellar.data.reading.files import (
    UNPACKING_ERRORS,
    FileForm,
    is_readable_file,
    open_unpacked,
    record_damage,
)
from interstellar.data.reading.name_table import NameTable, empty_table

BLOCK_BYTES = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the lines of one file are cut into the columns that are wanted."""

    delimiter: str
    has_quotes: bool
    n_columns: int
    """Columns that every line must have."""
    wanted: tuple[int, ...]
    """Places of the columns to keep, in the order wanted."""
    n_skipped: int = 0
    """Lines before the first row: a header, or OpenKE's count."""


def read_text(path: Path, form: FileForm, columns: Columns, findings: Findings) -> NameTable:
    """Read the wanted columns from a .tsv or .csv, with or without a header."""
    if not is_readable_file(path, findings):
        return empty_table(path, len(columns))
    delimiter = "," if form is FileForm.CSV else "\t"
    try:
        line, cells = next(iterate_rows(path, delimiter), (0, []))
    except csv.Error:
        line, cells = 0, []
    except UNPACKING_ERRORS as error:
        record_damage(path, error, findings)
        return empty_table(path, len(columns))
    header = columns.find(cells)
    split = columns.find_split(cells) if header else None
    wanted = header or tuple(range(len(columns)))
    layout = Layout(
        delimiter=delimiter,
        has_quotes=form is FileForm.CSV,
        n_columns=len(cells) if header else len(columns),
        wanted=wanted if split is None else (*wanted, split),
        n_skipped=line if header else 0,
    )
    return read_layout(path, layout, findings).with_splits(split is not None)


def read_columns(
    path: Path, n_columns: int, findings: Findings, *, delimiter: str = "\t", n_skipped: int = 0
) -> NameTable:
    """Read a plain file that must have `n_columns` columns and no header."""
    if not is_readable_file(path, findings):
        return empty_table(path, n_columns)
    layout = Layout(
        delimiter=delimiter,
        has_quotes=False,
        n_columns=n_columns,
        wanted=tuple(range(n_columns)),
        n_skipped=n_skipped,
    )
    return read_layout(path, layout, findings)


def read_layout(path: Path, layout: Layout, findings: Findings) -> NameTable:
    """Read the wanted columns; record every faulty line and keep the good ones."""
    try:
        return read_fast(path, layout) or read_slowly(path, layout, findings)
    except UNPACKING_ERRORS as error:
        record_damage(path, error, findings)
        return empty_table(path, len(layout.wanted))


def read_fast(path: Path, layout: Layout) -> NameTable | None:
    """Read with Arrow, or return None where any line is faulty or there is no row."""
    wanted = [str(place) for place in layout.wanted]
    try:
        with open_unpacked(path) as stream:
            table = pyarrow.csv.read_csv(stream, *arrow_options(layout))
    except pa.ArrowInvalid:
        return None
    columns = tuple(table[label] for label in wanted)
    if table.num_rows == 0 or any(has_empty_name(column) for column in columns):
        return None
    return NameTable(file=path, columns=columns, list_lines=lambda: list_lines(path, layout))


def arrow_options(layout: Layout) -> tuple[Any, Any, Any]:
    """Return what Arrow must know to read a file: columns are named by their place."""
    wanted = [str(place) for place in layout.wanted]
    read = pyarrow.csv.ReadOptions(
        column_names=[str(place) for place in range(layout.n_columns)],
        skip_rows=layout.n_skipped,
        block_size=BLOCK_BYTES,
    )
    parse = pyarrow.csv.ParseOptions(
        delimiter=layout.delimiter,
        quote_char='"' if layout.has_quotes else False,
        newlines_in_values=layout.has_quotes,
    )
    convert = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted
    )
    return read, parse, convert


def has_empty_name(column: pa.ChunkedArray) -> bool:
    """Return whether any name has no letters: where one begins, the next begins too."""
    return any(
        bool((begins[1:] == begins[:-1]).any()) for begins in map(list_begins, column.chunks)
    )


def list_begins(chunk: pa.Array) -> npt.NDArray[np.int32]:
    """Return where each name begins among the letters of a chunk, and where the last ends."""
    begins = np.frombuffer(chunk.buffers()[1], dtype=np.int32)
    return begins[chunk.offset : chunk.offset + len(chunk) + 1]


def read_slowly(path: Path, layout: Layout, findings: Findings) -> NameTable:
    """Read line by line, recording what is wrong with each faulty line."""
    rows: list[list[str]] = []
    lines: list[int] = []
    n_seen = 0
    try:
        for line, row in iterate_rows(path, layout.delimiter, layout.n_skipped):
            n_seen += 1
            fault = find_row_fault(row, layout)
            if fault:
                findings.fault(path, line, fault)
            else:
                rows.append([row[place] for place in layout.wanted])
                lines.append(line)
    except csv.Error as error:
        findings.fault(path, None, f"breaks the rules of quoting ({error}).")
    if n_seen == 0:
        findings.fault(path, None, "holds no rows. It must hold at least one line of names.")
    if not rows:
        return empty_table(path, len(layout.wanted))
    columns = tuple(
        pa.chunked_array([pa.array(column, pa.string())]) for column in zip(*rows, strict=True)
    )
    return NameTable(file=path, columns=columns, list_lines=lambda: lines)


def find_row_fault(row: list[str], layout: Layout) -> str | None:
    """Return what is wrong with one row, or None."""
    if len(row) != layout.n_columns:
        separator = {"\t": "tabs", ",": "commas"}.get(layout.delimiter, "spaces")
        return (
            f"has {len(row)} columns where {layout.n_columns} must stand, separated by "
            f"{separator}. Mend the line, or give the file the ending of its form (.tsv, .csv)."
        )
    for place in layout.wanted:
        if any("\udc80" <= letter <= "\udcff" for letter in row[place]):
            return "is not UTF-8. Convert the file, for instance with `iconv -t UTF-8`."
        if row[place] == "":
            return f"has an empty name in column {place + 1}. Every column must hold a name."
    return None


def iterate_rows(path: Path, delimiter: str, n_skipped: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every row that is not blank.

    Bytes that are not UTF-8 arrive as lone surrogates, so that the line can be named.
    """
    with open_unpacked(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        reader = (
            csv.reader(text, strict=True)
            if delimiter == ","
            else csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        )
        line = 1
        for row in reader:
            if row and line > n_skipped:
                yield line, row
            line = reader.line_num + 1


def list_lines(path: Path, layout: Layout) -> list[int]:
    """Return the line on which each row stands, blank lines and line breaks counted."""
    return [line for line, _ in iterate_rows(path, layout.delimiter, layout.n_skipped)]
