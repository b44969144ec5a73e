"""Names side by side, separated by tabs, unquoted, one row a line."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.frames import name_triplets, take_names
from interstellar.data.graph import Graph
from interstellar.data.reading.columns import TRIPLET
from interstellar.data.spelling import quote
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError

UNWRITABLE = re.compile(r"[\t\r\n]")
BYTE_ORDER_MARK = "\ufeff"
ROWS_AT_ONCE = 2**16


def write_triplets(
    triplets: Triplets, entities: Vocabulary, relations: Vocabulary, path: Path
) -> None:
    """Write one file of triplets by name.

    There is a header only where the first row would be taken for one.
    """
    columns = [column.combine_chunks() for column in name_triplets(triplets, entities, relations)]
    first = [column[0].as_py() for column in columns]
    write_columns(columns, path, header=TRIPLET.names if TRIPLET.find(first) else ())


def write_links(pairs: npt.NDArray[np.int32], first: Graph, second: Graph, path: Path) -> None:
    """Write one file of pairs by name."""
    columns = [take_names(first.entities, pairs[:, 0]), take_names(second.entities, pairs[:, 1])]
    write_columns(columns, path)


def write_columns(columns: Sequence[pa.Array], path: Path, *, header: Sequence[str] = ()) -> None:
    """Write columns of names into a new file."""
    with path.open("wb") as file:
        write_lines(columns, file, header=header)
        file.flush()
        os.fsync(file.fileno())


def write_lines(
    columns: Sequence[pa.Array], file: IO[bytes], *, header: Sequence[str] = ()
) -> None:
    """Write columns of names; refuse those that a line cannot hold."""
    for column in columns:
        refuse_unwritable(column)
    if not header and columns[0][0].as_py().startswith(BYTE_ORDER_MARK):
        file.write(BYTE_ORDER_MARK.encode())  # readers take the first one for no part of the name
    if header:
        file.write(("\t".join(header) + "\n").encode())
    for start in range(0, len(columns[0]), ROWS_AT_ONCE):
        cells = [column[start : start + ROWS_AT_ONCE] for column in columns]
        lines = pc.binary_join_element_wise(*cells, "\t") if len(cells) > 1 else cells[0]
        file.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def refuse_unwritable(names: pa.Array) -> None:
    """Raise where a name has a letter that ends a cell or a line."""
    place = pc.index(pc.match_substring_regex(names, UNWRITABLE.pattern), value=True).as_py()
    if place >= 0:
        raise DataError(
            f"the name {quote(names[place].as_py())} holds a tab or a line break, which a line of "
            "tab-separated text cannot. Rename it, or write .csv, .parquet, .nt or .ttl."
        )
