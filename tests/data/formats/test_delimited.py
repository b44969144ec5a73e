"""Text files: what is read, and how faults are named."""

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_triplets
from interstellar.data.formats.files import most_unpacked_bytes
from interstellar.data.formats.name_table import TRIPLET, NameTable
from interstellar.errors import SettingsError

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


WEIGHTED = "from,type,to,weight\n" + "".join(f"e{i},r,e{i + 1},0.5\n" for i in range(50))


def read_chosen(path: Path, *columns: str | int) -> tuple[NameTable, Findings]:
    findings = Findings()
    return read_triplets(path, findings, TRIPLET.choose(columns)), findings


def test_a_header_of_other_words_is_one_fault_that_says_what_to_rename(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text(WEIGHTED)

    _, findings = read(path)

    [fault] = findings.faults
    assert fault.line == 1
    assert "from, type, to, weight" in fault.fault
    assert "must be called subject, relation, object" in fault.fault
    assert "`columns`" in fault.fault


@pytest.mark.parametrize("columns", [("from", "type", "to"), ("1", "2", "3"), (1, 2, 3)])
def test_columns_can_be_chosen_by_name_or_number(
    columns: tuple[str | int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "g.csv"
    path.write_text(WEIGHTED)

    table, findings = read_chosen(path, *columns)

    assert not findings.faults
    assert ("e0", "r", "e1") in rows(table)
    assert len(table) == (50 if "from" in columns else 51)


def test_columns_that_are_not_there_are_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text(WEIGHTED)

    for columns in (("from", "kind", "to"), (1, 2, 9)):
        _, findings = read_chosen(path, *columns)
        assert "are not among them" in findings.faults[0].fault


@pytest.mark.parametrize("columns", [("a", "b"), ("a", "b", "b"), (0, 1, 2), ("a", 1, 2)])
def test_columns_must_be_three_names_or_three_numbers(columns: tuple[str | int, ...]) -> None:
    with pytest.raises(SettingsError, match="3 names or 3 numbers"):
        TRIPLET.choose(columns)


def test_a_csv_separated_by_semicolons_is_read_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text('subject;relation;object\na;r;"b;c"\nb;r;d\n')

    table, findings = read(path)

    assert rows(table) == [("a", "r", "b;c"), ("b", "r", "d")]
    assert "semicolons" in findings.notes[0]


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_a_very_long_name_does_not_hide_a_fault_below_it(ending: str, tmp_path: Path) -> None:
    mark = "," if ending == "csv" else "\t"
    path = tmp_path / f"g.{ending}"
    path.write_text("\n".join([mark.join(["x" * 200_000, "r", "b"]), mark.join("arb"), "a"]))

    table, findings = read(path)

    assert [fault.line for fault in findings.faults] == [3]
    assert len(table) == 2


@pytest.mark.parametrize("packing", PACK)
def test_a_file_that_unpacks_to_more_than_the_limit_is_a_fault_that_says_so(
    packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"bomb.tsv.{packing}"
    path.write_bytes(PACK[packing](b"a\tr\tb\n" * 50_000))
    monkeypatch.setenv("INTERSTELLAR_MAX_UNPACKED_GB", "0.0001")

    _, findings = read(path)

    [fault] = findings.faults
    assert "unpacks to more than 0.0001 GB" in fault.fault
    assert "$INTERSTELLAR_MAX_UNPACKED_GB" in fault.fault
    monkeypatch.setenv("INTERSTELLAR_MAX_UNPACKED_GB", "0.01")
    assert len(read(path)[0]) == 50_000


def test_unless_said_a_file_may_unpack_to_two_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERSTELLAR_MAX_UNPACKED_GB", raising=False)

    assert most_unpacked_bytes() == 2_000_000_000


def test_a_limit_that_is_no_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tr\tb\n"))
    monkeypatch.setenv("INTERSTELLAR_MAX_UNPACKED_GB", "nan")

    with pytest.raises(SettingsError, match="number of gigabytes"):
        read(path)


def test_a_file_name_that_is_not_utf8_is_read_and_shown_without_its_bytes(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/na\xff\x1b[31mme.tsv"))
    path.write_text("a\tr\tb\nb\tr\n")

    table, findings = read(path)

    assert rows(table) == [("a", "r", "b")]
    assert findings.faults[0].file.endswith(r"/na\udcff\x1b[31mme.tsv")
    assert table.name == r"na\udcff\x1b[31mme.tsv"


def test_a_file_with_the_ending_of_another_format_is_one_fault_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("a,r,b\n" * 50)

    _, findings = read(path)

    [fault] = findings.faults
    assert fault.fault.startswith("has one column: a,r,b.")
    assert "the ending of its format" in fault.fault
