"""N-Triples and Turtle, and names as IRIs."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_pairs, read_triplets
from interstellar.data.formats.rdf import iri_to_name, name_to_iri
from interstellar.data.loading import load
from interstellar.data.vocabulary import Vocabulary

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


@given(name=st.text(min_size=1))
def test_the_iri_of_a_name_is_read_as_the_name(name: str) -> None:
    assert iri_to_name(name_to_iri(name)) == name


@pytest.mark.parametrize(
    "iri",
    [
        "http://a.example/b%20c",
        "urn:interstellar:",
        "urn:interstellar:a/b",
        "urn:interstellar:%2f",
        "urn:interstellar:%FF",
    ],
)
def test_an_iri_that_we_did_not_make_is_its_own_name(iri: str) -> None:
    assert iri_to_name(iri) == iri


STARS = """@prefix ex: <http://example.org/> .
ex:a ex:knows ex:b .
ex:c ex:says <<( ex:a ex:knows ex:b )>> .
ex:d ex:says <<( ex:a ex:knows ex:b )>> .
ex:a ex:age 3 .
"""


def test_statements_about_statements_are_counted_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(STARS)
    findings = Findings()

    table = read_triplets(path, findings)

    assert len(table) == 1
    assert findings.notes == [
        "g.ttl: 1 statements with a literal were left out.",
        "g.ttl: 2 statements about statements were left out.",
    ]


LABELLED = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/> .
ex:Q142 ex:neighbor ex:Q29 . ex:Q29 ex:neighbor ex:Q45 .
ex:Q142 rdfs:label "Frankreich"@de, "France"@en, "Francia"@es .
ex:Q29 rdfs:label "Spanien"@de .
"""


def test_labels_name_entities_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(LABELLED)

    graph = load(path, labels=True)
    plain = load(path)

    names = graph.entities.to_list()
    assert [graph.entities.label(place) for place in range(3)] == [
        "France",
        "Spanien",
        "http://example.org/Q45",
    ]
    assert names[0] == "http://example.org/Q142"
    assert not any("literal" in note for note in graph.notes)
    assert plain.entities.label(0) == names[0]
    assert "4 statements with a literal" in plain.notes[0]


def test_the_labels_of_two_graphs_are_kept_together() -> None:
    first = Vocabulary(["a"], {"a": "An A"})

    both = first + Vocabulary(["b"], {"b": "A B"})

    assert [both.label(0), both.label(1)] == ["An A", "A B"]
