import json
import os
from pathlib import Path

import pytest

from interstellar.dashboard.growing_journal import MOST_BYTES, GrowingJournal
from interstellar.records.journal import MAX_LINE_BYTES, Journal


def begin(folder: Path) -> Path:
    path = folder / "journal.jsonl"
    Journal.open(path).close()
    return path


def append(path: Path, *numbers: int) -> None:
    with Journal.open(path) as journal:
        for number in numbers:
            journal.append("epoch", number=number)


def numbers(journal: GrowingJournal) -> list[object]:
    return [event["number"] for event in journal.look().events if "number" in event]


def test_each_look_returns_what_was_added_since_the_last(tmp_path: Path) -> None:
    path = begin(tmp_path)
    journal = GrowingJournal(path)

    assert [event["event"] for event in journal.look().events] == ["journal"]
    assert journal.look().events == []
    append(path, 1, 2)
    assert numbers(journal) == [1, 2]
    append(path, 3)
    assert numbers(journal) == [3]


def test_half_a_line_is_left_until_it_is_whole(tmp_path: Path) -> None:
    path = begin(tmp_path)
    journal = GrowingJournal(path)
    journal.look()

    with path.open("ab") as file:
        file.write(b'{"event": "epoch", "time": "", ')
        file.flush()
        assert numbers(journal) == []
        file.write(b'"number": 7}\n')

    assert numbers(journal) == [7]


def test_a_journal_that_another_took_the_place_of_is_read_anew(tmp_path: Path) -> None:
    path = begin(tmp_path)
    append(path, 1, 2, 3)
    journal = GrowingJournal(path)
    journal.look()

    (tmp_path / "other").mkdir()
    other = begin(tmp_path / "other")
    append(other, *range(10))
    other.replace(path)
    growth = journal.look()

    assert growth.is_anew
    assert [event.get("number") for event in growth.events] == [None, *range(10)]


def test_a_journal_written_anew_in_the_same_file_is_read_anew(tmp_path: Path) -> None:
    path = begin(tmp_path)
    append(path, 1, 2, 3)
    journal = GrowingJournal(path)
    journal.look()
    header = json.loads(path.read_bytes().splitlines()[0]) | {"time": "another"}

    more = '{"event": "epoch", "time": "", "number": 5}\n' * 20
    path.write_text(json.dumps(header) + "\n" + more, encoding="utf-8")
    growth = journal.look()

    assert growth.is_anew
    assert len(growth.events) == 21


def test_a_journal_that_was_cut_is_read_anew(tmp_path: Path) -> None:
    path = begin(tmp_path)
    append(path, 1, 2, 3)
    journal = GrowingJournal(path)
    journal.look()

    os.truncate(path, path.stat().st_size - 5)
    growth = journal.look()

    assert growth.is_anew
    assert [event.get("number") for event in growth.events] == [None, 1, 2]


def test_a_journal_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = begin(tmp_path)
    journal = GrowingJournal(path)
    journal.look()
    path.unlink()

    with pytest.raises(OSError, match="No such file"):
        journal.look()


@pytest.mark.parametrize("content", [b"#!/bin/sh\n", b'{"event": "journal"}\n', b"\xff\xfe\n"])
def test_what_is_no_journal_is_said_and_not_read_on(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    journal = GrowingJournal(path)

    growth = journal.look()
    with path.open("ab") as file:
        file.write(b'{"event": "epoch", "time": ""}\n')

    assert growth.events == []
    assert "line 1 of the journal" in str(growth.fault)
    assert journal.look() == growth


def test_lines_before_one_that_is_broken_are_there_and_repairing_it_helps(tmp_path: Path) -> None:
    path = begin(tmp_path)
    append(path, 1)
    with path.open("ab") as file:
        file.write(b"\0\0\0\n")
    journal = GrowingJournal(path)

    growth = journal.look()
    append(path, 2)  # who goes on writing moves the broken line away

    assert [event.get("number") for event in growth.events] == [None, 1]
    assert "line 3 of the journal" in str(growth.fault)
    assert numbers(journal) == [2]
    assert journal.look().fault is None


def test_a_long_journal_is_read_in_pieces(tmp_path: Path) -> None:
    path = begin(tmp_path)
    line = b'{"event": "epoch", "time": "", "number": 1}\n'
    n_lines = 3 * MOST_BYTES // len(line)
    with path.open("ab") as file:
        file.write(line * n_lines)
    journal = GrowingJournal(path)

    looks = [journal.look()]
    while looks[-1].has_more:
        looks.append(journal.look())

    assert 3 <= len(looks) <= 5
    assert sum(len(look.events) for look in looks) == 1 + n_lines
    assert journal.look().events == []


def test_a_line_longer_than_a_piece_is_read_whole_and_an_endless_one_never(tmp_path: Path) -> None:
    path = begin(tmp_path)
    journal = GrowingJournal(path)
    journal.look()

    with path.open("ab") as file:
        file.write(json.dumps({"event": "x", "number": "y" * 2 * MOST_BYTES}).encode() + b"\n")
    [event] = journal.look().events
    with path.open("ab") as file:
        file.truncate(file.tell() + MAX_LINE_BYTES + MOST_BYTES + 1)

    assert len(str(event["number"])) == 2 * MOST_BYTES
    assert "too long" in str(journal.look().fault)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = begin(tmp_path)
    (tmp_path / "link.jsonl").symlink_to(path)

    with pytest.raises(OSError, match="symbolic link"):
        GrowingJournal(tmp_path / "link.jsonl").look()
