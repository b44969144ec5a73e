"""Every error this package raises on purpose.

InterstellarError                (exit 1)
├── InputError                   (exit 2) what the user gave cannot be used
│   ├── DataError                a file or graph is not what it claims to be
│   ├── ArchitectureError        an architecture is outside the search space
│   └── SettingsError            an option or setting has a value that cannot work
├── FetchError                   a download did not arrive whole
├── WriteError                   a file or folder could not be written; an OSError too
├── BusyError                    a server has too many questions to answer already
└── TrainingError                training cannot go on

Each message says what was found and where, what must hold, and what to do next.
"""

from dataclasses import dataclass


class InterstellarError(Exception):
    """Base class, so that callers can catch everything from this package."""

    exit_code = 1


class InputError(InterstellarError):
    """What the user gave cannot be used."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a data set, and where."""

    file: str
    line: int | None
    """Counted from 1; None where the fault is not in one line."""
    fault: str

    def __str__(self) -> str:
        """Return the fault as one line, `file:line: what is wrong`."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.fault}"


class DataError(InputError):
    """A file or graph is not what it claims to be."""

    def __init__(self, message: str, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults

    @classmethod
    def from_faults(cls, faults: tuple[Fault, ...]) -> "DataError":
        """Return the error that shows the first fault and counts the others."""
        message = str(faults[0])
        if len(faults) > 1:
            message += f" ({len(faults) - 1} more: `interstellar data check` lists them all.)"
        return cls(message, faults)


class ArchitectureError(InputError):
    """An architecture is outside the search space."""


class SettingsError(InputError):
    """An option or setting has a value that cannot work."""


class FetchError(InterstellarError):
    """A download did not arrive whole."""


class WriteError(InterstellarError, OSError):
    """A file or folder could not be written; `strerror` has the system's reason."""


class BusyError(InterstellarError):
    """A server has too many questions to answer already."""


class TrainingError(InterstellarError):
    """Training cannot go on."""
