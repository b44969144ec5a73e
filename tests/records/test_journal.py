"""The journal: nothing that was said is lost, whenever the power goes."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from interstellar.errors import DataError, WriteError
from interstellar.records.journal import Event, Journal, read_events


def write_journal(path: Path, n_events: int = 3) -> list[Event]:
    with Journal.open(path) as journal:
        return [journal.append("trial", number=n, score=n / 7) for n in range(n_events)]


def test_events_come_back_in_order_with_their_time(tmp_path: Path) -> None:
    before = datetime.now(UTC)

    written = write_journal(tmp_path / "journal")

    read = list(read_events(tmp_path / "journal"))
    assert read == written
    assert [event["number"] for event in read] == [0, 1, 2]
    time = datetime.fromisoformat(str(read[0]["time"]))
    assert (time - before).total_seconds() > -1
    assert str(read[0]["time"]).endswith("+00:00")


def test_a_journal_is_continued_where_it_ended(tmp_path: Path) -> None:
    first = write_journal(tmp_path / "journal")
    second = write_journal(tmp_path / "journal")

    with Journal.open(tmp_path / "journal") as journal:
        assert journal.events() == first + second
        assert journal.cut == b""


def test_a_journal_cut_at_any_byte_keeps_every_whole_event(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written = write_journal(path, n_events=2)
    whole = path.read_bytes()

    for n_bytes in range(len(whole) + 1):
        path.write_bytes(whole[:n_bytes])
        # A line is whole with its closing brace; the newline alone may be missing.
        n_whole = max(0, (whole[:n_bytes] + b"\n").count(b"}\n") - 1)
        assert len(list(read_events(path))) == n_whole
        with Journal.open(path) as journal:
            assert journal.events() == written[:n_whole]
            is_cut = n_bytes > 0 and not (whole[:n_bytes] + b"\n").endswith((b"}\n", b"\n\n"))
            assert bool(journal.cut) == is_cut
            added = journal.append("resumed", cut=len(journal.cut))
            assert journal.events() == [*written[:n_whole], added]
        with Journal.open(path) as journal:
            assert journal.cut == b""


def test_what_was_cut_off_is_kept_beside_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    write_journal(path)
    path.write_bytes(path.read_bytes() + b'{"event": "tri')

    with Journal.open(path) as journal:
        assert journal.cut == b'{"event": "tri'

    assert (tmp_path / "journal.cut").read_bytes() == b'{"event": "tri\n'


@pytest.mark.parametrize("end", [b"\0" * 50, b"\0\0\0\n", b"\n", b'{"event": 3}\n', b"[1]"])
def test_a_last_line_that_is_no_event_is_moved_away(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "journal"
    written = write_journal(path)
    path.write_bytes(path.read_bytes() + end)

    assert list(read_events(path)) == written
    with Journal.open(path) as journal:
        assert journal.cut == end
        assert journal.events() == written


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"event": "a"}', b"\xff\xfe", b"[" * 10_000])
def test_a_broken_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal"
    write_journal(path)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[3:]]) + b"\n")

    with pytest.raises(DataError, match=r"journal:3"):
        list(read_events(path))
    with pytest.raises(DataError, match=r"journal:3"):
        Journal.open(path)
    assert len(path.read_bytes().splitlines()) == 4


def test_numbers_that_are_not_finite_are_null(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        journal.append("epoch", loss=float("nan"), norm=float("inf"))

    [event] = read_events(tmp_path / "journal")
    assert event["loss"] is None
    assert event["norm"] is None


def test_an_event_is_one_line_whatever_it_holds(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        journal.append("note", text="two\nlines\r\x85\u2028", **{"hits@1": 1})

    [event] = read_events(tmp_path / "journal")
    assert event["text"] == "two\nlines\r\x85\u2028"
    assert len((tmp_path / "journal").read_bytes().splitlines()) == 2


def test_an_event_that_only_partly_fits_on_the_disk_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    written = write_journal(path)
    before, write = path.read_bytes(), os.write
    with Journal.open(path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda file, data: write(file, data[:10]))
            with pytest.raises(WriteError, match=r"/journal cannot be written \(No space left"):
                journal.append("trial", number=3)

        assert path.read_bytes() == before
        added = journal.append("trial", number=3)

    assert list(read_events(path)) == [*written, added]


def test_an_event_is_on_the_disk_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    path = tmp_path / "journal"
    with Journal.open(path) as journal:
        monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.stat().st_size))

        journal.append("trial")

    assert synced == [path.stat().st_size]


def test_a_journal_of_a_newer_version_and_what_is_no_journal_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    write_journal(path)
    text = path.read_text()

    path.write_text(text.replace('"version": 1', '"version": 2', 1))
    with pytest.raises(DataError, match=r"journal:1 has version 2 .* newer interstellar"):
        list(read_events(path))
    path.write_text("".join(text.splitlines(keepends=True)[1:]))
    with pytest.raises(DataError, match="journal:1 says format"):
        Journal.open(path)
    with pytest.raises(DataError, match="is not a plain file"):
        list(read_events(tmp_path))


def test_a_journal_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "journal").symlink_to(victim)

    with pytest.raises(WriteError, match=r"journal cannot be written .* no link"):
        Journal.open(tmp_path / "journal")

    assert victim.read_text() == "mine"


@pytest.mark.parametrize("value", [b"NaN", b"1e999", b'"\\ud800"'])
def test_an_event_that_json_does_not_allow_is_named(tmp_path: Path, value: bytes) -> None:
    path = tmp_path / "journal"
    write_journal(path)
    path.write_bytes(path.read_bytes().replace(b'"number": 1', b'"number": ' + value))

    with pytest.raises(DataError, match="journal:3 is not JSON"):
        list(read_events(path))
