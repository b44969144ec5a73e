"""Files of answers to files of queries: one row an answer, written as they are found.

Columns subject, relation, object, rank, score (the logit), probability, known; the end that
was asked for holds the answer. The file is there whole or not at all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Protocol, assert_never, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pyarrow import parquet

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.spelling import describe_unknown, quote
from interstellar.data.vocabulary import UNKNOWN, Vocabulary
from interstellar.errors import DataError, Fault, SettingsError
from interstellar.records.safe_files import replacing_file, require_folder
from interstellar.tasks.prediction import NOBODY, Answers, Predictor
from interstellar.tasks.query_file import Faults, NamedQuery, read_queries

UNWRITABLE = r"[\t\r\n]"
"""What no name in a line of tab-separated text may hold."""
SPELLED_FAULTS = 100
"""Unknown names that get the nearest spellings beside them; looking for these takes a while."""

SCHEMA = pa.schema(
    [
        ("subject", pa.string()),
        ("relation", pa.string()),
        ("object", pa.string()),
        ("rank", pa.int32()),
        ("score", pa.float32()),
        ("probability", pa.float32()),
        ("known", pa.bool_()),
    ]
)

Ids = npt.NDArray[np.int64]


class AnswerForm(StrEnum):
    """How answers are written, by the ending of the file."""

    TSV = ".tsv"
    CSV = ".csv"
    PARQUET = ".parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What came of a file of queries."""

    n_queries: int
    """Queries that were answered."""
    n_answers: int
    n_faults: int
    faults: tuple[Fault, ...]
    """The first of them; see `query_file.MOST_FAULTS`."""


def answer_file(
    predictor: Predictor,
    graph: KnowledgeGraph,
    queries: Path,
    out: Path,
    *,
    k: int,
    with_known: bool = False,
) -> FileOutcome:
    """Answer the queries of a file, and say which of its lines could not be.

    Raises:
        DataError: The file has no query that can be answered; then nothing is written.
    """
    form = choose_form(out, graph)
    faults = Faults(queries)
    n_queries = n_answers = 0
    with replacing_file(out) as file, open_writer(file, form) as writer:
        for piece in read_queries(queries, faults):
            found = number_queries(piece, graph, faults)
            n_queries += len(found.entities)
            for block in answer_piece(predictor, graph, found, k=k, with_known=with_known):
                n_answers += len(block)
                writer.write(block)
        if n_queries == 0:
            raise DataError(
                f"none of the {faults.n} queries can be answered, first {faults.by_line()[0]}",
                faults.by_line(),
            )
    return FileOutcome(
        n_queries=n_queries, n_answers=n_answers, n_faults=faults.n, faults=faults.by_line()
    )


def choose_form(out: Path, graph: KnowledgeGraph) -> AnswerForm:
    """Return the form that a file's name asks for; refuse one that cannot hold the names."""
    require_folder(out.parent)
    if out.suffix.lower() not in list(AnswerForm):
        raise SettingsError(
            f"{out} ends in {out.suffix!r}, but answers are written as {', '.join(AnswerForm)}. "
            "Give --out one of these endings."
        )
    form = AnswerForm(out.suffix.lower())
    if form is AnswerForm.TSV:
        for vocabulary in (graph.entities, graph.relations):
            is_found = pc.match_substring_regex(vocabulary.array, UNWRITABLE)
            place = pc.index(is_found, value=True).as_py()
            if place >= 0:
                raise SettingsError(
                    f"the name {quote(vocabulary.name(place))} holds a tab or a line break, which "
                    f"tab-separated text cannot. Write {out.stem}.csv or .parquet instead."
                )
    return form


@dataclass(frozen=True, slots=True, eq=False)
class NumberedQueries:
    """Queries without fault, by id; a relation from n_relations on asks for subjects."""

    entities: Ids
    relations: Ids


def number_queries(
    piece: list[NamedQuery], graph: KnowledgeGraph, faults: Faults
) -> NumberedQueries:
    """Return the ids of queries; those with an unknown name become faults."""
    asks_subject = np.array([query.subject is None for query in piece], dtype=np.bool_)
    ends = [query.subject or query.object for query in piece]
    entities = graph.entities.ids(pa.array(ends, pa.string()))
    names = pa.array([query.relation for query in piece], pa.string())
    relations = graph.relations.ids(names)
    for place in np.flatnonzero((entities == UNKNOWN) | (relations == UNKNOWN)).tolist():
        name, vocabulary, kind = (
            (piece[place].relation, graph.relations, "relation")
            if relations[place] == UNKNOWN
            else (str(ends[place]), graph.entities, "entity")
        )
        faults.add(piece[place].line, describe_fault(vocabulary, name, kind, faults.n))
    is_good = (entities != UNKNOWN) & (relations != UNKNOWN)
    asked = relations + asks_subject * len(graph.relations)
    return NumberedQueries(entities[is_good].astype(np.int64), asked[is_good].astype(np.int64))


def describe_fault(vocabulary: Vocabulary, name: str, kind: str, n_before: int) -> str:
    """Return that a name is unknown, with the nearest spellings in the first of many faults."""
    if n_before < SPELLED_FAULTS:
        return describe_unknown(vocabulary, name, kind=kind)
    return f"{quote(name)} is unknown as {kind}. Names must stand as in the data."


def answer_piece(
    predictor: Predictor,
    graph: KnowledgeGraph,
    queries: NumberedQueries,
    *,
    k: int,
    with_known: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the answers of some queries as rows of the file."""
    start = 0
    for answers in predictor.answer(
        queries.entities, queries.relations, k=k, with_known=with_known
    ):
        rows = slice(start, start + len(answers))
        yield list_rows(graph, queries.entities[rows], queries.relations[rows], answers)
        start += len(answers)


def list_rows(
    graph: KnowledgeGraph, entities: Ids, relations: Ids, answers: Answers
) -> pa.RecordBatch:
    """Return answers with names, one row each."""
    is_there = answers.entities != NOBODY
    places, ranks = np.nonzero(is_there)
    asks_subject = (relations >= len(graph.relations))[places]
    given = graph.entities.array.take(pa.array(entities[places]))
    found = graph.entities.array.take(pa.array(answers.entities[is_there]))
    asked = graph.relations.array.take(pa.array(relations[places] % len(graph.relations)))
    probabilities = answers.probabilities[is_there]
    is_inverse = pa.array(asks_subject)
    columns = [
        pc.if_else(is_inverse, found, given),
        asked,
        pc.if_else(is_inverse, given, found),
        pa.array((ranks + 1).astype(np.int32)),
        pa.array(answers.logits[is_there]),
        pa.array(probabilities, mask=np.isnan(probabilities)),
        pa.array(answers.is_known[is_there]),
    ]
    return pa.record_batch(columns, SCHEMA)


class Writer(Protocol):
    """Takes rows of answers for a file."""

    def write(self, block: pa.RecordBatch) -> None:
        """Append some rows."""
        ...


@contextmanager
def open_writer(file: BinaryIO, form: AnswerForm) -> Iterator[Writer]:
    """Give what writes answers in a form."""
    match form:
        case AnswerForm.TSV:
            yield TsvWriter(file)
        case AnswerForm.CSV:
            with pyarrow.csv.CSVWriter(file, SCHEMA) as writer:
                yield writer
        case AnswerForm.PARQUET:
            with parquet.ParquetWriter(file, SCHEMA) as writer:
                yield writer
        case _:
            assert_never(form)


@final
class TsvWriter:
    """Writes tab-separated lines without quotes under a header; no probability is no text."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(("\t".join(SCHEMA.names) + "\n").encode())

    def write(self, block: pa.RecordBatch) -> None:
        texts = [pc.fill_null(column.cast(pa.string()), "") for column in block.columns]
        lines: list[str] = pc.binary_join_element_wise(*texts, "\t").to_pylist()
        self._file.write("".join(f"{line}\n" for line in lines).encode())
