"""A lock for one writer that a dead process cannot hold, because the system keeps it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interstellar.errors import SettingsError

_held: set[int] = set()


@contextmanager
def holding_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, whose text is then our process id; refuse where another holds it."""
    descriptor = _open(path)
    if not _try_to_lock(descriptor):
        os.close(descriptor)
        raise SettingsError(
            f"{path.parent} is being written by {_name_holder(path)}, and a run has one "
            "writer. Wait for it, stop it, or choose another --out."
        )
    _held.add(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        if descriptor in _held:  # not so in a forked child that leaves by this way
            _held.remove(descriptor)
            os.ftruncate(descriptor, 0)
            os.close(descriptor)


def _open(path: Path) -> int:
    no_link = getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | no_link, 0o666)
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be opened ({error.strerror}), but the writer of a run needs it. "
            "Check that the folder is there and can be written to."
        ) from None


def _name_holder(path: Path) -> str:
    text = path.read_bytes()[:20].strip()
    return f"process {int(text)}" if text.isdigit() else "another process"


if sys.platform == "win32":
    import msvcrt

    def _try_to_lock(descriptor: int) -> bool:
        # A byte far behind the text, which the others must still be able to read.
        os.lseek(descriptor, 2**30, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_to_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go_in_child() -> None:
        """Close the locks in a forked child, which could otherwise outlive the writer with them.

        The writer's own descriptor keeps the lock.
        """
        for descriptor in _held:
            os.close(descriptor)
        _held.clear()

    os.register_at_fork(after_in_child=_let_go_in_child)
