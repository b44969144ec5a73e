"""A named pipe in the place of a file that a command writes."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_pipes = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="there are no named pipes on this system"
)


@contextmanager
def listening(pipe: Path) -> Iterator[list[bytes]]:
    """Make a pipe, and give what was heard from it once all is written.

    Where a file took its place nobody writes into it any more, and nothing was heard.
    """
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    listener.start()
    yield heard
    if pipe.is_fifo():
        listener.join(timeout=30)
