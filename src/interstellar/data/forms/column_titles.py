"""Titles of columns that are not those we know, and so were read as a triplet."""

from pathlib import Path

import numpy as np

from interstellar.data.findings import Findings
from interstellar.data.reading.columns import TRIPLET
from interstellar.data.reading.files import FileForm, form_of
from interstellar.data.reading.name_table import NameTable
from interstellar.data.spelling import quote
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets

LEAST_ROWS = 4
"""In fewer, names that stand only once are nothing unusual."""


def note_titles(table: NameTable, triplets: Triplets, findings: Findings) -> None:
    """Say so where the first row of a text file names nothing that another row does.

    Args:
        table: As it was read.
        triplets: The same in numbers, row by row.
        findings: Takes the note.
    """
    if len(triplets) < LEAST_ROWS or not _is_text(table.file) or not _stands_alone(triplets):
        return
    titles = ", ".join(quote(table.cell(0, column)) for column in range(len(TRIPLET)))
    place = table.file.name if isinstance(table.file, Path) else table.file
    findings.note(
        f"{place}: the first row, {titles}, names nothing that another row does. It was taken as "
        f"a triplet; if it holds titles of columns, call them {', '.join(TRIPLET.names)}."
    )


def _is_text(file: Path | str) -> bool:
    return isinstance(file, Path) and form_of(file) in (FileForm.TSV, FileForm.CSV)


def _stands_alone(triplets: Triplets) -> bool:
    first, others = triplets[0], triplets[1:]
    if np.any(others[:, RELATION] == first[RELATION]):
        return False
    ends = [SUBJECT, OBJECT]
    return not np.isin(others[:, ends], first[ends]).any()
