"""Tab- and comma-separated text.

Arrow reads the whole file in one go. Only when something is wrong is the file gone
through line by line, to say where, and for all lines at once.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from interstellar.data.findings import Findings
from interstellar.data.formats.files import (
    FileFormat,
    is_readable_file,
    open_unpacked,
    recording_damage,
)
from interstellar.data.formats.name_table import (
    Columns,
    NameTable,
    build_table,
    describe_header,
    empty_table,
)

BLOCK_BYTES = 1 << 21
SEPARATORS = {"\t": "tabs", " ": "spaces", ",": "commas", ";": "semicolons"}
QUOTING_DELIMITERS = (",", ";")
csv.field_size_limit(2**31 - 1)  # names may be longer than the 131,072 letters it is set to


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the lines of one file are cut into the columns that are wanted."""

    delimiter: str
    n_columns: int
    """Columns that every line must have."""
    wanted: tuple[int, ...]
    """Places of the columns to keep, in the order wanted."""
    n_skipped: int = 0
    """Lines before the first row: a header, or OpenKE's count."""


def read_text(path: Path, format: FileFormat, columns: Columns, findings: Findings) -> NameTable:
    """Read the wanted columns from a .tsv or .csv, with or without a header."""
    delimiter = "," if format is FileFormat.CSV else "\t"
    if format is FileFormat.CSV and has_semicolons(path):
        delimiter = ";"
        findings.note(f"{path.name}: its columns are separated by semicolons.")
    try:
        first_rows = list(islice(iterate_rows(path, delimiter), 2))
    except csv.Error:  # quotes that are not closed; the fault is found again on reading
        first_rows = []
    layout = find_layout(first_rows, columns, delimiter)
    if layout is None:
        line, cells = first_rows[0]
        findings.fault(path, line, describe_header(cells, columns))
        return empty_table(path, len(columns))
    return read_layout(path, layout, findings).with_splits(len(layout.wanted) > len(columns))


def find_layout(
    first_rows: list[tuple[int, list[str]]], columns: Columns, delimiter: str
) -> Layout | None:
    """Return how a file is laid out by its first rows, or None where columns are not found."""
    line, cells = first_rows[0] if first_rows else (0, [])
    header = None if columns.numbers is not None else columns.find(cells)
    if first_rows and header is None and is_lost([row for _, row in first_rows], columns):
        return None
    places = header or columns.numbers or tuple(range(len(columns)))
    split = columns.find_split(cells) if header else None
    return Layout(
        delimiter=delimiter,
        n_columns=len(columns) if header is None and columns.numbers is None else len(cells),
        wanted=places if split is None else (*places, split),
        n_skipped=line if header else 0,
    )


def is_lost(rows: list[list[str]], columns: Columns) -> bool:
    """Return whether the wanted columns cannot be found in rows that are no header.

    A single row that is too long or too short is the fault of its line; where the next is just
    as long, all are.
    """
    if columns.given is not None:
        return columns.find_places(rows[0]) is None
    widths = {len(row) for row in rows}
    return len(rows) > 1 and len(widths) == 1 and widths != {len(columns)}


def has_semicolons(path: Path) -> bool:
    """Return whether the first line has semicolons where commas should be, as in some countries."""
    _, [line] = next(iterate_rows(path, "\n"), (0, [""]))
    return "," not in line and ";" in line


def read_columns(
    path: Path, n_columns: int, findings: Findings, *, delimiter: str = "\t", n_skipped: int = 0
) -> NameTable:
    """Read a plain file that must have `n_columns` columns and no header."""
    wanted = tuple(range(n_columns))
    layout = Layout(delimiter=delimiter, n_columns=n_columns, wanted=wanted, n_skipped=n_skipped)
    if is_readable_file(path, findings):
        with recording_damage(path, findings):
            return read_layout(path, layout, findings)
    return empty_table(path, n_columns)


def read_layout(path: Path, layout: Layout, findings: Findings) -> NameTable:
    """Read the wanted columns; record every faulty line and keep the good ones."""
    return read_fast(path, layout) or read_slowly(path, layout, findings)


def read_fast(path: Path, layout: Layout) -> NameTable | None:
    """Read with Arrow, or return None where any line is faulty or there is no row."""
    wanted = [str(place) for place in layout.wanted]  # Arrow is told places as names
    has_quotes = layout.delimiter in QUOTING_DELIMITERS
    read_options = pyarrow.csv.ReadOptions(
        column_names=[str(place) for place in range(layout.n_columns)],
        skip_rows=layout.n_skipped,
        block_size=BLOCK_BYTES,
    )
    parse_options = pyarrow.csv.ParseOptions(
        delimiter=layout.delimiter,
        quote_char='"' if has_quotes else False,
        newlines_in_values=has_quotes,
    )
    convert_options = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted
    )
    try:
        with open_unpacked(path) as stream:
            table = pyarrow.csv.read_csv(stream, read_options, parse_options, convert_options)
    except pa.ArrowInvalid:
        return None
    columns = tuple(table[label] for label in wanted)
    if table.num_rows == 0 or any(pc.min(pc.binary_length(each)).as_py() == 0 for each in columns):
        return None

    def list_lines() -> list[int]:
        return [line for line, _ in iterate_rows(path, layout.delimiter, layout.n_skipped)]

    return NameTable(file=path, columns=columns, list_lines=list_lines)


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
    return build_table(path, zip(*rows, strict=True), lines)


def find_row_fault(row: list[str], layout: Layout) -> str | None:
    """Return what is wrong with one row, or None."""
    if len(row) != layout.n_columns:
        return (
            f"has {len(row)} columns where {layout.n_columns} must stand, separated by "
            f"{SEPARATORS[layout.delimiter]}. Mend the line, or give the file the ending of its "
            "format (.tsv, .csv)."
        )
    for place in layout.wanted:
        if any("\udc80" <= letter <= "\udcff" for letter in row[place]):
            return "is not UTF-8. Convert the file, for instance with `iconv -t UTF-8`."
        if row[place] == "":
            return f"has an empty name in column {place + 1}. Every column must hold a name."
    return None


def iterate_rows(
    path: Path,
    delimiter: str,
    n_skipped: int = 0,
    *,
    on_fault: Callable[[int, csv.Error], None] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every row that is not blank.

    Bytes that are not UTF-8 arrive as lone surrogates, so that the line can be named.

    Args:
        path: A file of text, which may be packed.
        delimiter: What separates cells.
        n_skipped: Lines that are passed over.
        on_fault: Is told of a line that breaks the rules of quoting; without it, that is raised.
    """
    with open_unpacked(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        if delimiter not in QUOTING_DELIMITERS:
            for line, content in enumerate(text, 1):
                row = content.rstrip("\r\n")
                if row and line > n_skipped:
                    yield line, row.split(delimiter)
            return
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        cells: list[str] | None = []
        while cells is not None:
            line = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                if on_fault is None:
                    raise
                on_fault(line, error)
                continue
            if cells and line > n_skipped:
                yield line, cells
