"""Queries are read from files in any form, and faults are told by line."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from interstellar.errors import DataError
from interstellar.tasks import query_file
from interstellar.tasks.query_file import Faults, NamedQuery, read_queries

FORWARDS = NamedQuery(1, "france", "neighbor", None)


def read(path: Path) -> tuple[list[NamedQuery], list[tuple[int | None, str]]]:
    faults = Faults(path)
    queries = [query for piece in read_queries(path, faults) for query in piece]
    return queries, [(fault.line, fault.fault) for fault in faults.by_line()]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    ["france\tneighbor", "france\tneighbor\t", "france\tneighbor\t?", "\n\nfrance\tneighbor\n"],
)
def test_objects_are_asked_for_with_two_columns_or_an_empty_third(
    tmp_path: Path, text: str
) -> None:
    [query], faults = read(write(tmp_path / "q.tsv", text))

    assert (query.subject, query.relation, query.object) == ("france", "neighbor", None)
    assert query.line == 1 + text.count("\n\n") * 2
    assert faults == []


@pytest.mark.parametrize("end", ["", "?"])
def test_subjects_are_asked_for_by_an_empty_first_column(tmp_path: Path, end: str) -> None:
    queries, _ = read(write(tmp_path / "q.txt", f"{end}\tlocatedin\teurope\n"))

    assert queries == [NamedQuery(1, None, "locatedin", "europe")]


def test_a_header_says_where_the_columns_are_and_others_are_passed_over(tmp_path: Path) -> None:
    text = "id,relation,object\n7,locatedin,europe\n8,neighbor,spain\n"

    queries, faults = read(write(tmp_path / "q.csv", text))

    assert queries == [
        NamedQuery(2, None, "locatedin", "europe"),
        NamedQuery(3, None, "neighbor", "spain"),
    ]
    assert faults == []


def test_names_in_csv_may_hold_commas_tabs_and_line_breaks(tmp_path: Path) -> None:
    queries, _ = read(write(tmp_path / "q.csv", '"a, b\tc\nd",r\nfrance,neighbor\n'))

    assert queries == [
        NamedQuery(1, "a, b\tc\nd", "r", None),
        NamedQuery(3, "france", "neighbor", None),
    ]


def test_parquet_names_its_columns(tmp_path: Path) -> None:
    table = pa.table(
        {"object": [None, "europe"], "relation": ["r", "q"], "subject": ["a\tb", None]}
    )
    parquet.write_table(table, tmp_path / "q.parquet")

    queries, faults = read(tmp_path / "q.parquet")

    assert queries == [NamedQuery(1, "a\tb", "r", None), NamedQuery(2, None, "q", "europe")]
    assert faults == []


def test_packed_text_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv.gz"
    path.write_bytes(gzip.compress(b"france\tneighbor\n"))

    assert read(path)[0] == [FORWARDS]


def test_lines_with_faults_are_told_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv"
    path.write_bytes(
        b"france\tneighbor\nfrance\nfrance\tneighbor\tspain\tx\n\tneighbor\t?\n"
        b"france\tneighbor\tspain\nfrance\t\t?\nfr\xff\tneighbor\nspain\tneighbor\n"
    )

    queries, faults = read(path)

    assert [query.line for query in queries] == [1, 8]
    assert [line for line, _ in faults] == [2, 3, 4, 5, 6, 7]
    words = ("columns: 1", "columns: 4", "neither", "subject and object", "no relation", "UTF-8")
    assert all(word in fault for word, (_, fault) in zip(words, faults, strict=True))


def test_a_line_that_cannot_be_cut_does_not_stop_the_others(tmp_path: Path) -> None:
    text = f'france,neighbor\n"a"b,neighbor\n{"x" * 200_000},neighbor\nspain,neighbor\n'

    queries, faults = read(write(tmp_path / "q.csv", text))

    assert [query.subject for query in queries] == ["france", "spain"]
    assert [line for line, _ in faults] == [2, 3]


def test_pieces_are_small_however_long_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "q.tsv", "france\tneighbor\n" * 25)
    monkeypatch.setattr(query_file, "AT_ONCE", 10)

    pieces = list(read_queries(path, Faults(path)))

    assert [len(piece) for piece in pieces] == [10, 10, 5]


def test_of_many_faults_the_first_are_kept_and_all_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "q.tsv", "x\n" * 25)
    monkeypatch.setattr(query_file, "MOST_FAULTS", 3)
    faults = Faults(path)

    list(read_queries(path, faults))

    assert (faults.n, len(faults.kept)) == (25, 3)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.tsv", b"", "holds no queries"),
        ("q.tsv", b"subject\trelation\n", "holds no queries"),
        ("q.nt", b"x", "ends in '.nt'"),
        ("q.parquet", b"x", "is not a Parquet file"),
        ("q.tsv.gz", b"x", "cannot be read"),
    ],
)
def test_a_file_that_asks_nothing_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(DataError, match=message):
        read(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "q.tsv")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize(
    "columns", [{"a": ["x"]}, {"subject": [1.5], "relation": ["r"]}], ids=["names", "types"]
)
def test_a_table_without_the_columns_is_refused(
    tmp_path: Path, columns: dict[str, list[object]]
) -> None:
    parquet.write_table(pa.table(columns), tmp_path / "q.parquet")

    with pytest.raises(DataError, match="column"):
        read(tmp_path / "q.parquet")
