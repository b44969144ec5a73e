"""Every format out, and in again."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.writing import GraphFormat, write_graph, write_text
from interstellar.errors import DataError, SettingsError
from tests.data.named_facts import facts
from tests.data.odd_graphs import odd_graphs, odd_pairs
from tests.tiny_graphs import EUROPE, write_rsn_folder

FEW = settings(max_examples=40)


@contextmanager
def new_place(name: str) -> Iterator[Path]:
    """Give a path where nothing is; a fixture would be the same one for all examples."""
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder / name
    finally:
        shutil.rmtree(folder)


def write_and_read(graph: AnyGraph, name: str, format: str | None = None) -> AnyGraph:
    with new_place(name) as path:
        return load(write_graph(graph, path, format=format).path)


@FEW
@given(
    graph=odd_graphs(has_breaks=False, is_split=False), name=st.sampled_from(["g.tsv", "g.txt.gz"])
)
def test_text_with_a_column_of_splits_reads_back_the_same(graph: KnowledgeGraph, name: str) -> None:
    assert facts(write_and_read(graph, name)) == facts(graph)


@FEW
@given(
    graph=odd_graphs(has_breaks=True, is_split=False),
    name=st.sampled_from(["g.csv", "g.parquet", "g.csv.xz", "g.csv.zst"]),
)
def test_csv_and_parquet_hold_any_name(graph: KnowledgeGraph, name: str) -> None:
    assert facts(write_and_read(graph, name)) == facts(graph)


@FEW
@given(
    graph=odd_graphs(has_breaks=True),
    format=st.sampled_from(
        [GraphFormat.CSV, GraphFormat.PARQUET, GraphFormat.N_TRIPLES, GraphFormat.TURTLE]
    ),
)
def test_a_folder_of_any_file_form_holds_any_name(
    graph: KnowledgeGraph, format: GraphFormat
) -> None:
    assert facts(write_and_read(graph, "folder", format)) == facts(graph)


@FEW
@given(
    graph=odd_graphs(has_breaks=False),
    format=st.sampled_from([GraphFormat.TEXT, GraphFormat.TSV, GraphFormat.OPENKE]),
)
def test_folders_of_text_read_back_the_same(graph: KnowledgeGraph, format: GraphFormat) -> None:
    again = write_and_read(graph, "folder", format)

    assert facts(again) == facts(graph)
    if format is GraphFormat.OPENKE:
        assert again.all_entities == graph.all_entities
        assert again.all_relations == graph.all_relations


@FEW
@given(graph=odd_graphs(has_breaks=True), name=st.sampled_from(["g.nt", "g.ttl", "g.nt.gz"]))
def test_rdf_in_one_file_keeps_the_triplets_but_not_the_splits(
    graph: KnowledgeGraph, name: str
) -> None:
    again = write_and_read(graph, name)

    assert set.union(*facts(again)) == set.union(*facts(graph))


@FEW
@given(graph=odd_pairs(), format=st.sampled_from([GraphFormat.OPENEA, GraphFormat.RSN]))
def test_alignment_folders_read_back_the_same(graph: GraphPair, format: GraphFormat) -> None:
    again = write_and_read(graph, "folder", format)

    assert isinstance(again, GraphPair)
    assert facts(again) == facts(graph)
    if format is GraphFormat.RSN:
        assert again.source.entities == graph.source.entities


@pytest.mark.parametrize("name", ["geography-S2", "synthetic-alignment:entities=60"])
def test_plain_text_keeps_built_in_sets(tmp_path: Path, name: str) -> None:
    graph = load(name)

    again = load(write_text(graph, tmp_path / "out"))

    assert facts(again) == facts(graph)
    if isinstance(graph, KnowledgeGraph):
        assert isinstance(again, KnowledgeGraph)
        assert graph.answers is not None
        assert again.answers is not None
        assert {again.entities.name(i) for i in again.answers} == {
            graph.entities.name(i) for i in graph.answers
        }


def test_an_rsn_set_goes_to_openea_and_back(tmp_path: Path) -> None:
    graph = load(write_rsn_folder(tmp_path / "in"))

    openea = load(write_text(graph, tmp_path / "openea"))
    rsn = load(write_graph(openea, tmp_path / "rsn", format="rsn").path)

    assert facts(openea) == facts(rsn) == facts(graph)


def test_what_a_form_has_no_place_for_is_said(tmp_path: Path) -> None:
    countries, pair = load("geography-S1"), load("synthetic-alignment:entities=60")
    assert isinstance(pair, GraphPair)
    pair = replace(pair, valid=pair.test, test=pair.valid)

    notes = {
        "rdf": write_graph(countries, tmp_path / "g.nt").notes,
        "openke": write_graph(countries, tmp_path / "openke", format="openke").notes,
        "text": write_graph(countries, tmp_path / "text").notes,
        "rsn": write_graph(pair, tmp_path / "rsn", format="rsn").notes,
    }

    assert "no place for splits" in notes["rdf"][0]
    assert "test queries choose are not kept" in notes["rdf"][1]
    assert "test queries choose are not kept" in notes["openke"][0]
    assert notes["text"] == ()
    assert "first tenth" in notes["rsn"][0]


def test_names_begin_with_another_base_if_wanted(tmp_path: Path) -> None:
    graph = load(EUROPE)

    write_graph(graph, tmp_path / "g.nt", base="https://example.org/")

    assert "<https://example.org/france>" in (tmp_path / "g.nt").read_text()
    with pytest.raises(SettingsError, match="is no beginning of an IRI"):
        write_graph(graph, tmp_path / "h.nt", base="no base ")


def test_parquet_has_the_columns_that_other_tools_expect(tmp_path: Path) -> None:
    graph = load("geography-S1")

    write_graph(graph, tmp_path / "g.parquet")

    table = pq.read_table(tmp_path / "g.parquet")
    assert table.column_names == ["subject", "relation", "object", "split"]
    assert set(table["split"].to_pylist()) == {"train", "valid", "test"}


@pytest.mark.parametrize(
    ("data", "name", "format", "words"),
    [
        ("geography-S1", "g.json", None, "which is no format of a graph"),
        ("geography-S1", "g.csv", "nt", "has the ending of csv, but nt is to be written"),
        ("geography-S1", "g", "rdf", "format 'rdf' is unknown"),
        ("geography-S1", "g", "openea", "is one graph, which openea is not for"),
        ("synthetic-alignment:entities=60", "g.tsv", None, "is two graphs with known pairs"),
        ("synthetic-alignment:entities=60", "g", "openke", "Write openea or rsn"),
    ],
)
def test_a_form_that_does_not_fit_is_refused(
    tmp_path: Path, data: str, name: str, format: str | None, words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        write_graph(load(data), tmp_path / name, format=format)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["here", "here.tsv"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()

    with pytest.raises(SettingsError, match="exists, and nothing is overwritten"):
        write_graph(load("geography-S1"), tmp_path / name)


@pytest.mark.parametrize("format", ["text", "tsv", "openke"])
def test_a_name_that_text_cannot_hold_is_refused_and_nothing_is_left(
    tmp_path: Path, format: str
) -> None:
    names = ["a\tb", "c", "d", "e"]
    graph = load([(a, "r", b) for a in names for b in names])

    with pytest.raises(DataError, match="holds a tab or a line break"):
        write_graph(graph, tmp_path / "out", format=format)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["text", "csv", "openke"])
def test_a_folder_cannot_have_an_empty_split(tmp_path: Path, format: str) -> None:
    graph = load([("a", "r", "b")])

    with pytest.raises(DataError, match="no triplets for valid, and in a folder no file may be"):
        write_graph(graph, tmp_path / "out", format=format)

    assert facts(load(write_graph(graph, tmp_path / "out.tsv").path)) == facts(graph)


def test_openea_cannot_hold_what_has_a_partner_but_no_triplet(tmp_path: Path) -> None:
    graph = load(write_rsn_folder(tmp_path / "in"))
    assert isinstance(graph, GraphPair)
    first = replace(graph.source, triplets=graph.source.triplets[2:])
    lonely = replace(graph, source=first)

    with pytest.raises(DataError, match='the entity "g1/1" has a partner but no triplet'):
        write_graph(lonely, tmp_path / "openea")

    assert facts(load(write_graph(lonely, tmp_path / "rsn", format="rsn").path)) == facts(lonely)


def test_alignment_folders_cannot_have_an_empty_split(tmp_path: Path) -> None:
    graph = load(write_rsn_folder(tmp_path / "in"))
    assert isinstance(graph, GraphPair)

    with pytest.raises(DataError, match="no pairs for valid, and no file may be empty"):
        write_graph(replace(graph, valid=graph.valid[:0]), tmp_path / "openea")
