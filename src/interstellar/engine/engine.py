"""What an engine is, what it takes and gives, and the simplest: this very process."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, final

Plain: TypeAlias = dict[str, Any]
"""Values that JSON can write."""

OnProgress: TypeAlias = Callable[[int, float, int, float | None], None]
"""Is told the number of a piece, how many parts of it are done, how many there are at most, and how
good it is by now, where that was just measured."""

Workbench: TypeAlias = Callable[[Plain, OnProgress], Plain]
"""Does a piece of work, says how far it is, and returns what came of it."""

BuildWorkbench: TypeAlias = Callable[[Plain, str], Workbench]
"""Makes a workbench from what it is told and the name of a device; a function of a module."""


class EngineKind(StrEnum):
    """Where work can be done."""

    LOCAL = "local"
    RAY = "ray"


def ignore(number: int, n_done: float, n_parts: int, score: float | None) -> None:
    """Take no note of how far a piece is."""
    del number, n_done, n_parts, score


@dataclass(frozen=True, slots=True)
class Done:
    """A piece of work that has ended."""

    number: int
    outcome: Plain | None
    """None where it was given up."""
    failure: str | None = None
    """Why it was given up."""
    is_late: bool = False
    """Whether it was given up only because the deadline had passed."""


class Engine(Protocol):
    """Takes pieces of work and gives back what came of them."""

    @property
    def n_free(self) -> int:
        """How many more pieces can be started now."""
        ...

    def start(self, number: int, work: Plain) -> None:
        """Take a piece of work under a number of its own."""
        ...

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        """Return what has ended, at least one piece; something must have been started.

        At the deadline, as `time.monotonic` counts, what can be given up is given up.
        """
        ...

    def close(self) -> None:
        """Give everything back; what is under way is lost."""
        ...


@final
class ThisProcess:
    """Does the piece that was started when it is waited for.

    No deadline can end a piece here: whoever gives the work says in it how long it may take.
    """

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._started: tuple[int, Plain] | None = None

    @property
    def n_free(self) -> int:
        return 1 if self._started is None else 0

    def start(self, number: int, work: Plain) -> None:
        assert self._started is None
        self._started = number, work

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        del deadline
        assert self._started is not None
        (number, work), self._started = self._started, None
        return [Done(number, self._workbench(work, on_progress))]

    def close(self) -> None:
        self._started = None
