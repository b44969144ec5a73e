"""The one entry for every graph."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import interstellar
from interstellar.data.graph import GraphPair, KnowledgeGraph, Provenance
from interstellar.data.loading import Request, check, load, settle
from interstellar.data.splitting import PAIR_SPLIT, SPLIT_SEED, TRIPLET_SPLIT, SplitShares
from interstellar.errors import DataError, SettingsError
from tests.tiny_graphs import (
    EUROPE,
    ring,
    write_openea_folder,
    write_openke_folder,
    write_rows,
    write_rsn_folder,
    write_split_folder,
)

DENSE = [(f"e{i}", f"r{(i * j) % 3}", f"e{j}") for i in range(12) for j in range(12) if i != j]


def test_each_folder_form_is_recognised(tmp_path: Path) -> None:
    names = {
        "split": write_split_folder(tmp_path / "split"),
        "openke": write_openke_folder(tmp_path / "openke"),
        "rsn": write_rsn_folder(tmp_path / "rsn"),
        "openea": write_openea_folder(tmp_path / "openea"),
    }

    graphs = {form: load(folder) for form, folder in names.items()}

    assert [type(graph) for graph in graphs.values()] == [
        KnowledgeGraph,
        KnowledgeGraph,
        GraphPair,
        GraphPair,
    ]
    assert all(graph.name == form for form, graph in graphs.items())


def test_a_single_file_a_frame_and_rows_give_the_same_split(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "g.tsv", DENSE)
    packed = tmp_path / "g2.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    frame = pd.DataFrame(DENSE, columns=["head", "relation", "tail"])

    graphs = [load(source, seed=3) for source in (path, str(packed), frame, DENSE, iter(DENSE))]

    for graph in graphs:
        assert isinstance(graph, KnowledgeGraph)
        assert [len(graph.train), len(graph.valid), len(graph.test)] == [118, 7, 7]
        assert graph.test.tolist() == graphs[0].test.tolist()
        assert "132 triplets were split 90/5/5 with seed 3" in graph.notes[0]


def test_two_files_and_their_pairs_become_an_alignment(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a.tsv", ring(10, prefix="a"))
    second = write_rows(tmp_path / "b.csv", ring(10, prefix="b"), separator=",")
    pairs = write_rows(
        tmp_path / "same.csv",
        [("left", "right"), *((f"a{i}", f"b{i}") for i in range(10))],
        separator=",",
    )

    graph = load(
        first, second=second, pairs=pairs, split=SplitShares(train=0.5, valid=0.2, test=0.3)
    )

    assert isinstance(graph, GraphPair)
    assert [len(graph.train), len(graph.valid), len(graph.test)] == [5, 2, 3]
    assert graph.name == "a.tsv+b.csv"


def test_names_that_both_graphs_use_stay_two_entities(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.tsv", ring(10))
    pairs = write_rows(tmp_path / "same.tsv", [(f"e{i}", f"e{i}") for i in range(10)])

    graph = load(path, second=path, pairs=pairs)

    assert isinstance(graph, GraphPair)
    assert graph.n_entities == 20
    assert any("10 names occur in both graphs" in note for note in graph.notes)


@pytest.mark.parametrize("name", ["geography-S1", "GEOGRAPHY-s3", "synthetic:entities=60,seed=3"])
def test_built_in_sets_are_loaded_by_name_in_any_case(name: str) -> None:
    graph = load(name)

    assert isinstance(graph, KnowledgeGraph)
    assert min(len(graph.train), len(graph.valid), len(graph.test)) > 0


def test_a_named_set_is_looked_for_under_the_data_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_split_folder(tmp_path / "link-prediction" / "WN18RR")
    monkeypatch.setenv("INTERSTELLAR_DATA", str(tmp_path))

    graph = load("wn18rr")

    assert graph.name == "WN18RR"


def test_an_unknown_name_is_answered_with_close_ones() -> None:
    with pytest.raises(DataError, match=r"neither a file nor a set. Did you mean WN18RR"):
        load("WN18-RR")


def test_the_first_fault_is_raised_and_the_others_counted(tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("a\tr\tb\nc\nd\ne\n")

    with pytest.raises(DataError, match=r"g.tsv:2: has 1 columns.*\(2 more") as caught:
        load(path)

    assert [fault.line for fault in caught.value.faults] == [2, 3, 4]
    assert len(check(Request(source=path)).faults) == 3


def test_a_folder_without_a_known_form_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not laid out in a known form"):
        load(tmp_path)


def test_a_split_is_refused_where_the_data_has_its_own(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has splits of its own"):
        load(write_split_folder(tmp_path), split=SplitShares(train=0.8, valid=0.1, test=0.1))


def test_pairs_without_a_second_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="belong together"):
        load(write_rows(tmp_path / "g.tsv", EUROPE), pairs=tmp_path / "pairs.tsv")


def test_what_is_no_graph_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be read from a int"):
        interstellar.load(3)


def test_paths_are_settled_and_names_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "g.tsv", EUROPE)
    monkeypatch.chdir(tmp_path)

    assert settle("g.tsv") == str(tmp_path / "g.tsv")
    assert settle("WN18RR") == "WN18RR"
    assert settle("synthetic:entities=50") == "synthetic:entities=50"


def test_a_graph_knows_how_it_was_read_and_can_be_read_so_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "g.tsv", DENSE)
    monkeypatch.chdir(tmp_path)

    graph = load("g.tsv", split="80/10/10", seed=7)

    how = graph.provenance
    assert how is not None
    assert how == Provenance(
        source=str(tmp_path.resolve() / "g.tsv"),
        split=SplitShares(train=0.8, valid=0.1, test=0.1),
        split_seed=7,
    )
    monkeypatch.chdir("/")
    again = load(how.source, split=how.split, seed=how.split_seed)
    assert again.test.tolist() == graph.test.tolist()


def test_the_default_split_is_recorded_too_and_a_set_with_splits_has_none(tmp_path: Path) -> None:
    split, own = (
        load(source).provenance for source in (DENSE, write_split_folder(tmp_path / "own"))
    )
    assert split is not None
    assert own is not None

    assert split == Provenance(
        source="triplets", is_in_memory=True, split=TRIPLET_SPLIT, split_seed=SPLIT_SEED
    )
    assert own.split is None


def test_the_pairs_of_two_graphs_are_part_of_how_they_were_read(tmp_path: Path) -> None:
    first, second = (write_rows(tmp_path / f"{n}.tsv", ring(10, prefix=n)) for n in "ab")
    pairs = write_rows(tmp_path / "pairs.tsv", [(f"a{i}", f"b{i}") for i in range(10)])

    graph = load(first, second=second, pairs=pairs)

    assert graph.provenance == Provenance(
        source=str(first), second=str(second), pairs=str(pairs), split=PAIR_SPLIT, split_seed=0
    )


def test_columns_that_seem_swapped_are_said(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "g.tsv", [(f"r{i % 3}", f"e{i}", f"r{i % 2}") for i in range(60)])

    graph = load(path)

    assert any(
        note.startswith("3 entities, 60 relations: ") and "may be swapped" in note
        for note in graph.notes
    )
    assert not any("swapped" in note for note in load(DENSE).notes)


def test_a_graph_prints_as_its_name_and_sizes(tmp_path: Path) -> None:
    pair = load(write_rsn_folder(tmp_path / "rsn"))

    assert str(load("geography-S1")) == repr(load("geography-S1"))
    assert str(load("geography-S1")).startswith("<geography-S1: 274 entities, 2 relations; ")
    assert len(str(pair)) < 200
    assert "pairs: " in str(pair)


@pytest.mark.parametrize("place", ["x" * 300, "/" + "x" * 300 + ".tsv", "a\0b"])
def test_a_path_that_no_file_can_have_is_a_fault(place: str) -> None:
    with pytest.raises(DataError, match=r"neither a file nor a set|cannot be read"):
        load(place)


def test_data_that_does_not_fit_into_memory_is_a_fault_with_advice() -> None:
    def endless() -> Iterator[tuple[str, str, str]]:
        yield EUROPE[0]
        raise MemoryError

    with pytest.raises(DataError, match=r"does not fit into the memory.*smaller"):
        load(endless())
