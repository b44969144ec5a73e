"""The journal of a run: append-only, one event a line, on the disk before the next step.

A line is a JSON object with `event` (what happened), `time` (UTC, ISO 8601) and whatever belongs
to it. The first line says that this is a journal, and of which version. Numbers that are not
finite are null (`json_files`). One process writes; any number read, without a lock.

Only the last line can be broken by a loss of power, since each is on the disk before the next is
written. Readers leave such a line out; `Journal.open` moves it into `<name>.cut`.
"""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias, final

from interstellar.errors import DataError
from interstellar.records.json_files import check_format, parse_object, reading, to_plain
from interstellar.records.safe_files import describe_failure, naming_failures, sync_folder

VERSION = 1
MAX_LINE_BYTES = 2**24

Event: TypeAlias = dict[str, object]
"""One line: `event`, `time` and what belongs to it."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link in a run from elsewhere could point anywhere
_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows writes two bytes at the end of a line


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    """How many bytes are before it."""
    content: bytes
    event: Event | None
    """None where the line is broken, which only the last may be."""


@final
class Journal:
    """A journal that is open for writing; `read_events` reads one."""

    def __init__(self, path: Path, descriptor: int, cut: bytes) -> None:
        self.path = path
        self.cut = cut
        """What was moved away from the end because its writing had been interrupted."""
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or begin a journal, and repair an end that was cut; `cut` then says so."""
        with naming_failures(path):
            is_new = not path.exists()
            descriptor = _open_to_append(path)
            try:
                journal = cls(path, descriptor, _repair(path, descriptor))
                if os.fstat(descriptor).st_size == 0:
                    header = {"format": "interstellar journal", "version": VERSION}
                    journal._write({**_stamp("journal"), **header})
            except BaseException:
                os.close(descriptor)
                raise
            if is_new:
                sync_folder(path.parent)
        return journal

    def append(self, event: str, **payload: object) -> Event:
        """Add an event; when this returns, it is on the disk.

        Should the disk be full, the journal stays as it was before and WriteError is raised.
        """
        assert event != "journal", "that event is the file's own first line"
        assert "time" not in payload, "the journal says the time itself"
        return self._write({**_stamp(event), **payload})

    def events(self) -> list[Event]:
        """Return all events so far, the oldest first."""
        return list(read_events(self.path))

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, event: Event) -> Event:
        plain = to_plain(event)
        assert isinstance(plain, dict)
        line = json.dumps(plain, allow_nan=False, separators=(", ", ": ")).encode() + b"\n"
        assert len(line) <= MAX_LINE_BYTES, "an event is a line, not a file"
        n_before = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, n_before)
            raise describe_failure(self.path, error) from error
        return plain


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, the oldest first; a cut last line is left out."""
    with reading(path) as file:
        for number, line in enumerate(_read_lines(file, path)):
            if line.event is not None and number > 0:
                yield line.event


def _open_to_append(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK | _BINARY, 0o666)


def _stamp(event: str) -> Event:
    return {"event": event, "time": datetime.now(UTC).isoformat(timespec="milliseconds")}


def _repair(path: Path, descriptor: int) -> bytes:
    """Move a broken last line away, or end a whole one that lacks its newline."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        last = None
        for line in _read_lines(file, path):
            last = line
    if last is not None and last.event is None:
        aside = path.with_name(path.name + ".cut")
        with os.fdopen(_open_to_append(aside), "ab") as file:
            file.write(last.content.removesuffix(b"\n") + b"\n")
        os.ftruncate(descriptor, last.start)
        os.fsync(descriptor)
        return last.content
    if last is not None and not last.content.endswith(b"\n"):
        os.write(descriptor, b"\n")
        os.fsync(descriptor)
    return b""


def _read_lines(file: BinaryIO, path: Path) -> Iterator[_Line]:
    """Yield every line; only the last may be broken. The first must be the journal's own."""
    start = number = 0
    broken: DataError | None = None
    while content := file.readline(MAX_LINE_BYTES):
        if broken is not None:
            raise broken
        number += 1
        event: Event | None = None
        try:
            event = _parse_line(content, f"{path}:{number}")
        except DataError as error:
            broken = error
        if number == 1 and event is not None:
            check_format(event, f"{path}:1", kind="journal", version=VERSION)
        yield _Line(start, content, event)
        start += len(content)


def _parse_line(content: bytes, place: str) -> Event:
    event = parse_object(content, place)
    if not isinstance(event.get("event"), str) or not isinstance(event.get("time"), str):
        raise DataError(
            f"{place} lacks `event` or `time`, but every line of a journal has both. "
            "Take the file from a copy, or remove that line."
        )
    return event
