"""Columns of names as they were read, and how they become numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.formats.files import FileFormat, format_of
from interstellar.data.spelling import quote, shorten
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets, distinct_triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import SettingsError
from interstellar.printable import printable

SPLIT = "split"
MOST_TITLES = 8
LEAST_ROWS = 4
"""In fewer, names that stand only once are nothing unusual."""
TEXT_FORMATS = (FileFormat.TSV, FileFormat.CSV)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are looked for, and what each is called in the wild, lower case."""

    names: tuple[str, ...]
    words: tuple[frozenset[str], ...]
    has_split: bool = False
    """Whether a column called `split` may stand beside them."""
    given: tuple[str | int, ...] | None = None
    """Which columns to take, by name or by number counted from 1; None: find them."""

    def __len__(self) -> int:
        return len(self.names)

    def find(self, header: Sequence[str]) -> tuple[int, ...] | None:
        """Return the places of the columns, or None if this is no header.

        A row is a header when each column is named exactly once by a usual word; other
        columns may stand beside them.
        """
        cells = [cell.strip().lower() for cell in header]
        words = self.words
        if self.given is not None:
            words = tuple(frozenset({str(name).strip().lower()}) for name in self.given)
        places = [[i for i, cell in enumerate(cells) if cell in these] for these in words]
        return None if any(len(found) != 1 for found in places) else tuple(i for [i] in places)

    def find_places(self, header: Sequence[str]) -> tuple[int, ...] | None:
        """Return the places of the columns by number or by name, or None if they are not there."""
        if self.numbers is None:
            return self.find(header)
        return self.numbers if max(self.numbers) < len(header) else None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The places of the columns, where they were given by number."""
        if self.given is None or not all(isinstance(each, int) for each in self.given):
            return None
        return tuple(int(each) - 1 for each in self.given)

    def choose(self, given: Sequence[str | int] | None) -> "Columns":
        """Return these columns with their names or numbers as a user gives them."""
        if given is None:
            return self
        read = [int(each) if str(each).strip().isdecimal() else each for each in given]
        kinds = {isinstance(each, int) for each in read}
        if not len(read) == len(set(read)) == len(self) or len(kinds) != 1 or 0 in read:
            raise SettingsError(
                f"columns {', '.join(map(str, given))} are not {len(self)} names or {len(self)} "
                f"numbers. Give those of {', '.join(self.names)}, as in from, type, to or 1, 2, 3."
            )
        return replace(self, given=tuple(read))

    def find_split(self, header: Sequence[str]) -> int | None:
        """Return the place of the column that says to which split a row belongs, if any."""
        cells = [cell.strip().lower() for cell in header]
        return cells.index(SPLIT) if self.has_split and cells.count(SPLIT) == 1 else None


TRIPLET = Columns(
    ("subject", "relation", "object"),
    (
        frozenset({"subject", "head", "source", "from", "s", "h", "subj"}),
        frozenset({"relation", "predicate", "property", "relationship", "edge", "r", "p", "rel"}),
        frozenset({"object", "tail", "target", "to", "o", "t", "obj"}),
    ),
    has_split=True,
)

PAIR = Columns(
    ("source", "target"),
    (
        frozenset({"first", "left", "source", "entity1", "entity_1", "e1", "graph1", "from"}),
        frozenset({"second", "right", "target", "entity2", "entity_2", "e2", "graph2", "to"}),
    ),
)


def describe_header(header: Sequence[str], columns: Columns) -> str:
    """Return what is wrong with columns among which those that are needed are not found."""
    found = ", ".join(map(shorten, header[:MOST_TITLES])) or "(none)"
    more = f" and {len(header) - MOST_TITLES} more" if len(header) > MOST_TITLES else ""
    n = len(columns)
    if columns.given is not None:
        wanted = ", ".join(map(str, columns.given))
        return f"has {len(header)} columns: {found}{more}. The columns {wanted} are not among them."
    if len(header) == 1:
        return (
            f"has one column: {found}. There must be {n}, separated by tabs in .tsv and .txt and "
            "by commas in .csv. Give the file the ending of its format."
        )
    choice = f", or give `columns`, the names or numbers of the {n}" if columns.has_split else ""
    return (
        f"has {len(header)} columns: {found}{more}. {n} of them must be called "
        f"{', '.join(columns.names)}, or there must be just {n}. Rename them{choice}."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NameTable:
    """Equally long columns of names, and where each row stood."""

    file: Path | str
    columns: tuple[pa.ChunkedArray, ...]
    """Arrow arrays of strings."""
    list_lines: Callable[[], Sequence[int]]
    """Returns the line, counted from 1, of every row; asked only when there is a fault."""
    splits: pa.ChunkedArray | None = None
    """The split of each row in the file's own words, where it has such a column."""
    labels: Mapping[str, str] | None = None
    """What people call some of the entities, where the file says so and it was asked for."""

    @property
    def name(self) -> str:
        """What the file or object is called in messages."""
        return printable(self.file.name if isinstance(self.file, Path) else self.file.strip("<>"))

    def __len__(self) -> int:
        return len(self.columns[0])

    def record_faults(
        self, is_faulty: npt.NDArray[np.bool_], what: Callable[[int], str], findings: Findings
    ) -> None:
        """Record a fault for every row marked; `what` gets the row and words the fault."""
        rows = np.flatnonzero(is_faulty).tolist()
        if rows:
            lines = self.list_lines()
            for row in rows:
                findings.fault(self.file, lines[row], what(row))

    def with_splits(self, has_splits: bool) -> "NameTable":
        """Return the table with its last column taken as that of the splits, if it has one."""
        if not has_splits:
            return self
        return replace(self, columns=self.columns[:-1], splits=self.columns[-1])

    def cell(self, row: int, column: int) -> str:
        """Return one name for a message: the middle of a very long one is left out."""
        return shorten(str(self.columns[column][row].as_py()))


def build_table(
    file: Path | str,
    columns: Iterable[Sequence[str]],
    lines: Sequence[int],
    labels: Mapping[str, str] | None = None,
) -> NameTable:
    """Return columns of Python strings as a table."""
    arrays = tuple(pa.chunked_array([pa.array(column, pa.string())]) for column in columns)
    return NameTable(file=file, columns=arrays, list_lines=lambda: lines, labels=labels)


def empty_table(file: Path | str, n_columns: int) -> NameTable:
    """Return a table of no rows, for going on after a fault."""
    return build_table(file, [()] * n_columns, ())


def number_tables(tables: Sequence[NameTable]) -> tuple[Vocabulary, Vocabulary, list[Triplets]]:
    """Number entities and relations by first appearance, table after table.

    Training comes first, so what is unseen in training has the highest numbers.
    """
    entity_columns = [table.columns[place] for table in tables for place in (0, 2)]
    relation_columns = [table.columns[1] for table in tables]
    with ThreadPoolExecutor(2) as pool:  # Arrow lets go of the interpreter while it hashes
        numbered = pool.map(number_columns, (entity_columns, relation_columns))
    (entities, entity_ids), (relations, relation_ids) = numbered
    triplets = [
        np.stack([entity_ids[2 * i], relation_ids[i], entity_ids[2 * i + 1]], axis=1)
        for i in range(len(tables))
    ]
    labels = {name: label for table in tables for name, label in (table.labels or {}).items()}
    return Vocabulary(entities.array, labels), relations, triplets


def number_columns(
    columns: Sequence[pa.ChunkedArray],
) -> tuple[Vocabulary, list[npt.NDArray[np.int32]]]:
    """Return one vocabulary for all columns, and each column as ids."""
    chunks = [chunk for column in columns for chunk in column.chunks if len(chunk)]
    if not chunks:
        return Vocabulary([]), [np.empty(0, np.int32) for _ in columns]
    unified = pa.chunked_array(chunks).dictionary_encode()  # of all chunks one
    ids = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])
    ends = np.cumsum([len(column) for column in columns])
    vocabulary = Vocabulary(unified.chunk(0).dictionary)
    return vocabulary, np.split(ids.astype(np.int32, copy=False), ends[:-1])


def keep_distinct(triplets: Triplets, place: str, findings: Findings) -> Triplets:
    """Return each triplet once, and say how many were dropped."""
    kept = distinct_triplets(triplets)
    n_dropped = len(triplets) - len(kept)
    if n_dropped:
        noun = "triplet was" if n_dropped == 1 else "triplets were"
        findings.note(f"{place}: {n_dropped:,} duplicate {noun} dropped (each is kept once).")
    return kept


def note_titles(table: NameTable, triplets: Triplets, findings: Findings) -> None:
    """Say so where the first row of a text file names nothing that another row does.

    `triplets` are the rows of `table` in numbers.
    """
    is_text = isinstance(table.file, Path) and format_of(table.file) in TEXT_FORMATS
    if not is_text or len(triplets) < LEAST_ROWS:
        return
    first, others, ends = triplets[0], triplets[1:], [SUBJECT, OBJECT]
    if (others[:, RELATION] == first[RELATION]).any():
        return
    if np.isin(others[:, ends], first[ends]).any():
        return
    titles = ", ".join(quote(table.cell(0, column)) for column in range(len(TRIPLET)))
    findings.note(
        f"{table.name}: the first row, {titles}, names nothing that another row does. It was "
        f"taken as a triplet; if it holds titles of columns, call them "
        f"{', '.join(TRIPLET.names)}."
    )
