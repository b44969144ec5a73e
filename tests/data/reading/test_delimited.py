"""Text files: what is read, and how faults are named."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from interstellar.data.findings import Findings
from interstellar.data.reading.any_file import read_triplets
from interstellar.data.reading.name_table import NameTable

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda raw: bytes(pa.compress(raw, codec="zstd", asbytes=True)),
}


def read(path: Path) -> tuple[NameTable, Findings]:
    findings = Findings()
    return read_triplets(path, findings), findings


def rows(table: NameTable) -> list[tuple[str, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.tsv", "a\tr\tb\nb\tr\tc\n"),
        ("g.txt", "a\tr\tb\r\nb\tr\tc\r\n"),
        ("g", "\na\tr\tb\n\n\nb\tr\tc"),
        ("bom.tsv", "\ufeffa\tr\tb\nb\tr\tc\n"),
        ("g.csv", "a,r,b\nb,r,c\n"),
        ("header.csv", "subject,relation,object\na,r,b\nb,r,c\n"),
        ("mixed.csv", "weight,Tail,Head,Predicate\n1,b,a,r\n2,c,b,r\n"),
        ("header.tsv", "head\trelation\ttail\na\tr\tb\nb\tr\tc\n"),
    ],
)
def test_every_layout_of_text_gives_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())

    table, findings = read(path)

    assert rows(table) == [("a", "r", "b"), ("b", "r", "c")]
    assert findings.faults == []


@pytest.mark.parametrize("packing", ["gz", "xz", "zst"])
def test_a_packed_file_reads_as_the_plain_one(tmp_path: Path, packing: str) -> None:
    body = b"a\tr\tb\n" * 3
    path = tmp_path / f"g.tsv.{packing}"
    packed = PACK[packing](body)
    path.write_bytes(packed)

    table, findings = read(path)

    assert rows(table) == [("a", "r", "b")] * 3
    assert findings.faults == []


@pytest.mark.parametrize("packing", ["gz", "xz", "zst"])
def test_a_cut_off_packed_file_is_a_fault(tmp_path: Path, packing: str) -> None:
    body = "".join(f"a{i}\tr\tb{i * 7919}\n" for i in range(5000)).encode()
    packed = PACK[packing](body)
    path = tmp_path / f"g.tsv.{packing}"
    path.write_bytes(packed[: len(packed) // 2])

    _, findings = read(path)

    [fault] = findings.faults
    assert "cannot be read to its end" in fault.fault


def test_names_keep_quotes_in_tab_separated_text_and_lose_them_in_csv(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text('"a"\tsays, "r"\tb\n')
    (tmp_path / "g.csv").write_text('"a, b","two\nlines","say ""c"""\n')

    tsv, _ = read(tmp_path / "g.tsv")
    csv, _ = read(tmp_path / "g.csv")

    assert rows(tsv) == [('"a"', 'says, "r"', "b")]
    assert rows(csv) == [("a, b", "two\nlines", 'say "c"')]


def test_all_faulty_lines_are_named_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_bytes(b"a\tr\tb\n\nonly two\tr\nc\tr\td\n\xff\xfe\tr\tb\ne\t\tf\na\tb\tc\td\n")

    table, findings = read(path)

    assert rows(table) == [("a", "r", "b"), ("c", "r", "d")]
    assert [fault.line for fault in findings.faults] == [3, 5, 6, 7]
    assert "has 2 columns where 3 must stand" in findings.faults[0].fault
    assert "is not UTF-8" in findings.faults[1].fault
    assert "empty name in column 2" in findings.faults[2].fault
    assert "has 4 columns" in findings.faults[3].fault


def test_line_numbers_count_lines_inside_quotes(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text('"a\nb",r,c\nx,y\n')

    _, findings = read(path)

    assert [fault.line for fault in findings.faults] == [3]


@pytest.mark.parametrize(("body", "word"), [("", "is empty"), ("\n\n", "holds no rows")])
def test_a_file_without_rows_is_a_fault(tmp_path: Path, body: str, word: str) -> None:
    path = tmp_path / "g.tsv"
    path.write_text(body)

    _, findings = read(path)

    [fault] = findings.faults
    assert word in fault.fault


def test_a_missing_file_a_folder_and_an_unknown_ending_are_faults(tmp_path: Path) -> None:
    (tmp_path / "folder.tsv").mkdir()
    (tmp_path / "g.docx").write_text("a\tr\tb\n")

    faults = [
        read(tmp_path / name)[1].faults[0].fault for name in ("none.tsv", "folder.tsv", "g.docx")
    ]

    assert "does not exist" in faults[0]
    assert "is a folder" in faults[1]
    assert "ends in '.docx'" in faults[2]
