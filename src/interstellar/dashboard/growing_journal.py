"""A journal that another process is writing: what was added since it was last looked at.

Memory is bounded by one line, and a look by `MOST_BYTES`, however long the journal is. Nothing is
locked, and what stands behind the last whole line is left for the next look.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, final

from interstellar.errors import DataError
from interstellar.records.journal import MAX_LINE_BYTES, VERSION, Event
from interstellar.records.json_files import check_format, parse_object

MOST_BYTES = 2**18
"""Read at once, but for a line that is longer."""
MARK_BYTES = 256
"""Of the beginning of a journal, by which it is told from another of the same name."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a look at a journal has found."""

    events: list[Event]
    is_anew: bool = False
    """Whether the journal is another than before, of which nothing holds any more."""
    has_more: bool = False
    """Whether there is more to be read at once."""
    fault: str | None = None
    """Why the rest is not read."""


@final
class GrowingJournal:
    """A journal, read by and by."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place: tuple[int, int] | None = None
        self._mark = b""
        self._size = -1
        """How long it was; -1: it is to be read again, whatever its length."""
        self._offset = self._n_lines = 0
        self._fault: str | None = None

    def look(self) -> Growth:
        """Return what was added; OSError if the journal is gone."""
        found = self.path.lstat()
        place, size = (found.st_dev, found.st_ino), found.st_size
        if place == self._place and size == self._size:
            return Growth(events=[], fault=self._fault)
        with os.fdopen(os.open(self.path, _FLAGS), "rb") as file:
            is_anew = self._find_its_place(file, place, size)
            self._fault = None  # who writes it may have repaired its end
            content = self._read_lines(file)
        events = self._parse(content)
        self._mark = self._mark[: self._offset]
        has_more = self._fault is None and content != b"" and self._offset < size
        self._size = -1 if has_more else size
        return Growth(events=events, is_anew=is_anew, has_more=has_more, fault=self._fault)

    def _find_its_place(self, file: BinaryIO, place: tuple[int, int], size: int) -> bool:
        """Go on where the last look ended, or anew; return whether it is another journal now."""
        mark = file.read(MARK_BYTES)
        is_same = place == self._place and mark.startswith(self._mark) and size >= self._offset
        is_first, self._place, self._mark = self._place is None, place, mark
        if not is_same:
            self._offset = self._n_lines = 0
        file.seek(self._offset)
        return not is_same and not is_first

    def _read_lines(self, file: BinaryIO) -> bytes:
        """Return whole lines: as many as are read at once, or a long one."""
        content = file.read(MOST_BYTES)
        while (end := content.rfind(b"\n") + 1) == 0:
            if len(content) > MAX_LINE_BYTES:
                self._fault = f"line {self._n_lines + 1} of the journal is too long for one"
                return b""
            more = file.read(MOST_BYTES)
            if not more:
                return b""
            content += more
        return content[:end]

    def _parse(self, content: bytes) -> list[Event]:
        """Return the events of whole lines, up to the first that no journal has."""
        events: list[Event] = []
        for line in content.split(b"\n")[:-1]:
            place = f"line {self._n_lines + 1} of the journal"
            try:
                event = parse_object(line, place)
                if self._n_lines == 0:
                    check_format(event, place, kind="journal", version=VERSION)
                if not isinstance(event.get("event"), str):
                    raise DataError(f"{place} has no `event`")
            except DataError as error:
                self._fault = str(error)
                break
            self._n_lines += 1
            self._offset += len(line) + 1
            events.append(event)
        return events
