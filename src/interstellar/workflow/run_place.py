"""The folder in which a run is made: the user's, or one that lasts as long as what uses it."""

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, final

from interstellar.errors import SettingsError

StrPath: TypeAlias = str | os.PathLike[str]


@final
class TemporaryFolder:
    """A new folder that is removed with the last object that holds this one."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="interstellar-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # not a fork of it
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True, eq=False)
class RunPlace:
    """A folder for a run, and who keeps it."""

    path: Path
    temporary: TemporaryFolder | None = None
    """What the folder goes with; None: it is the user's."""


def choose_place(out: StrPath | None, *, is_resumed: bool = False) -> RunPlace:
    """Return the folder that is given, or a temporary one; it does not exist yet."""
    if out is not None:
        return RunPlace(Path(out))
    if is_resumed:
        raise SettingsError(
            "no folder was given, but what is to be resumed lies in one. Give `out`."
        )
    temporary = TemporaryFolder()
    return RunPlace(temporary.path / "run", temporary)
