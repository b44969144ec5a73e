"""One graph: folders of splits, single files, frames."""

from pathlib import Path

import numpy as np
import pytest

from interstellar.data.findings import Findings
from interstellar.data.formats.one_graph import read_split_folder
from interstellar.data.loading import load
from interstellar.data.triplets import has_repeats, triplet_keys
from interstellar.errors import DataError
from tests.tiny_graphs import EUROPE, write_rows, write_split_folder


def test_a_folder_of_splits_is_numbered_by_first_appearance_in_train(tmp_path: Path) -> None:
    findings = Findings()

    graph = read_split_folder(write_split_folder(tmp_path / "g"), findings)

    assert findings.faults == []
    assert graph.relations.to_list() == ["neighbor", "locatedin"]
    assert [len(graph.train), len(graph.valid), len(graph.test)] == [6, 1, 1]
    names = [
        (graph.entities.name(s), graph.relations.name(r), graph.entities.name(o))
        for s, r, o in graph.train
    ]
    assert tuple(names) == EUROPE


def test_splits_may_be_of_different_forms_and_names(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.csv", EUROPE, separator=",")
    write_rows(tmp_path / "dev.tsv", EUROPE[:1])
    (tmp_path / "test.nt").write_text("<http://a> <http://r> <http://b> .\n")
    findings = Findings()

    graph = read_split_folder(tmp_path, findings)

    assert findings.faults == []
    assert [len(graph.train), len(graph.valid), len(graph.test)] == [6, 1, 1]


def test_duplicates_leaks_and_unseen_names_are_kept_once_counted_and_said(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.txt", [*EUROPE, EUROPE[0], EUROPE[0]])
    write_rows(tmp_path / "valid.txt", [EUROPE[1], ("mars", "locatedin", "space")])
    write_rows(tmp_path / "test.txt", [("france", "orbits", "spain"), ("spain", "orbits", "mars")])
    findings = Findings()

    graph = read_split_folder(tmp_path, findings)

    assert len(graph.train) == 6
    assert findings.faults == []
    assert findings.notes == [
        "train: 2 duplicate triplets were dropped (each is kept once).",
        "valid: 1 triplets stand in train too, so their answers are known.",
        "valid: 1 of 2 triplets name an entity that train does not; "
        "they are kept and scored like the others.",
        "test: 1 of 2 triplets name an entity that train does not; "
        "they are kept and scored like the others.",
        "test: 2 of 2 triplets name a relation that train does not; "
        "they are kept and scored like the others.",
    ]


def test_a_missing_split_is_a_fault(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.txt", EUROPE)
    findings = Findings()

    read_split_folder(tmp_path, findings)

    assert [Path(fault.file).name for fault in findings.faults] == ["valid.txt", "test.txt"]


def test_answers_are_read_and_unknown_ones_named(tmp_path: Path) -> None:
    folder = write_split_folder(tmp_path)
    (folder / "regions.txt").write_text("europe\natlantis\n")
    findings = Findings()

    graph = read_split_folder(folder, findings)

    assert graph.answers is not None
    assert graph.answers[0] == graph.entities.id("europe")
    [fault] = findings.faults
    assert (fault.line, "atlantis" in fault.fault) == (2, True)


def test_repeats_are_found_however_many_keys_there_are() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 1000, 50_000):
        keys = rng.permutation(10 * n)[:n].astype(np.int64)
        assert not has_repeats(keys)
        keys[-1] = keys[0]
        assert has_repeats(keys)
    assert not has_repeats(triplet_keys(np.empty((0, 3), np.int32)))


def test_two_files_for_one_split_are_refused_and_both_named(tmp_path: Path) -> None:
    folder = write_split_folder(tmp_path / "g")
    (folder / "dev.tsv").write_bytes((folder / "valid.txt").read_bytes())

    with pytest.raises(DataError, match=r"holds valid\.txt and dev\.tsv for valid"):
        load(folder)
