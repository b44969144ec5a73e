"""One table of triplets or pairs, whatever holds it: a file of any format, a frame, an iterable."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from interstellar.data.findings import Findings
from interstellar.data.formats.delimited import read_text
from interstellar.data.formats.files import (
    FORMAT_BY_SUFFIX,
    FileFormat,
    format_of,
    is_readable_file,
    open_unpacked,
    recording_damage,
)
from interstellar.data.formats.name_table import (
    PAIR,
    SPLIT,
    TRIPLET,
    Columns,
    NameTable,
    build_table,
    describe_header,
    empty_table,
)
from interstellar.data.spelling import shorten
from interstellar.data.tables import is_text
from interstellar.errors import DataError


def read_table(
    source: object, findings: Findings, columns: Columns = TRIPLET, *, labels: bool = False
) -> NameTable:
    """Read triplets by name from a file, a frame or an iterable."""
    if isinstance(source, str | os.PathLike):
        return read_triplets(Path(source), findings, columns, labels=labels)
    if isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
        return read_frame(source, findings, columns)
    if isinstance(source, Iterable):
        return read_rows(source, findings)
    raise DataError(
        f"a graph cannot be read from a {type(source).__name__}. Give a name, a path, "
        "a pandas, polars or Arrow frame, an iterable of string triplets, or what PyKEEN and "
        "PyG hold triplets in."
    )


def read_triplets(
    path: Path, findings: Findings, columns: Columns = TRIPLET, *, labels: bool = False
) -> NameTable:
    """Read subject, relation and object by the format that the file's name promises."""
    if format_of(path) is None:
        endings = ", ".join(suffix for suffix in FORMAT_BY_SUFFIX if suffix)
        findings.fault(
            path,
            None,
            f"ends in {shorten(path.suffix)!r}. Files of triplets and pairs end in one of "
            f"{endings}, optionally followed by .gz, .xz or .zst.",
        )
    elif is_readable_file(path, findings):
        with recording_damage(path, findings):
            return _read_file(path, findings, columns, labels=labels)
    return empty_table(path, len(columns))


def read_pairs(path: Path, findings: Findings) -> NameTable:
    """Read pairs of entities; in RDF they are the two ends of statements such as sameAs."""
    table = read_triplets(path, findings, PAIR)
    return replace(table, columns=(table.columns[0], table.columns[-1]))


def _read_file(path: Path, findings: Findings, columns: Columns, *, labels: bool) -> NameTable:
    match format_of(path):
        case FileFormat.TSV | FileFormat.CSV as format:
            return read_text(path, format, columns, findings)
        case FileFormat.PARQUET:
            return read_parquet(path, columns, findings)
        case FileFormat.N_TRIPLES | FileFormat.TURTLE as format:
            from interstellar.data.formats.rdf import read_rdf  # noqa: PLC0415 (pyoxigraph)

            if columns.given is not None:
                findings.fault(path, None, f"is {format}, which has no columns. Give none.")
            return read_rdf(path, format, findings, labels=labels)
        case None:
            raise AssertionError("such a file is refused before")
        case _ as other:
            assert_never(other)


def read_parquet(path: Path, columns: Columns, findings: Findings) -> NameTable:
    """Read the wanted columns from a Parquet file."""
    try:
        with open_unpacked(path) as stream:
            table = pyarrow.parquet.read_table(pa.BufferReader(stream.read()))
    except pa.ArrowInvalid as error:
        findings.fault(path, None, f"is not a Parquet file ({error}).")
        return empty_table(path, len(columns))
    return take_columns(table, columns, path, findings)


def read_frame(frame: Any, findings: Findings, columns: Columns = TRIPLET) -> NameTable:
    """Read subject, relation and object from a pandas, polars or Arrow frame."""
    label = f"<{type(frame).__name__}>"
    try:
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (pa.ArrowException, ValueError) as error:  # pandas and Arrow raise both kinds
        row, what = find_mixed_cell(frame) or (
            None,
            f"cannot be read as a table ({error}). Its columns must be called "
            f"{', '.join(TRIPLET.names)}, each once.",
        )
        findings.fault(label, row, what)
        return empty_table(label, 3)
    return take_columns(table, columns, label, findings)


def find_mixed_cell(frame: Any) -> tuple[int, str] | None:
    """Return the first row of a pandas frame whose cell is not of its column's type, and why."""
    for name, column in frame.items() if hasattr(frame, "items") else ():
        cells = list(column)
        for row, cell in enumerate(cells, 1):
            if isinstance(cell, str) and not is_encodable(cell):
                return row, f"{name}: {cell[:80]!r} cannot be written as UTF-8. Mend the name."
            if type(cell) is not type(cells[0]):
                return row, (
                    f"{name}: holds {str(cell)[:80]!r} ({type(cell).__name__}) in a column of "
                    f"mixed types that begins with {type(cells[0]).__name__}. Convert it to text."
                )
    return None


def is_encodable(name: str) -> bool:
    """Return whether a name holds no half of a surrogate pair, which UTF-8 has no place for."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def read_rows(rows: Iterable[object], findings: Findings) -> NameTable:
    """Read an iterable of (subject, relation, object), each a string."""
    label = "<triplets>"
    good: list[tuple[str, str, str]] = []
    for number, row in enumerate(rows, 1):
        match row.tolist() if hasattr(row, "tolist") else row:
            case (str(s), str(r), str(o)) if s and r and o and all(map(is_encodable, (s, r, o))):
                good.append((s, r, o))
            case _:
                findings.fault(
                    label,
                    number,
                    f"is {str(row)[:80]!r}. A triplet is (subject, relation, object), "
                    "three strings that are not empty and can be written as UTF-8.",
                )
    if not good:
        findings.fault(label, None, "holds no triplets. Give at least one.")
        return empty_table(label, 3)
    return build_table(label, zip(*good, strict=True), range(1, len(good) + 1))


def take_columns(
    table: pa.Table, columns: Columns, file: Path | str, findings: Findings
) -> NameTable:
    """Pick the wanted columns by name, or by place where there are no others."""
    n_columns = len(columns)
    places = columns.find_places(table.column_names)
    if places is None and (table.num_columns != n_columns or columns.given is not None):
        findings.fault(file, None, describe_header(table.column_names, columns))
        return empty_table(file, n_columns)
    split = columns.find_split(table.column_names) if places else None
    wanted = [*(places or range(n_columns)), *([] if split is None else [split])]
    picked = [plain_column(table.column(place)) for place in wanted]
    if table.num_rows == 0:
        findings.fault(file, None, "holds no rows. Give at least one triplet.")
    faulty = [find_bad_cell(column) for column in picked]
    for name, fault in zip((*columns.names, SPLIT), faulty, strict=False):
        if fault:
            row, what = fault
            findings.fault(file, row, f"{name}: {what}")
    if table.num_rows == 0 or any(faulty):
        return empty_table(file, n_columns)
    return NameTable(
        file=file,
        columns=tuple(column.cast(pa.string()) for column in picked),
        list_lines=lambda: range(1, table.num_rows + 1),
    ).with_splits(split is not None)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of categories as one of their values."""
    if not pa.types.is_dictionary(column.type):
        return column
    values = column.type.value_type
    kind = pa.string() if is_text(values) else values  # Arrow cannot take from polars' views
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def find_bad_cell(column: pa.ChunkedArray) -> tuple[int | None, str] | None:
    """Return the first row, counted from 1, that holds no name, and why; or None."""
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        is_fraction = pa.types.is_floating(column.type)
        advice = " A missing number makes all of them fractions: drop its row."
        return None, (
            f"the column is of type {column.type}. Names must be text or whole numbers."
            f"{advice if is_fraction else ''}"
        )
    is_missing = pc.fill_null(pc.equal(column.cast(pa.string()), ""), fill_value=True)
    row = pc.index(is_missing, value=True).as_py()
    return None if row < 0 else (row + 1, "the name is missing. Drop the row or name it.")
