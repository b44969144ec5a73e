"""Embeddings by name in a file."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.graph import GraphPair
from interstellar.errors import DataError, SettingsError
from interstellar.inference import export as export_module
from interstellar.inference.export import (
    EmbeddingFormat,
    escape_words,
    export_embeddings,
    read_word,
)
from interstellar.runs.trained_run import TrainedRun
from tests.data.written_tables import read_table
from tests.inference.named_runs import ODD_NAMES, aligned_run, linked_run

WRITABLE_NAMES = tuple(name for name in ODD_NAMES if not set("\t\n") & set(name))

Vectors = npt.NDArray[np.float32]


def all_vectors(trained: TrainedRun) -> Vectors:
    """Return subjects, objects and relations one below the other."""
    network = trained.path_network
    tables = (network.subjects, network.objects, network.relations)
    return np.concatenate([table.detach().numpy() for table in tables])


def test_parquet_holds_every_table_with_its_names(tmp_path: Path) -> None:
    trained = linked_run()

    written = export_embeddings(trained, tmp_path / "all.parquet")

    table = pq.read_table(tmp_path / "all.parquet")
    n = len(ODD_NAMES)
    assert (written.entities, written.relations, written.dim, written.rows) == (n, 2, 4, 2 * n + 4)
    assert table.column_names == ["name", "kind", "table", "graph", "is_inverse", "vector"]
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 4)
    entities = trained.task.graph.all_entities.to_list()
    assert table["name"].to_pylist() == [*entities, *entities, *["next", "next but one"] * 2]
    assert table["kind"].to_pylist() == ["entity"] * 2 * n + ["relation"] * 4
    assert table["table"].to_pylist()[:: n - 1][:2] == ["subjects", "subjects"]
    assert table["is_inverse"].to_pylist() == [False] * (2 * n + 2) + [True] * 2
    assert set(table["graph"].to_pylist()) == {1}
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist()), all_vectors(trained))


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_text_holds_the_same_with_names_as_they_stand(tmp_path: Path, format: str) -> None:
    trained = linked_run(ODD_NAMES if format == "csv" else WRITABLE_NAMES)

    export_embeddings(trained, tmp_path / f"all.{format}")

    table = read_table(tmp_path / f"all.{format}")
    assert table.column_names[:5] == ["name", "kind", "table", "graph", "is_inverse"]
    assert table.column_names[5:] == ["v1", "v2", "v3", "v4"]
    rows = [list(row.values()) for row in table.to_pylist()]
    entities = trained.task.graph.all_entities.to_list()
    assert [row[0] for row in rows] == [*entities, *entities, *["next", "next but one"] * 2]
    assert rows[1][:5] == ["two words", "entity", "subjects", "1", "false"]
    assert [row[4] for row in rows[-2:]] == ["true", "true"]
    numbers = np.array([row[5:] for row in rows], dtype=np.float32)
    np.testing.assert_array_equal(numbers, all_vectors(trained))


def test_a_name_that_a_line_cannot_hold_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match=r"holds a tab or a line break.*\.csv or \.parquet"):
        export_embeddings(linked_run(), tmp_path / "all.tsv")

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "words.vec"
    path.write_text("mine")

    with pytest.raises(SettingsError, match=r"words\.vec exists.*`overwrite`"):
        export_embeddings(linked_run(), path)
    assert path.read_text() == "mine"
    export_embeddings(linked_run(), path, overwrite=True)
    assert path.read_text() != "mine"


@given(
    names=st.lists(st.text(min_size=1), min_size=1, max_size=5),
    marks=st.lists(st.sampled_from(["graph1", "subject", "inverse"])),
)
def test_a_word_has_no_white_space_and_is_read_back_with_its_marks(
    names: list[str], marks: list[str]
) -> None:
    words = escape_words(pa.array(names)).to_pylist()

    for name, word in zip(names, words, strict=True):
        assert word.split() == [word]
        assert read_word("%".join([word, *marks])) == (name, tuple(marks))


def read_words(path: Path) -> dict[str, Vectors]:
    """Read a word-vector file as the tools do: split at white space."""
    lines = path.read_text(encoding="utf-8").splitlines()
    n, dim = map(int, lines[0].split())
    rows = [line.split() for line in lines[1:]]
    assert len(rows) == n
    assert {len(row) for row in rows} == {dim + 1}
    return {word: np.array(numbers, dtype=np.float32) for word, *numbers in rows}


@pytest.mark.parametrize("suffix", [".txt", ".vec"])
def test_word_vectors_are_the_subjects_by_names_that_can_be_read_back(
    tmp_path: Path, suffix: str
) -> None:
    trained = linked_run()
    path = tmp_path / f"words{suffix}"

    export_embeddings(trained, path)

    words = read_words(path)
    entities = trained.task.graph.all_entities.to_list()
    assert [read_word(word) for word in words] == [(name, ()) for name in entities]
    assert {"plain", "two%20words", "100%25", "%2520", "Île", "back\\slash"} <= set(words)
    np.testing.assert_array_equal(
        np.stack(list(words.values())), trained.path_network.subjects.detach().numpy()
    )


def test_word_vectors_of_several_tables_are_marked(tmp_path: Path) -> None:
    trained = linked_run(["a", "b", "c", "a%subject"])

    export_embeddings(trained, tmp_path / "words.vec", table="all")

    words = read_words(tmp_path / "words.vec")
    assert len(words) == 2 * 4 + 4
    assert {"a%subject", "a%25subject%subject", "b%object", "next%relation%inverse"} <= set(words)
    assert read_word("a%25subject%subject") == ("a%subject", ("subject",))
    assert read_word("next%20but%20one%relation%inverse") == (
        "next but one",
        ("relation", "inverse"),
    )


def test_two_graphs_keep_their_vectors_apart(tmp_path: Path) -> None:
    trained = aligned_run(tmp_path)
    graph = trained.task.graph
    assert isinstance(graph, GraphPair)

    written = export_embeddings(trained, tmp_path / "all.parquet")
    export_embeddings(trained, tmp_path / "words.vec")

    table = pq.read_table(tmp_path / "all.parquet")
    assert (written.entities, written.relations) == (20, 3)
    assert written.rows == 2 * 20 + 2 * 3
    assert table["graph"].to_pylist() == [*([1] * 10 + [2] * 10) * 2, *[1, 2, 2] * 2]
    assert table["name"].to_pylist()[-3:] == ["next", "next", "after"]
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist()), all_vectors(trained))
    words = read_words(tmp_path / "words.vec")
    assert {"e0%graph1", "e0%graph2", "e9", "other%203"} <= set(words)
    np.testing.assert_array_equal(
        words["e0%graph2"], trained.path_network.subjects[10].detach().numpy()
    )


@pytest.mark.parametrize("format", EmbeddingFormat)
def test_blocks_do_not_show_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: EmbeddingFormat
) -> None:
    trained = linked_run(WRITABLE_NAMES)
    export_embeddings(trained, tmp_path / "at_once", format=format)
    monkeypatch.setattr(export_module, "ROWS_AT_ONCE", 5)

    export_embeddings(trained, tmp_path / "in_blocks", format=format)

    if format is EmbeddingFormat.PARQUET:
        at_once, in_blocks = (pq.read_table(tmp_path / n) for n in ("at_once", "in_blocks"))
        assert at_once.equals(in_blocks)
    else:
        assert (tmp_path / "at_once").read_bytes() == (tmp_path / "in_blocks").read_bytes()


def test_an_ending_that_says_nothing_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ends in '.npz', which is no format of embeddings"):
        export_embeddings(linked_run(), tmp_path / "vectors.npz")

    assert list(tmp_path.iterdir()) == []
