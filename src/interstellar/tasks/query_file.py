"""Files of queries: read piece by piece, so that millions need no more memory than thousands.

Columns subject, relation, object, of which subject or object is empty or `?`: that end is asked
for. Text may go without a header, and without the third column where all ask for objects. A
line with a fault is noted and left out; the others are answered.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import final

import pyarrow as pa
from pyarrow import parquet

from interstellar.data.reading.columns import TRIPLET
from interstellar.data.reading.files import (
    FileForm,
    form_of,
    open_unpacked,
)
from interstellar.data.reading.frames import is_text
from interstellar.errors import DataError, Fault

AT_ONCE = 2**14
"""Queries of one piece."""
MOST_FAULTS = 1000
"""Faults that are kept; more are only counted."""
ASKED_FOR = ("", "?")
"""What stands at the end of a triplet that is asked for."""

Places = tuple[int | None, int, int | None]
"""Where subject, relation and object stand in a row; None for an end that has no column."""

FORMS = "Queries are read from .tsv, .txt, .csv (also packed as .gz, .xz, .zst) and .parquet."


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """One line of a file: just one of the two ends is there."""

    line: int
    subject: str | None
    relation: str
    object: str | None


@final
@dataclass(slots=True)
class Faults:
    """What is wrong with the lines of one file."""

    file: Path
    n: int = 0
    kept: list[Fault] = field(default_factory=list)

    def add(self, line: int, what: str) -> None:
        """Note a fault; beyond the first ones it is only counted."""
        self.n += 1
        if len(self.kept) < MOST_FAULTS:
            self.kept.append(Fault(str(self.file), line, what))

    def by_line(self) -> tuple[Fault, ...]:
        """Return the faults that were kept, in the order of their lines."""
        return tuple(sorted(self.kept, key=lambda fault: fault.line or 0))


def read_queries(path: Path, faults: Faults) -> Iterator[list[NamedQuery]]:
    """Yield the queries of a file that have no fault, in pieces of at most `AT_ONCE`.

    Raises:
        DataError: The file cannot be read at all, or holds no rows.
    """
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {found}, but queries are to be read from it. Check the path.")
    form = form_of(path)
    if form is FileForm.PARQUET:
        rows = _iterate_parquet(path)
    elif form in (FileForm.TSV, FileForm.CSV):
        rows = _iterate_text(path, "," if form is FileForm.CSV else "\t")
    else:
        raise DataError(f"{path} ends in {path.suffix!r}. {FORMS}")
    n_rows = 0
    while piece := list(islice(rows, AT_ONCE)):
        n_rows += len(piece)
        queries = []
        for line, cells in piece:
            query = _take_query(line, cells)
            if isinstance(query, str):
                faults.add(line, query)
            else:
                queries.append(query)
        yield queries
    if n_rows == 0:
        raise DataError(f"{path} holds no queries. It must have at least one line that asks.")


Cells = Sequence[str | None] | str
"""Subject, relation and object of a row, or what is wrong with it."""


def _take_query(line: int, cells: Cells) -> NamedQuery | str:
    """Return the query in a row, or what is wrong with it."""
    if isinstance(cells, str):
        return cells
    subject, relation, object_ = (None if cell in ASKED_FOR else cell for cell in cells)
    if any("\udc80" <= letter <= "\udcff" for cell in cells if cell for letter in cell):
        return "is not UTF-8. Convert the file, for instance with `iconv -t UTF-8`."
    if relation is None:
        return "names no relation. Give one: it is what is asked about."
    if subject is None and object_ is None:
        return "names neither subject nor object. One of them must be given."
    if subject is not None and object_ is not None:
        return "names subject and object. Leave the one that is asked for empty, or write ?."
    return NamedQuery(line, subject, relation, object_)


def _iterate_text(path: Path, delimiter: str) -> Iterator[tuple[int, Cells]]:
    """Yield line and cells of every row of a text that is not blank."""
    header: tuple[Places, int] | None = None
    is_first = True
    for line, row in _iterate_lines(path, delimiter):
        if isinstance(row, str):
            yield line, row
            continue
        if is_first:
            is_first = False
            places = _find_places(row)
            if places is not None:
                header = places, len(row)
                continue
        yield line, _pick(row, header)


def _iterate_lines(path: Path, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield every line that is not blank, cut into cells, or why it cannot be cut.

    Bytes that are not UTF-8 arrive as lone surrogates, so that the line can be named.
    """
    with open_unpacked(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        reader = (
            csv.reader(text, strict=True)
            if delimiter == ","
            else csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        )
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                yield line, f"cannot be cut into columns ({error}). Mend the line."
                continue
            except (OSError, EOFError) as error:
                raise DataError(
                    f"{path} cannot be read to its end ({error}). Copy the file again."
                ) from error
            if row is None:
                return
            if row:
                yield line, row


def _pick(row: list[str], header: tuple[Places, int] | None) -> Cells:
    """Return subject, relation and object of a row, or what is wrong with it."""
    if header is None:
        if len(row) in (2, 3):
            return (*row, None)[:3]
        return f"does not hold subject, relation and object, but columns: {len(row)}."
    places, n_columns = header
    if len(row) != n_columns:
        return f"has not as many columns as the header: {len(row)} instead of {n_columns}."
    return [None if place is None else row[place] for place in places]


def _find_places(header: Sequence[str]) -> Places | None:
    """Return where the columns stand, or None if this is no header."""
    cells = [cell.strip().lower() for cell in header]
    found = [[i for i, cell in enumerate(cells) if cell in words] for words in TRIPLET.words]
    if any(len(places) > 1 for places in found):
        return None
    subject, relation, object_ = (places[0] if places else None for places in found)
    if relation is None or (subject is None and object_ is None):
        return None
    return subject, relation, object_


def _iterate_parquet(path: Path) -> Iterator[tuple[int, Cells]]:
    """Yield number and cells of every row of a Parquet file."""
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not a Parquet file ({error}). {FORMS}") from error
    with file:
        names = file.schema_arrow.names
        places = _find_places(names)
        if places is None and len(names) in (2, 3):
            places = (0, 1, 2 if len(names) == 3 else None)
        if places is None:
            raise DataError(
                f"{path} has the columns {', '.join(names) or '(none)'}. Two or three of them "
                "must be called subject, relation and object."
            )
        line = 0
        for batch in file.iter_batches(AT_ONCE):
            columns = [
                [None] * len(batch) if place is None else _as_text(path, batch, place)
                for place in places
            ]
            for cells in zip(*columns, strict=True):
                line += 1
                yield line, cells


def _as_text(path: Path, batch: pa.RecordBatch, place: int) -> list[str | None]:
    column = batch.column(place)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"{path} has a column {batch.schema.names[place]} of type {kind}. Names must be text "
            "or whole numbers."
        )
    names: list[str | None] = column.cast(pa.string()).to_pylist()
    return names
