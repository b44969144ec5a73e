"""What an engine is, and what it takes and gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Plain: TypeAlias = dict[str, Any]
"""Values that JSON can write."""

Workbench: TypeAlias = Callable[[Sequence[Plain]], Sequence[Plain]]
"""Does several pieces of work together and returns what came of each."""

BuildWorkbench: TypeAlias = Callable[[Plain, str], Workbench]
"""Makes a workbench from what it is told and the name of a device; a function of a module."""


@dataclass(frozen=True, slots=True)
class Done:
    """A piece of work that has ended."""

    number: int
    outcome: Plain | None
    """None where it was given up."""
    failure: str | None = None
    """Why it was given up."""


class Engine(Protocol):
    """Takes pieces of work and gives back what came of them."""

    @property
    def n_free(self) -> int:
        """How many more pieces can be started now."""
        ...

    def start(self, number: int, work: Plain) -> None:
        """Take a piece of work under a number of its own."""
        ...

    def wait(self) -> list[Done]:
        """Return what has ended, at least one piece; something must have been started."""
        ...

    def close(self) -> None:
        """Give everything back; what is under way is lost."""
        ...
