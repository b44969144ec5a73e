"""Files and folders that appear whole or not at all, whatever happens while they are written."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from interstellar.errors import SettingsError

REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG}
"""Errors that say no to a name or a place, whatever would be written there."""


@contextmanager
def replacing_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of `path` once it is complete and on the disk."""
    require_folder(path.parent)
    with refusing(path):
        is_folder = path.is_dir()
    if is_folder:
        raise SettingsError(f"{path} is a folder, but a file is to be written. Choose a new name.")
    draft = draft_beside(path)
    try:
        with open_new(draft, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with refusing(path):
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def refuse_taken(path: Path, inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Raise where a file to be written is one that was read, or one of a run."""
    if not path.exists():
        return
    for given in inputs:
        if given is not None and Path(given).exists() and path.samefile(given):
            raise SettingsError(
                f"{path} is what was read, and would be overwritten. Choose another name."
            )
    for folder in path.resolve().parents:
        if all((folder / name).exists() for name in ("experiment.toml", "journal.jsonl")):
            raise SettingsError(
                f"{path} is a file of the run {folder}, and would be overwritten. "
                "Choose another name."
            )


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder that becomes `path`, which must not exist, once all is written."""
    if path.exists():
        raise SettingsError(f"{path} exists, and nothing is overwritten. Choose a new folder.")
    require_folder(path.parent)
    draft = draft_beside(path)
    with refusing(path):
        draft.mkdir()
    try:
        yield draft
        with refusing(path):
            draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def require_folder(folder: Path) -> None:
    """Raise unless there is a folder to write into."""
    if not folder.is_dir():
        raise SettingsError(
            f"{folder} is not a folder, but something is to be written there. "
            "Make the folder first, or choose another place."
        )


def open_new(draft: Path, path: Path) -> BinaryIO:
    """Open the draft of `path` for writing."""
    with refusing(path):
        return draft.open("wb")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """What the system refuses to make at `path` is the user's to change; a full disk is not."""
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        raise SettingsError(
            f"{path} cannot be made ({error.strerror}), but something is to be written there. "
            "Choose another place, or change the rights of its folder."
        ) from error


def draft_beside(path: Path) -> Path:
    """Return a name next to `path` that nobody else uses; the same disk, so a move is atomic."""
    return path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.draft")
