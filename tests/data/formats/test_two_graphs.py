"""Alignment sets in the forms of RSN and OpenEA."""

from pathlib import Path

import pytest

from interstellar.data.findings import Findings
from interstellar.data.formats.numbered_folders import read_rsn_folder
from interstellar.data.formats.two_graphs import read_openea_folder
from interstellar.data.graph import GraphPair, Pairs
from interstellar.data.loading import load
from interstellar.data.splitting import PAIR_SPLIT
from tests.tiny_graphs import write_openea_folder, write_rsn_folder


def means_the_same(graph: GraphPair, pairs: Pairs) -> bool:
    """In these sets g1/i means g2/i (RSN: g2/i+20)."""

    def number(name: str) -> int:
        return int(name.split("/")[1]) % 20

    return all(
        number(graph.source.entities.name(a)) == number(graph.target.entities.name(b))
        for a, b in pairs
    )


def test_rsn_folders_give_two_graphs_and_three_sets_of_pairs(tmp_path: Path) -> None:
    findings = Findings()

    graph = read_rsn_folder(write_rsn_folder(tmp_path), findings)

    assert findings.faults == []
    assert [len(graph.train), len(graph.valid), len(graph.test)] == [6, 1, 13]
    assert all(means_the_same(graph, pairs) for pairs in (graph.train, graph.valid, graph.test))
    assert graph.valid.tolist() == [[0, 0]]
    joint = graph.joint_triplets()
    assert joint[:20].max() < 20 <= joint[20:, [0, 2]].min()
    assert graph.joint_pairs(graph.valid).tolist() == [[0, 20]]


def test_rsn_relations_without_a_dictionary_are_named_by_their_ids(tmp_path: Path) -> None:
    folder = write_rsn_folder(tmp_path)
    (folder / "rel_ids_2").unlink()
    findings = Findings()

    graph = read_rsn_folder(folder, findings)

    assert findings.faults == []
    assert graph.target.relations.to_list() == ["2"]


@pytest.mark.parametrize(
    ("file", "addition", "line", "word"),
    [
        ("triples_1", "999\t1\t0\n", 21, "the id '999', which ent_ids_1 does not hold"),
        ("triples_2", "20\t9\t21\n", 21, "the id '9', which rel_ids_2 does not hold"),
        ("sup_ent_ids", "999\t20\n", 7, "'999', which the first graph does not hold"),
        ("sup_ent_ids", "20\t0\n", 7, "which the first graph does not hold"),
        ("sup_ent_ids", "19\t20\n", 7, "pairs '19' a second time"),
        (
            "ref_ent_ids",
            "19\t39\n",
            None,
            "shares 1 entities of the first graph with the training pairs",
        ),
        ("ent_ids_2", "0\tg2/0\n", None, "uses 1 ids of the first graph too, for instance 0"),
        ("ent_ids_1", "0\tother\n", 21, "gives the id '0' a second time"),
        ("rel_ids_1", "7\n", 2, "has 1 columns where 2 must stand"),
    ],
)
def test_faults_of_rsn_folders_are_named(
    tmp_path: Path, file: str, addition: str, line: int | None, word: str
) -> None:
    folder = write_rsn_folder(tmp_path)
    with (folder / file).open("a") as stream:
        stream.write(addition)
    findings = Findings()

    read_rsn_folder(folder, findings)

    found = [fault for fault in findings.faults if word in fault.fault]
    assert [(Path(fault.file).name, fault.line) for fault in found] == [(file, line)]


def test_a_missing_file_of_an_rsn_folder_is_a_fault(tmp_path: Path) -> None:
    folder = write_rsn_folder(tmp_path)
    (folder / "sup_ent_ids").unlink()
    findings = Findings()

    read_rsn_folder(folder, findings)

    assert "does not exist" in findings.faults[0].fault


def test_openea_folders_give_the_links_of_a_fold(tmp_path: Path) -> None:
    folder = write_openea_folder(tmp_path / "EN_FR")
    findings = Findings()

    whole = read_openea_folder(folder, PAIR_SPLIT, 0, findings)
    fold = read_openea_folder(folder / "721_5fold" / "1", PAIR_SPLIT, 0, findings)

    assert load(folder).name == load(folder / "721_5fold" / "1").name == whole.name
    assert findings.faults == []
    assert "links are those of fold 1" in findings.notes[0]
    for graph in (whole, fold):
        assert [len(graph.train), len(graph.valid), len(graph.test)] == [4, 2, 14]
        assert means_the_same(graph, graph.test)
        assert graph.name == "EN_FR"


def test_openea_links_without_folds_are_split_and_that_is_said(tmp_path: Path) -> None:
    folder = write_openea_folder(tmp_path)
    for path in sorted((folder / "721_5fold" / "1").iterdir()):
        path.unlink()
    (folder / "721_5fold" / "1").rmdir()
    findings = Findings()

    graph = read_openea_folder(folder, PAIR_SPLIT, 0, findings)

    assert findings.faults == []
    assert [len(graph.train), len(graph.valid), len(graph.test)] == [16, 2, 2]
    assert "20 known pairs were split 80/10/10 with seed 0" in findings.notes[0]


def test_openea_folds_that_overlap_are_a_fault(tmp_path: Path) -> None:
    folder = write_openea_folder(tmp_path)
    with (folder / "721_5fold" / "1" / "test_links").open("a") as stream:
        stream.write("g1/0\tg2/0\n")
    findings = Findings()

    read_openea_folder(folder, PAIR_SPLIT, 0, findings)

    assert (
        "shares 1 entities of the first graph with the training pairs" in findings.faults[0].fault
    )
