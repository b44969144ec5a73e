"""Embeddings by name in a file."""

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from interstellar.data.escaping import read_word
from interstellar.data.graph import GraphPair
from interstellar.errors import SettingsError
from interstellar.tasks import embedding_files
from interstellar.tasks.embedding_export import export
from interstellar.tasks.embedding_files import EmbeddingForm
from interstellar.tasks.trained_run import TrainedRun
from tests.tasks.named_runs import ODD_NAMES, aligned_run, linked_run

Vectors = npt.NDArray[np.float32]


def all_vectors(trained: TrainedRun) -> Vectors:
    """Return subjects, objects and relations one below the other."""
    network = trained.network
    tables = (network.subjects, network.objects, network.relations)
    return np.concatenate([table.detach().numpy() for table in tables])


def test_parquet_holds_every_table_with_its_names(tmp_path: Path) -> None:
    trained = linked_run()

    written = export(trained, tmp_path / "all.parquet")

    table = pq.read_table(tmp_path / "all.parquet")
    n = len(ODD_NAMES)
    assert (written.entities, written.relations, written.dim, written.rows) == (n, 2, 4, 2 * n + 4)
    assert table.column_names == ["kind", "name", "table", "graph", "is_inverse", "vector"]
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 4)
    entities = trained.task.graph.all_entities.to_list()
    assert table["name"].to_pylist() == [*entities, *entities, *["next", "next but one"] * 2]
    assert table["kind"].to_pylist() == ["entity"] * 2 * n + ["relation"] * 4
    assert table["table"].to_pylist()[:: n - 1][:2] == ["subjects", "subjects"]
    assert table["is_inverse"].to_pylist() == [False] * (2 * n + 2) + [True] * 2
    assert set(table["graph"].to_pylist()) == {1}
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist()), all_vectors(trained))


def test_tsv_holds_the_same_with_tabs_and_line_breaks_escaped(tmp_path: Path) -> None:
    trained = linked_run()

    export(trained, tmp_path / "all.tsv")

    with (tmp_path / "all.tsv").open(encoding="utf-8", newline="\n") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    header, rows = lines[0], lines[1:]
    assert header == ["name", "kind", "table", "graph", "is_inverse", "v1", "v2", "v3", "v4"]
    assert rows[1][:5] == ["two words", "entity", "subjects", "1", "false"]
    assert {"tab\\there", "line\\nbreak", "back\\\\slash"} <= {row[0] for row in rows}
    assert [row[0] for row in rows[-2:]] == ["next", "next but one"]
    assert [row[4] for row in rows[-2:]] == ["true", "true"]
    numbers = np.array([row[5:] for row in rows], dtype=np.float32)
    np.testing.assert_array_equal(numbers, all_vectors(trained))


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

    export(trained, path)

    words = read_words(path)
    entities = trained.task.graph.all_entities.to_list()
    assert [read_word(word) for word in words] == [(name, ()) for name in entities]
    assert {"plain", "two%20words", "100%25", "%2520", "Île", "back\\slash"} <= set(words)
    np.testing.assert_array_equal(
        np.stack(list(words.values())), trained.network.subjects.detach().numpy()
    )


def test_word_vectors_of_several_tables_are_marked(tmp_path: Path) -> None:
    trained = linked_run(["a", "b", "c", "a%subject"])

    export(trained, tmp_path / "words.vec", table="all")

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

    written = export(trained, tmp_path / "all.parquet")
    export(trained, tmp_path / "words.vec")

    table = pq.read_table(tmp_path / "all.parquet")
    assert (written.entities, written.relations) == (20, 3)
    assert written.rows == 2 * 20 + 2 * 3
    assert table["graph"].to_pylist() == [*([1] * 10 + [2] * 10) * 2, *[1, 2, 2] * 2]
    assert table["name"].to_pylist()[-3:] == ["next", "next", "after"]
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist()), all_vectors(trained))
    words = read_words(tmp_path / "words.vec")
    assert {"e0%graph1", "e0%graph2", "e9", "other%203"} <= set(words)
    np.testing.assert_array_equal(words["e0%graph2"], trained.network.subjects[10].detach().numpy())


@pytest.mark.parametrize("form", EmbeddingForm)
def test_blocks_do_not_show_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: EmbeddingForm
) -> None:
    trained = linked_run()
    export(trained, tmp_path / "at_once", form=form)
    monkeypatch.setattr(embedding_files, "ROWS_AT_ONCE", 5)

    export(trained, tmp_path / "in_blocks", form=form)

    if form is EmbeddingForm.PARQUET:
        at_once, in_blocks = (pq.read_table(tmp_path / n) for n in ("at_once", "in_blocks"))
        assert at_once.equals(in_blocks)
    else:
        assert (tmp_path / "at_once").read_bytes() == (tmp_path / "in_blocks").read_bytes()


def test_an_ending_that_says_nothing_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ends in '.npz', which is no form of embeddings"):
        export(linked_run(), tmp_path / "vectors.npz")

    assert list(tmp_path.iterdir()) == []
