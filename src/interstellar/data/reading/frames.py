"""Tables with named columns: Parquet files, pandas, polars and Arrow frames."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from interstellar.data.findings import Findings
from interstellar.data.reading.columns import SPLIT, TRIPLET, Columns
from interstellar.data.reading.files import (
    UNPACKING_ERRORS,
    is_readable_file,
    open_unpacked,
    record_damage,
)
from interstellar.data.reading.name_table import NameTable, as_names, empty_table


def read_parquet(path: Path, columns: Columns, findings: Findings) -> NameTable:
    """Read the wanted columns from a Parquet file."""
    if not is_readable_file(path, findings):
        return empty_table(path, len(columns))
    try:
        with open_unpacked(path) as stream:
            table = pyarrow.parquet.read_table(pa.BufferReader(stream.read()))
    except pa.ArrowInvalid as error:
        findings.fault(path, None, f"is not a Parquet file ({error}).")
        return empty_table(path, len(columns))
    except UNPACKING_ERRORS as error:
        record_damage(path, error, findings)
        return empty_table(path, len(columns))
    return take_columns(table, columns, path, findings)


def is_frame(source: object) -> bool:
    """Return whether `source` can hand over its columns as Arrow does."""
    return isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__")


def read_frame(frame: Any, findings: Findings) -> NameTable:
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
    return take_columns(table, TRIPLET, label, findings)


def find_mixed_cell(frame: Any) -> tuple[int, str] | None:
    """Return the first row of a pandas frame whose cell is not of its column's type, and why."""
    for name, column in frame.items() if hasattr(frame, "items") else ():
        cells = list(column)
        for row, cell in enumerate(cells, 1):
            if not is_encodable(cell):
                return row, f"{name}: {cell[:80]!r} cannot be written as UTF-8. Mend the name."
            if type(cell) is not type(cells[0]):
                return row, (
                    f"{name}: holds {str(cell)[:80]!r} ({type(cell).__name__}) in a column of "
                    f"mixed types that begins with {type(cells[0]).__name__}. Convert it to text."
                )
    return None


def is_encodable(cell: object) -> bool:
    """Return whether a cell is no string with half of a surrogate pair, which UTF-8 cannot hold."""
    return not (isinstance(cell, str) and any("\ud800" <= letter <= "\udfff" for letter in cell))


def read_rows(rows: Iterable[object], findings: Findings) -> NameTable:
    """Read an iterable of (subject, relation, object), each a string."""
    label = "<triplets>"
    good: list[tuple[str, str, str]] = []
    for number, row in enumerate(rows):
        match row.tolist() if hasattr(row, "tolist") else row:
            case (str(subject), str(relation), str(object_)) if is_named(
                subject, relation, object_
            ):
                good.append((subject, relation, object_))
            case _:
                findings.fault(
                    label,
                    number + 1,
                    f"is {str(row)[:80]!r}. A triplet is (subject, relation, object), "
                    "three strings that are not empty and can be written as UTF-8.",
                )
    if not good:
        findings.fault(label, None, "holds no triplets. Give at least one.")
        return empty_table(label, 3)
    columns = tuple(as_names(pa.array(column, pa.string())) for column in zip(*good, strict=True))
    return NameTable(file=label, columns=columns, list_lines=lambda: range(1, len(good) + 1))


def is_named(*names: str) -> bool:
    """Return whether all names have letters, and such as Unicode knows."""
    return all(names) and (all(map(str.isascii, names)) or all(map(is_encodable, names)))


def take_columns(
    table: pa.Table, columns: Columns, file: Path | str, findings: Findings
) -> NameTable:
    """Pick the wanted columns by name, or by place where there are no others."""
    n_columns = len(columns)
    places = columns.find(table.column_names)
    if places is None and table.num_columns != n_columns:
        findings.fault(
            file,
            None,
            f"has the columns {', '.join(table.column_names) or '(none)'}. {n_columns} of them "
            f"must be called {', '.join(columns.names)}, or there must be just {n_columns}.",
        )
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
        columns=tuple(as_names(column) for column in picked),
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
        advice = " A missing number makes all of them fractions: drop its row."
        if not pa.types.is_floating(column.type):
            advice = ""
        return None, (
            f"the column is of type {column.type}. Names must be text or whole numbers.{advice}"
        )
    is_missing = column.is_null()
    if is_text(column.type):
        text = column.cast(pa.string())
        is_missing = pc.or_(is_missing, pc.fill_null(pc.equal(text, ""), fill_value=True))
    row = pc.index(is_missing, value=True).as_py()
    return None if row < 0 else (row + 1, "the name is missing. Drop the row or name it.")


def is_text(type_: pa.DataType) -> bool:
    """Return whether a column of this type holds strings."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(type_) for test in tests)
