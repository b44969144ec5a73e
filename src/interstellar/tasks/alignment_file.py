"""A whole alignment as a file of names: tab-separated, or Parquet where its name says so."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from interstellar.data.graph import GraphPair
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.records.safe_files import replacing_file, require_folder
from interstellar.tasks.whole_alignment import FIRST, SECOND, WholeAlignment

PARQUET = ".parquet"
UNWRITABLE = r"[\t\r\n]"
"""What a name in a line of tab-separated text cannot hold."""


def write_alignment(alignment: WholeAlignment, graph: GraphPair, path: Path) -> None:
    """Write all pairs."""
    _write(alignment_table(alignment, graph), path)


def alignment_table(alignment: WholeAlignment, graph: GraphPair) -> pa.Table:
    """Return all pairs by name: `first`, `second`, `score`, `known`."""
    return pa.table(
        {
            "first": _names(graph.first.entities, alignment.pairs[:, FIRST]),
            "second": _names(graph.second.entities, alignment.pairs[:, SECOND]),
            "score": pa.array(alignment.similarities.astype(np.float32)),
            "known": pa.array(alignment.is_known),
        }
    )


def write_unmatched(alignment: WholeAlignment, graph: GraphPair, path: Path) -> None:
    """Write all entities in no pair: `graph` (first or second), `entity`."""
    first = _names(graph.first.entities, alignment.unmatched_first)
    second = _names(graph.second.entities, alignment.unmatched_second)
    side = np.repeat(["first", "second"], [len(first), len(second)])
    _write(pa.table({"graph": pa.array(side), "entity": pa.concat_arrays([first, second])}), path)


def refuse_unwritable(graph: GraphPair, path: Path) -> None:
    """Raise if a file cannot be written there, or a name cannot be written into it."""
    require_folder(path.parent)
    if path.suffix.lower() == ".csv":
        raise SettingsError(
            f"{path} would hold tab-separated text. Write {path.stem}.tsv or {path.stem}{PARQUET}."
        )
    if path.suffix.lower() == PARQUET:
        return
    for entities in (graph.first.entities, graph.second.entities):
        is_found = pc.match_substring_regex(entities.array, UNWRITABLE)
        place = pc.index(is_found, value=True).as_py()
        if place >= 0:
            raise DataError(
                f"the name {entities.name(place)[:80]!r} holds a tab or a line break, which "
                f"a line of tab-separated text cannot. Write {path.stem}{PARQUET} instead."
            )


def _names(vocabulary: Vocabulary, ids: npt.NDArray[np.int32]) -> pa.Array:
    return vocabulary.array.take(pa.array(ids))


def _write(table: pa.Table, path: Path) -> None:
    with replacing_file(path) as file:
        if path.suffix.lower() == PARQUET:
            parquet.write_table(table, file)
        else:
            file.write("\t".join(table.column_names).encode() + b"\n")
            file.writelines(_lines(table))


def _lines(table: pa.Table) -> list[bytes]:
    columns = [column.to_pylist() for column in table.columns]
    return ["\t".join(map(_text, row)).encode() + b"\n" for row in zip(*columns, strict=True)]


def _text(value: object) -> str:
    """Return true and false in small letters, numbers with the digits that float32 has."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.7g}"
        case _:
            return str(value)
