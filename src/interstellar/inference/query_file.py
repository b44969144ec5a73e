"""Files of queries become files of answers, piece by piece: millions need no more memory.

Queries have the columns subject, relation and object. The end that is asked for is empty, or `?`
where the other end is not empty; so an entity called `?` can be asked about by leaving the other
end empty. Text may go without a header, and without the third column where all ask for objects.
A line with a fault is noted and left out; the others are answered.

Answers have one row each with the columns of `SCHEMA`; `score` is the logit, and the end that was
asked for holds the answer.
"""

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from interstellar.data.formats.delimited import iterate_rows
from interstellar.data.formats.files import UNPACKING_ERRORS, FileFormat, format_of
from interstellar.data.formats.name_table import TRIPLET
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.spelling import describe_unknown, quote
from interstellar.data.tables import (
    TableFormat,
    is_text,
    open_table,
    refuse_unwritable,
    table_format_of,
)
from interstellar.data.vocabulary import UNKNOWN
from interstellar.errors import DataError, Fault
from interstellar.inference.prediction import NOBODY, Ids, Predictor
from interstellar.records.safe_files import refuse_output, replacing_file

AT_ONCE = 2**14
"""Queries of one piece."""
MOST_FAULTS = 1000
"""Faults that are kept; more are only counted."""
SPELLED_FAULTS = 100
"""Unknown names that get the nearest spellings beside them; looking for these takes a while."""
ASKED_FOR = "?"
ASKS_NOTHING = "names neither subject nor object. One of them must be given."
FORMATS = "Queries are read from .tsv, .txt, .csv (also packed as .gz, .xz, .zst) and .parquet."
SCHEMA = pa.schema(
    {"subject": pa.string(), "relation": pa.string(), "object": pa.string()}
    | {"rank": pa.int32(), "score": pa.float32(), "probability": pa.float32(), "known": pa.bool_()}
)

Places: TypeAlias = tuple[int | None, int, int | None]
"""Where subject, relation and object stand in a row; None for an end that has no column."""
Cells: TypeAlias = Sequence[str | None]  # subject, relation and object


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What came of a file of queries."""

    n_queries: int
    """Queries that were answered."""
    n_answers: int
    n_faults: int
    faults: tuple[Fault, ...]
    """The first of them; see `MOST_FAULTS`."""


def answer_file(
    predictor: Predictor,
    graph: KnowledgeGraph,
    queries: Path,
    out: Path | BinaryIO,
    *,
    k: int,
    with_known: bool = False,
    overwrite: bool = False,
) -> FileOutcome:
    """Answer the queries of a file, and say which of its lines could not be.

    `out` is the file of answers, .tsv, .csv or .parquet, which is there whole or not at all; or an
    open one for tab-separated text. Nothing is written where no query can be answered: DataError.
    """
    chosen = table_format_of(out) if isinstance(out, Path) else TableFormat.TSV
    refuse_unwritable([graph.entities.array, graph.relations.array], chosen)
    faults = Faults(queries)
    n_queries = n_answers = 0
    with ExitStack() as stack:
        if isinstance(out, Path):
            refuse_output(out, inputs=(queries,), overwrite=overwrite)
            out = stack.enter_context(replacing_file(out))
        writer = None
        for piece in read_queries(queries, faults):
            entities, relations = _number_queries(piece, graph, faults)
            n_queries += len(entities)
            start = 0
            for best in predictor.answer(entities, relations, k=k, with_known=with_known):
                writer = writer or stack.enter_context(open_table(out, SCHEMA, chosen))
                asked = slice(start, start + len(best))
                rows = _list_rows(graph, entities[asked], relations[asked], best)
                writer.write(rows)
                n_answers += len(rows)
                start += len(best)
        if n_queries == 0:
            raise DataError(
                f"none of the {faults.n} queries can be answered, first {faults.by_line()[0]}",
                faults.by_line(),
            )
    return FileOutcome(
        n_queries=n_queries, n_answers=n_answers, n_faults=faults.n, faults=faults.by_line()
    )


def read_queries(path: Path, faults: Faults) -> Iterator[list[NamedQuery]]:
    """Yield the queries of a file that have no fault, in pieces of at most `AT_ONCE`."""
    rows = _iterate_rows(path, faults)
    n_rows = 0
    while piece := list(islice(rows, AT_ONCE)):
        n_rows += len(piece)
        queries = (_take_query(line, cells, faults) for line, cells in piece)
        yield [query for query in queries if query is not None]
    if n_rows == faults.n == 0:
        raise DataError(f"{path} holds no queries. It must have at least one line that asks.")


def _number_queries(
    piece: list[NamedQuery], graph: KnowledgeGraph, faults: Faults
) -> tuple[Ids, Ids]:
    """Return queries by number, as a `Predictor` takes them; unknown names become faults."""
    asks_subject = np.array([query.subject is None for query in piece], dtype=np.bool_)
    ends = [query.object if query.subject is None else query.subject for query in piece]
    entities = graph.entities.ids(pa.array(ends, pa.string()))
    relations = graph.relations.ids(pa.array([query.relation for query in piece], pa.string()))
    is_good = (entities != UNKNOWN) & (relations != UNKNOWN)
    for place in np.flatnonzero(~is_good).tolist():
        name, vocabulary, kind = (
            (piece[place].relation, graph.relations, "relation")
            if relations[place] == UNKNOWN
            else (str(ends[place]), graph.entities, "entity")
        )
        if name == ASKED_FOR and kind == "entity":
            fault = ASKS_NOTHING
        elif faults.n < SPELLED_FAULTS:
            fault = describe_unknown(vocabulary, name, kind=kind)
        else:
            fault = f"{quote(name)} is unknown as {kind}. Names must stand as in the data."
        faults.add(piece[place].line, fault)
    asked = relations + asks_subject * len(graph.relations)
    return entities[is_good].astype(np.int64), asked[is_good].astype(np.int64)


def _list_rows(
    graph: KnowledgeGraph, entities: Ids, relations: Ids, answers: npt.NDArray[Any]
) -> pa.RecordBatch:
    places, ranks = np.nonzero(answers["entity"] != NOBODY)
    listed = answers[places, ranks]
    is_inverse = pa.array((relations >= len(graph.relations))[places])
    given = graph.entities.array.take(pa.array(entities[places]))
    found = graph.entities.array.take(pa.array(listed["entity"].copy()))
    columns = [
        pc.if_else(is_inverse, found, given),
        graph.relations.array.take(pa.array(relations[places] % len(graph.relations))),
        pc.if_else(is_inverse, given, found),
        pa.array((ranks + 1).astype(np.int32)),
        pa.array(listed["logit"].copy()),
        pa.array(listed["probability"].copy(), mask=np.isnan(listed["probability"])),
        pa.array(listed["is_known"].copy()),
    ]
    return pa.record_batch(columns, SCHEMA)


def _iterate_rows(path: Path, faults: Faults) -> Iterator[tuple[int, Cells]]:
    if not os.path.isfile(path):  # noqa: PTH113 (Path.is_file raises where a name is too long)
        found = "is a folder" if os.path.isdir(path) else "does not exist"  # noqa: PTH112
        raise DataError(f"{path} {found}, but queries are to be read from it. Check the path.")
    match format_of(path):
        case FileFormat.PARQUET:
            return enumerate(_iterate_parquet(path), 1)
        case FileFormat.TSV:
            return _iterate_text(path, "\t", faults)
        case FileFormat.CSV:
            return _iterate_text(path, ",", faults)
        case _:
            raise DataError(f"{path} ends in {path.suffix!r}. {FORMATS}")


def _take_query(line: int, cells: Cells, faults: Faults) -> NamedQuery | None:
    subject, relation, object_ = (cell or None for cell in cells)
    if subject is not None and object_ is not None:
        subject, object_ = (None if end == ASKED_FOR else end for end in (subject, object_))
    if any("\ud800" <= letter <= "\udfff" for cell in cells if cell for letter in cell):
        faults.add(line, "is not UTF-8. Convert the file, for instance with `iconv -t UTF-8`.")
    elif subject is not None and object_ is not None:
        asked = "Leave the one that is asked for empty, or write ?."
        faults.add(line, f"names subject and object. {asked}")
    elif relation is None:
        faults.add(line, "names no relation. Give one: it is what is asked about.")
    elif subject is None and object_ is None:
        faults.add(line, ASKS_NOTHING)
    else:
        return NamedQuery(line, subject, relation, object_)
    return None


def _iterate_text(path: Path, delimiter: str, faults: Faults) -> Iterator[tuple[int, Cells]]:
    """Yield line and cells of every row that is not blank and has the right number of them."""

    def note(line: int, error: csv.Error) -> None:
        faults.add(line, f"cannot be cut into columns ({error}). Mend the line.")

    places: Places | None = None
    n_columns = 0
    try:
        for number, (line, row) in enumerate(iterate_rows(path, delimiter, on_fault=note)):
            n = len(row)
            if number == 0 and (places := _find_places(row)):
                n_columns = n
            elif places is None and n in (2, 3):
                yield line, (*row, None)[:3]
            elif places is None:
                faults.add(line, f"does not hold subject, relation and object, but columns: {n}.")
            elif n == n_columns:
                yield line, [None if place is None else row[place] for place in places]
            else:
                instead = f"{n} instead of {n_columns}"
                faults.add(line, f"has not as many columns as the header: {instead}.")
    except UNPACKING_ERRORS as error:
        raise DataError(
            f"{path} cannot be read to its end ({error}). Copy the file again."
        ) from error


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


def _iterate_parquet(path: Path) -> Iterator[Cells]:
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not a Parquet file ({error}). {FORMATS}") from error
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
        for batch in file.iter_batches(AT_ONCE):
            columns = (
                [None] * len(batch) if place is None else _as_text(path, batch, place)
                for place in places
            )
            yield from zip(*columns, strict=True)


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
