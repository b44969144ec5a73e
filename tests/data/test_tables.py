"""Tables of names and numbers: what is written reads back, or is refused."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from interstellar.data import tables
from interstellar.data.graph import GraphPair
from interstellar.data.loading import load
from interstellar.data.tables import (
    TableFormat,
    open_table,
    pairs_to_frame,
    refuse_unwritable,
    table_format_of,
    to_frame,
    write_columns,
    write_table,
)
from interstellar.errors import DataError, SettingsError
from tests.data.named_facts import facts
from tests.data.written_tables import read_table
from tests.tiny_graphs import write_rsn_folder

NAMES = [
    "=1+1",
    'say "hi"',
    "back\\slash",
    "C:\\temp",
    "-x",
    "@y",
    "🦊",
    " spaced ",
    "a,b",
    "\ufeffbom",
]
TABBED = ["tab\there", "line\nbreak", "carriage\rreturn"]


def table_of(names: list[str]) -> pa.Table:
    numbers = [n / 3 for n in range(len(names))]
    return pa.table(
        {
            "name": pa.array(names, pa.string()),
            "score": pa.array(numbers, pa.float32()),
            "known": pa.array([n % 2 == 0 for n in range(len(names))]),
        }
    )


@pytest.mark.parametrize("format", TableFormat)
def test_odd_names_and_numbers_read_back_as_they_were(format: TableFormat, tmp_path: Path) -> None:
    names = NAMES if format is TableFormat.TSV else NAMES + TABBED
    path = tmp_path / f"out.{format}"

    with path.open("wb") as file:
        write_table(table_of(names), file, format)

    back = read_table(path)
    assert back["name"].to_pylist() == names
    assert back["score"].cast(pa.float32()).equals(table_of(names)["score"])


@pytest.mark.parametrize("name", TABBED)
def test_a_name_that_a_tab_separated_line_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"tab or a line break.*\.csv or \.parquet"):
        refuse_unwritable([pa.array(["good", name])], TableFormat.TSV)
    with pytest.raises(DataError, match="tab or a line break"):
        write_table(table_of(["good", name]), io.BytesIO(), TableFormat.TSV)
    refuse_unwritable([pa.array(["good", name])], TableFormat.CSV)


def test_batches_follow_one_another_under_one_header() -> None:
    table = table_of(["a", "b", "c"])
    file = io.BytesIO()

    with open_table(file, table.schema, TableFormat.TSV) as writer:
        for batch in table.to_batches(max_chunksize=2):
            writer.write(batch)

    assert file.getvalue().decode().splitlines() == [
        "name\tscore\tknown",
        "a\t0\ttrue",
        "b\t0.33333334\tfalse",
        "c\t0.6666667\ttrue",
    ]


def test_a_missing_value_is_empty_text() -> None:
    file = io.BytesIO()

    write_table(
        pa.table({"name": ["a"], "p": pa.array([None], pa.float32())}), file, TableFormat.TSV
    )

    assert file.getvalue() == b"name\tp\na\t\n"


def test_without_a_header_a_mark_at_the_very_beginning_stays_part_of_the_name(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.tsv"

    write_columns([pa.array(["\ufeffa"])], path)

    assert path.read_text(encoding="utf-8-sig") == "\ufeffa\n"


def test_an_ending_that_is_no_table_is_refused_with_those_that_are() -> None:
    assert table_format_of(Path("x.CSV")) is TableFormat.CSV
    with pytest.raises(SettingsError, match=r"\.npy.*\.tsv, \.csv or \.parquet"):
        table_format_of(Path("x.npy"))


KINDS = {"arrow": pa.Table, "pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.parametrize("library", KINDS)
def test_a_graph_becomes_a_frame_and_comes_back_with_its_splits(library: str) -> None:
    graph = load("geography-S2")

    frame = to_frame(graph, library)

    assert isinstance(frame, KINDS[library])
    assert facts(load(frame)) == facts(graph)


def test_two_graphs_and_their_pairs_become_two_frames(tmp_path: Path) -> None:
    graph = load(write_rsn_folder(tmp_path))
    assert isinstance(graph, GraphPair)

    triplets, pairs = to_frame(graph, "pandas"), pairs_to_frame(graph, "pandas")

    assert list(triplets.columns) == ["subject", "relation", "object", "graph"]
    assert triplets.groupby("graph").size().tolist() == [20, 20]
    assert pairs["split"].value_counts().to_dict() == {"train": 6, "valid": 1, "test": 13}
    assert pairs.iloc[0].tolist() == ["g1/14", "g2/34", "train"]


def test_a_library_that_is_unknown_or_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(tables, "import_module", fail)
    graph = load("geography-S1")

    with pytest.raises(SettingsError, match="Choose arrow, pandas, polars"):
        to_frame(graph, "dask")
    with pytest.raises(SettingsError, match="Run `pip install polars`"):
        to_frame(graph, "polars")
