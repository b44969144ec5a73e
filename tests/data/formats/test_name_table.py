"""A first line of unknown titles is said to have been read as a triplet."""

from pathlib import Path

import pytest

from interstellar.data.loading import load
from tests.tiny_graphs import EUROPE, Rows, ring, write_rows

TITLES = ("start", "how", "end")


def notes_of_titles(rows: Rows, folder: Path, name: str = "g.csv") -> list[str]:
    path = write_rows(folder / name, rows, separator="," if name.endswith("csv") else "\t")
    return [note for note in load(path).notes if "titles" in note]


@pytest.mark.parametrize("name", ["g.csv", "g.tsv"])
def test_unknown_titles_are_named_with_those_that_are_known(tmp_path: Path, name: str) -> None:
    [note] = notes_of_titles([TITLES, *EUROPE], tmp_path, name)

    assert note.startswith(f'{name}: the first row, "start", "how", "end", names nothing')
    assert note.endswith("call them subject, relation, object.")


@pytest.mark.parametrize(
    "rows",
    [
        EUROPE,
        [("subject", "relation", "object"), *EUROPE],
        [("rome", "locatedin", "lazio"), *EUROPE],  # a relation that others have
        [("italy", "orbits", "mars"), *EUROPE],  # an entity that others have
        [("a", "r", "b"), ("c", "p", "d"), ("e", "q", "f")],  # too few to tell
    ],
)
def test_triplets_and_known_titles_are_not_spoken_of(tmp_path: Path, rows: Rows) -> None:
    assert notes_of_titles(rows, tmp_path) == []


def test_a_first_statement_of_rdf_is_no_title(tmp_path: Path) -> None:
    rows = [("<http://a>", "<http://how>", "<http://b> ."), *iris(EUROPE)]
    path = write_rows(tmp_path / "g.nt", rows, separator=" ")

    assert all("titles" not in note for note in load(path).notes)


def iris(rows: Rows) -> list[tuple[str, ...]]:
    return [(f"<http://{s}>", f"<http://{r}>", f"<http://{o}> .") for s, r, o in rows]


def test_titles_of_both_graphs_of_a_pair_are_named(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "first.tsv", [TITLES, *ring(8)])
    second = write_rows(tmp_path / "second.tsv", [TITLES, *ring(8)])
    pairs = write_rows(tmp_path / "pairs.tsv", [(f"e{i}", f"e{i}") for i in range(5)])

    notes = load(first, second=second, pairs=pairs).notes

    assert [note.partition(":")[0] for note in notes if "titles" in note] == [
        "first.tsv",
        "second.tsv",
    ]
