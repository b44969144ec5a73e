"""Pairs of entities known to mean the same: numbering them and checking them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from interstellar.data.findings import Findings
from interstellar.data.graph import Pairs
from interstellar.data.reading.name_table import NameTable
from interstellar.data.vocabulary import UNKNOWN, Vocabulary


def number_pairs(
    table: NameTable, first: Vocabulary, second: Vocabulary, findings: Findings
) -> Pairs:
    """Return a table of pairs as ids of the two graphs.

    A pair that names an unknown entity, and one whose entity has a partner already,
    is recorded as a fault and left out.
    """
    columns = []
    for column, (vocabulary, which) in enumerate(((first, "first"), (second, "second"))):
        ids = vocabulary.ids(table.columns[column])
        record_unknown(table, column, ids == UNKNOWN, which, findings)
        record_taken(table, column, ids, findings)
        columns.append(ids)
    pairs: Pairs = np.stack(columns, axis=1)
    return np.delete(pairs, np.flatnonzero((pairs == UNKNOWN).any(axis=1)), axis=0)


def record_unknown(
    table: NameTable, column: int, is_unknown: npt.NDArray[np.bool_], which: str, findings: Findings
) -> None:
    """Record each row whose entity is not in its graph."""
    table.record_faults(
        is_unknown,
        lambda row: (
            f"names {table.cell(row, column)!r}, which the {which} graph does not hold. "
            "Mend the name, or check that the columns are in the order of the graphs."
        ),
        findings,
    )


def record_taken(table: NameTable, column: int, ids: Pairs, findings: Findings) -> None:
    """Record each row whose entity stands in a pair above."""
    known = np.where(ids == UNKNOWN, -1 - np.arange(len(ids)), ids)  # unknowns never repeat
    first_rows = np.unique(known, return_index=True)[1]
    is_taken = np.ones(len(ids), dtype=bool)
    is_taken[first_rows] = False
    table.record_faults(
        is_taken,
        lambda row: (
            f"pairs {table.cell(row, column)!r} a second time. "
            "An entity has one partner at most: keep one of the pairs."
        ),
        findings,
    )


def record_overlap(file: Path | str, seeds: Pairs, evaluation: Pairs, findings: Findings) -> None:
    """Record that pairs for evaluation name entities whose partner training is told."""
    for column, which in enumerate(("first", "second")):
        n_shared = len(np.intersect1d(seeds[:, column], evaluation[:, column]))
        if n_shared:
            findings.fault(
                file,
                None,
                f"shares {n_shared:,} entities of the {which} graph with the seeds. What is "
                "evaluated must not be told in training: take the seeds out of this file.",
            )


def note_shared_names(first: Vocabulary, second: Vocabulary, findings: Findings) -> None:
    """Say how many names stand for an entity of each graph."""
    n_shared = int((second.ids(first.array) != UNKNOWN).sum())
    if n_shared:
        findings.note(
            f"{n_shared:,} names occur in both graphs; each graph keeps its own entity for them."
        )
