"""Columns of names as they were read, before they become numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.spelling import shorten


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

    def __len__(self) -> int:
        """Return how many rows there are."""
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


def as_names(names: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    """Return names as strings in one or more chunks."""
    chunked = names if isinstance(names, pa.ChunkedArray) else pa.chunked_array([names])
    return chunked.cast(pa.string())


def empty_table(file: Path | str, n_columns: int) -> NameTable:
    """Return a table of no rows, for going on after a fault."""
    column = as_names(pa.array([], pa.string()))
    return NameTable(file=file, columns=(column,) * n_columns, list_lines=lambda: range(0))
