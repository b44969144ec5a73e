"""Frames of pandas, polars and Arrow, Parquet files, and rows of strings."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_frame, read_rows, read_triplets
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.errors import DataError

COLUMNS = {"weight": [0.5, 1.0], "tail": ["b", "c"], "head": ["a", "b"], "relation": ["r", "r"]}
EXPECTED = [["a", "b"], ["r", "r"], ["b", "c"]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_every_library_give_the_same_columns(make: type) -> None:
    findings = Findings()

    table = read_frame(make(COLUMNS), findings)

    assert [column.to_pylist() for column in table.columns] == EXPECTED
    assert findings.faults == []


def test_numbers_serve_as_names() -> None:
    findings = Findings()

    table = read_frame(pl.DataFrame({"a": [1, 2], "b": [7, 7], "c": [2, 3]}), findings)

    assert [column.to_pylist() for column in table.columns] == [["1", "2"], ["7", "7"], ["2", "3"]]


@pytest.mark.parametrize(
    ("columns", "line", "word"),
    [
        ({"head": ["a", None], "relation": ["r", "r"], "tail": ["b", "c"]}, 2, "missing"),
        ({"head": ["a", ""], "relation": ["r", "r"], "tail": ["b", "c"]}, 2, "missing"),
        ({"head": ["a"], "relation": ["r"]}, None, "must be called"),
        ({"head": [0.5], "relation": ["r"], "tail": ["b"]}, None, "of type double"),
        ({"head": [], "relation": [], "tail": []}, None, "holds no rows"),
    ],
)
def test_unusable_frames_are_faults(
    columns: dict[str, list[str]], line: int | None, word: str
) -> None:
    findings = Findings()

    read_frame(pa.table(columns), findings)

    assert findings.faults[0].line == line
    assert word in findings.faults[0].fault


@pytest.mark.parametrize(
    ("subjects", "line", "words"),
    [
        (["a", 1], 2, "subject: holds '1' (int) in a column of mixed types"),
        (["a", ("b", "c")], 2, "(tuple) in a column of mixed types"),
        (["a", "b\ud800"], 2, "cannot be written as UTF-8"),
        (["a", float("nan")], 2, "subject: the name is missing"),
        ([1, float("nan")], None, "of type double.*A missing number"),
    ],
)
def test_cells_of_a_pandas_frame_that_are_no_names_are_faults(
    subjects: list[object], line: int | None, words: str
) -> None:
    frame = pd.DataFrame({"subject": pd.Series(subjects, dtype=object)})
    frame = frame.infer_objects() if line is None else frame
    frame["relation"], frame["object"] = "r", "o"
    findings = Findings()

    read_frame(frame, findings)

    [fault] = findings.faults
    assert fault.line == line
    assert re.search(words.replace("(", r"\(").replace(")", r"\)"), fault.fault)


def test_a_column_given_twice_is_a_fault() -> None:
    findings = Findings()

    read_frame(pd.DataFrame([["a", "r", "b", "c"]], columns=["s", "r", "o", "s"]), findings)

    assert "each once" in findings.faults[0].fault


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_of_polars_are_names(kind: pl.DataType) -> None:
    findings = Findings()
    frame = pl.DataFrame({"s": ["a", "b"], "r": ["r", "r"], "o": ["b", "a"]})

    table = read_frame(frame.with_columns(pl.col("s", "o").cast(kind)), findings)

    assert [column.to_pylist() for column in table.columns] == [["a", "b"], ["r", "r"], ["b", "a"]]
    assert findings.faults == []


def test_rows_may_be_arrays() -> None:
    findings = Findings()

    table = read_rows(np.array([["a", "r", "b"], ["b", "r", "c"]]), findings)

    assert len(table) == 2
    assert findings.faults == []


def test_rows_that_are_no_triplets_are_named_by_their_place() -> None:
    findings = Findings()

    table = read_rows(
        [("a", "r", "b"), ("a", "r"), ("a", 1, "b"), "abc", ("\ud800", "r", "b")], findings
    )

    assert len(table) == 1
    assert [fault.line for fault in findings.faults] == [2, 3, 4, 5]


def test_parquet_is_read_and_a_broken_one_is_a_fault(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(COLUMNS), tmp_path / "g.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and then nonsense")
    good, bad = Findings(), Findings()

    table = read_triplets(tmp_path / "g.parquet", good)
    read_triplets(tmp_path / "bad.parquet", bad)

    assert [column.to_pylist() for column in table.columns] == EXPECTED
    assert "is not a Parquet file" in bad.faults[0].fault


def test_titles_of_columns_cannot_command_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "g.parquet"
    pyarrow.parquet.write_table(pa.table({"\x1b[31mhead": ["a"], "r": ["r"]}), path)
    findings = Findings()

    read_triplets(path, findings)

    assert r"has 2 columns: \x1b[31mhead, r." in findings.faults[0].fault


def test_names_that_look_alike_are_kept_apart_and_that_is_said() -> None:
    names = ["Île", "I\u0302le", "île", "ile", "x"]
    rows = [(a, relation, b) for a in names for b in names for relation in ("knows", "Knows")]

    graph = load(pl.DataFrame(rows, schema=["s", "r", "o"], orient="row"))

    assert isinstance(graph, KnowledgeGraph)
    assert sorted(graph.entities.to_list()) == sorted(names)
    assert graph.notes[1:] == (
        "3 entities have names that differ from another's by case or Unicode form only, for "
        'instance "\\u00cele" and "I\\u0302le"; each is kept as one of its own.',
        "2 relations have names that differ from another's by case or Unicode form only, for "
        'instance "knows" and "Knows"; each is kept as one of its own.',
    )


def test_names_may_be_long_and_hold_tabs_and_line_breaks() -> None:
    names = ["x" * 10_000, "x" * 9_999 + "y", "tab\there", "line\nbreak", "\r", " ", "\x00"]
    rows = [(a, "r\n", b) for a in names for b in names]

    for source in (rows, pd.DataFrame(rows, columns=["s", "r", "o"])):
        graph = load(source)

        assert isinstance(graph, KnowledgeGraph)
        assert graph.entities.to_list() == names


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        (["train", "later", "test"], r":2: is of split 'later'. It must be train, valid or test"),
        (["test", "valid", "test"], "has no triplet of split train"),
        (["train", None, "test"], ":2: split: the name is missing"),
    ],
)
def test_a_column_of_splits_must_say_splits(splits: list[str | None], words: str) -> None:
    frame = pa.table({"s": ["a", "b", "c"], "r": ["r"] * 3, "o": ["b", "c", "a"], "split": splits})

    with pytest.raises(DataError, match=words):
        load(frame)
