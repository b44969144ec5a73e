"""Graphs as frames, and frames as graphs."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from interstellar.data import frames
from interstellar.data.frames import pairs_to_frame, to_frame
from interstellar.data.graph import GraphPair, KnowledgeGraph
from interstellar.data.loading import load
from interstellar.errors import DataError, SettingsError
from tests.data.named_facts import facts
from tests.tiny_graphs import write_rsn_folder

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
    assert pairs["split"].value_counts().to_dict() == {"seeds": 6, "valid": 1, "test": 13}
    assert pairs.iloc[0].tolist() == ["g1/14", "g2/34", "seeds"]


def test_a_library_that_is_unknown_or_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(frames, "import_module", fail)
    graph = load("geography-S1")

    with pytest.raises(SettingsError, match="Choose arrow, pandas, polars"):
        to_frame(graph, "dask")
    with pytest.raises(SettingsError, match="Run `pip install polars`"):
        to_frame(graph, "polars")


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
