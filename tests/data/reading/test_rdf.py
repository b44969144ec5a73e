"""N-Triples and Turtle."""

import gzip
from pathlib import Path

from interstellar.data.findings import Findings
from interstellar.data.reading.any_file import read_pairs, read_triplets

TURTLE = """@prefix ex: <http://example.org/> .
ex:france ex:neighbor ex:spain, ex:italy ; ex:label "France"@fr .
ex:spain ex:in [ ex:part ex:world ] .
"""


def test_turtle_gives_resources_and_says_how_many_literals_it_left_out(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl.gz"
    path.write_bytes(gzip.compress(TURTLE.encode()))
    findings = Findings()

    table = read_triplets(path, findings)

    assert findings.faults == []
    assert findings.notes == ["g.ttl.gz: 1 statements with a literal were left out."]
    assert len(table) == 4
    assert table.cell(0, 2) == "http://example.org/spain"
    assert table.cell(3, 0).startswith("_:") or table.cell(2, 0).startswith("_:")


def test_a_turtle_error_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(TURTLE + "ex:a nowhere:b ex:c .\n")
    findings = Findings()

    read_triplets(path, findings)

    [fault] = findings.faults
    assert fault.line == 4
    assert "rules of Turtle" in fault.fault


def test_all_faulty_lines_of_n_triples_are_named(tmp_path: Path) -> None:
    path = tmp_path / "g.nt"
    path.write_text("<http://a> <http://r> <http://b> .\nnonsense\n# comment\n<http://a> .\n")
    findings = Findings()

    table = read_triplets(path, findings)

    assert len(table) == 1
    assert [fault.line for fault in findings.faults] == [2, 4]


def test_a_file_of_literals_only_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "g.nt"
    path.write_text('<http://a> <http://r> "x" .\n')
    findings = Findings()

    read_triplets(path, findings)

    assert "no triplet between two resources" in findings.faults[0].fault


def test_pairs_are_the_two_ends_of_statements(tmp_path: Path) -> None:
    path = tmp_path / "same.nt"
    path.write_text("<http://a> <http://www.w3.org/2002/07/owl#sameAs> <http://b> .\n")

    table = read_pairs(path, Findings())

    assert [column.to_pylist() for column in table.columns] == [["http://a"], ["http://b"]]
