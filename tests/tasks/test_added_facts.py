"""Triplets to be added are read from any form, and nothing of them is held out by us."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from interstellar.data.findings import Findings
from interstellar.data.graph import Graph
from interstellar.data.loading import Source
from interstellar.tasks.added_facts import read_added
from tests.tiny_graphs import (
    EUROPE,
    ring,
    write_openke_folder,
    write_rows,
    write_rsn_folder,
    write_split_folder,
)


def read(source: Source) -> tuple[Graph, list[str]]:
    findings = Findings()
    graph = read_added(source, findings)
    assert graph is not None, findings.faults
    return graph, findings.notes


def faults_of(source: Source) -> list[str]:
    findings = Findings()
    read_added(source, findings)
    return [str(fault) for fault in findings.faults]


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_everything_in_a_file_without_splits_is_taken(tmp_path: Path, suffix: str) -> None:
    separator = "\t" if suffix == ".tsv" else ","
    file = write_rows(tmp_path / f"more{suffix}", ring(40), separator=separator)

    graph, notes = read(file)

    assert len(graph.triplets) == 40
    assert notes == []


def test_rows_of_names_are_taken() -> None:
    assert len(read(list(EUROPE))[0].triplets) == len(EUROPE)


def test_of_a_folder_with_splits_train_is_taken_and_that_is_said(tmp_path: Path) -> None:
    graph, notes = read(write_split_folder(tmp_path / "more"))

    assert len(graph.triplets) == len(EUROPE)
    assert notes == [
        "more has splits of its own: 6 triplets of train are taken, 2 of valid and test are left "
        "out."
    ]


def test_of_a_file_with_a_column_of_splits_train_is_taken(tmp_path: Path) -> None:
    rows = [("subject", "relation", "object", "split"), ("a", "r", "b", "train")]
    file = write_rows(tmp_path / "more.tsv", [*rows, ("b", "r", "c", "test")])

    graph, notes = read(file)

    assert len(graph.triplets) == 1
    assert len(notes) == 1


def test_names_that_a_form_lists_without_triplets_are_read(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path / "more")
    (folder / "entity2id.txt").write_text("4\nann\t0\nbob\t1\ncid\t2\ndan\t3\n")

    graph, _ = read(folder)

    assert graph.entities.to_list() == ["ann", "bob", "cid", "dan"]


def test_all_triplets_of_a_factory_are_taken_with_all_its_names() -> None:
    factory = SimpleNamespace(
        mapped_triples=np.array([[0, 0, 1], [1, 0, 0]]),
        num_entities=3,
        num_relations=1,
        entity_to_id={"a": 0, "b": 1, "c": 2},
        relation_to_id={"r": 0},
    )

    graph, notes = read(factory)

    assert (len(graph.triplets), len(graph.entities), notes) == (2, 3, [])


def test_all_edges_of_a_graph_of_pyg_are_taken() -> None:
    edges, kinds = np.array([[0, 1, 2], [1, 2, 0]]), np.zeros(3, dtype=np.int64)
    data = SimpleNamespace(edge_index=edges, edge_type=kinds, num_nodes=5)

    graph, _ = read(data)

    assert (len(graph.triplets), len(graph.entities)) == (3, 5)


def test_two_graphs_are_refused(tmp_path: Path) -> None:
    [fault] = faults_of(write_rsn_folder(tmp_path / "two"))

    assert "holds two graphs" in fault


def test_all_faults_of_a_file_are_listed(tmp_path: Path) -> None:
    rows = [("a", "r", "b"), ("a", "r"), ("b", "r", "c"), ("b",)]

    faults = faults_of(write_rows(tmp_path / "more.tsv", rows))

    assert [fault.split(":")[1] for fault in faults] == ["2", "4"]


def test_a_file_without_triplets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more.tsv").write_text("")

    assert len(faults_of(tmp_path / "more.tsv")) == 1
    assert faults_of(tmp_path / "missing.tsv") != []


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    [fault] = faults_of("geografy-S1")

    assert "Did you mean geography-S1" in fault
