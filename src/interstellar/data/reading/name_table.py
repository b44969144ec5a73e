"""Columns of names as they were read, before they become numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NameTable:
    """Equally long columns of names, and where each row stood."""

    file: Path | str
    columns: tuple[pa.ChunkedArray, ...]
    """Arrow arrays of strings."""
    list_lines: Callable[[], Sequence[int]]
    """Returns the line, counted from 1, of every row; asked only when there is a fault."""

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

    def cell(self, row: int, column: int) -> str:
        """Return one name."""
        return str(self.columns[column][row].as_py())


def as_names(names: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    """Return names as strings in one or more chunks."""
    chunked = names if isinstance(names, pa.ChunkedArray) else pa.chunked_array([names])
    return chunked.cast(pa.string())


def empty_table(file: Path | str, n_columns: int) -> NameTable:
    """Return a table of no rows, for going on after a fault."""
    column = as_names(pa.array([], pa.string()))
    return NameTable(file=file, columns=(column,) * n_columns, list_lines=lambda: range(0))
