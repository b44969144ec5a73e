"""OpenKE's id files."""

from pathlib import Path

from interstellar.data.findings import Findings
from interstellar.data.formats.numbered_folders import read_openke_folder
from interstellar.data.loading import load
from tests.tiny_graphs import write_openke_folder


def test_openke_files_are_read_object_second(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path / "g")
    findings = Findings()

    graph = read_openke_folder(folder, findings)

    assert load(folder).name == graph.name
    assert findings.faults == []
    assert graph.entities.to_list() == ["ann", "bob", "cid"]
    assert graph.train.tolist() == [[0, 0, 1], [1, 0, 2], [0, 1, 2]]
    assert graph.test.tolist() == [[2, 1, 1]]


def test_an_id_outside_the_dictionary_is_named_with_its_line(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path)
    (folder / "train2id.txt").write_text("3\n0 1 0\n9 2 0\n0 2 7\n")
    findings = Findings()

    read_openke_folder(folder, findings)

    places = [(Path(fault.file).name, fault.line) for fault in findings.faults]
    assert places == [("train2id.txt", 3), ("train2id.txt", 4)]
    assert "the id '9', which entity2id.txt does not hold" in findings.faults[0].fault


def test_a_wrong_count_and_a_missing_count_are_faults(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path)
    (folder / "valid2id.txt").write_text("5\n1 0 0\n")
    (folder / "test2id.txt").write_text("2 1 1\n")
    findings = Findings()

    read_openke_folder(folder, findings)

    assert "promises 5 rows" in findings.faults[0].fault
    assert "is the number of rows" in findings.faults[1].fault


def test_a_name_given_twice_is_a_fault(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path)
    (folder / "entity2id.txt").write_text("3\nann\t0\nann\t1\ncid\t1\n")
    findings = Findings()

    read_openke_folder(folder, findings)

    assert [(fault.line, "a second time" in fault.fault) for fault in findings.faults[:2]] == [
        (4, True),
        (3, True),
    ]


def test_a_file_of_blank_lines_is_a_fault(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path)
    (folder / "train2id.txt").write_text("\n\n")
    findings = Findings()

    read_openke_folder(folder, findings)

    assert "is the number of rows" in findings.faults[0].fault
