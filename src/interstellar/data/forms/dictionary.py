"""Dictionaries of numbered names, as the id-based forms keep them beside their triplets.

The numbers of such a file need not be consecutive; ours are: the order of its lines.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.reading.name_table import NameTable
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import UNKNOWN, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Names, and the marks (ids as written in the files) that stand for them."""

    file: Path | str
    names: Vocabulary
    marks: Vocabulary


def build_dictionary(
    table: NameTable, *, mark_column: int, name_column: int, findings: Findings
) -> Dictionary:
    """Take a table of two columns as a dictionary; record marks that stand twice."""
    marks = as_vocabulary(table.columns[mark_column])
    names = as_vocabulary(table.columns[name_column])
    record_repeats(table, mark_column, marks, "id", findings)
    record_repeats(table, name_column, names, "name", findings)
    return Dictionary(table.file, names, marks)


def as_vocabulary(column: pa.ChunkedArray) -> Vocabulary:
    """Return the cells of one column in the order of the rows."""
    return Vocabulary(pa.concat_arrays(column.cast(pa.string()).chunks))


def record_repeats(
    table: NameTable, column: int, cells: Vocabulary, noun: str, findings: Findings
) -> None:
    """Record each row whose cell stands in a row above."""
    first_rows = cells.ids(cells.array)
    table.record_faults(
        first_rows != np.arange(len(cells)),
        lambda row: (
            f"gives the {noun} {table.cell(row, column)!r} a second time. Each must stand once."
        ),
        findings,
    )


def number_triplets(
    table: NameTable,
    entities: Dictionary,
    relations: Dictionary,
    findings: Findings,
    *,
    order: tuple[int, int, int] = (0, 1, 2),
) -> Triplets:
    """Turn marks into our ids; record those that their dictionary lacks, drop their rows.

    Args:
        table: Three columns of marks.
        entities: What the marks of subjects and objects mean.
        relations: What the marks of relations mean.
        findings: Where unknown marks are recorded.
        order: The places of subject, relation and object (OpenKE writes the object second).
    """
    columns = [
        look_up(table, place, dictionary, findings)
        for place, dictionary in zip(order, (entities, relations, entities), strict=True)
    ]
    triplets: Triplets = np.stack(columns, axis=1)
    return np.delete(triplets, np.flatnonzero((triplets == UNKNOWN).any(axis=1)), axis=0)


def look_up(
    table: NameTable, column: int, dictionary: Dictionary, findings: Findings
) -> npt.NDArray[np.int32]:
    """Return the ids of one column of marks; record the marks that are unknown."""
    ids = dictionary.marks.ids(table.columns[column])
    place = Path(dictionary.file).name
    table.record_faults(
        ids == UNKNOWN,
        lambda row: (
            f"names the id {table.cell(row, column)!r}, which {place} does not hold. "
            "Add it there or drop the line."
        ),
        findings,
    )
    return ids
