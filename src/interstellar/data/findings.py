"""What reading a data set brought to light: faults, and notes for the reader."""

from pathlib import Path
from typing import final

from interstellar.errors import DataError, Fault


@final
class Findings:
    """Collects every fault and note while a set is read, so that none hides another."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.notes: list[str] = []

    def fault(self, file: Path | str, line: int | None, what: str) -> None:
        """Record that something is wrong at a place."""
        self.faults.append(Fault(str(file), line, what))

    def note(self, sentence: str) -> None:
        """Record something that was dealt with and should be said."""
        self.notes.append(sentence)

    def raise_faults(self) -> None:
        """Raise a `DataError` if any fault was recorded."""
        if self.faults:
            raise DataError.from_faults(tuple(self.faults))
