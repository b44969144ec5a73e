"""Long work says how far it is, however deep below whoever watches; and how much is to be said.

Both are of the whole process: neither changes what is computed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeAlias

Watcher: TypeAlias = Callable[[str, int, int, str], None]
"""Is told what is done, how much of it, how much there is, and in what: bytes, paths."""


class Loudness(StrEnum):
    """How much is said on standard error beside errors."""

    QUIET = "quiet"
    """Nothing."""
    NORMAL = "normal"
    VERBOSE = "verbose"
    """A line for everything, also what is otherwise left out."""


_watchers: list[Watcher] = []
_loudness = [Loudness.NORMAL]


def say_how_far(work: str, n_done: int, n_all: int, unit: str) -> None:
    """Tell whoever watches, if anybody does."""
    if _watchers:
        _watchers[-1](work, n_done, n_all, unit)


def is_watched() -> bool:
    """Return whether somebody is told."""
    return bool(_watchers)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let somebody be told of the work within."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def loudness() -> Loudness:
    """Return how much is to be said."""
    return _loudness[-1]


@contextmanager
def speaking(wanted: Loudness) -> Iterator[None]:
    """Say so much within."""
    _loudness.append(wanted)
    try:
        yield
    finally:
        _loudness.pop()
