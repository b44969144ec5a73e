"""Files and folders that appear whole or not at all, whatever happens while they are written."""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob
from pathlib import Path
from typing import BinaryIO

from interstellar.errors import SettingsError, WriteError

_DRAFT = re.compile(r"\..*\.[0-9a-f]{8}\.draft", re.DOTALL)
_MAX_NAME_BYTES = 200  # of a name within that of its draft: file systems take 255

_REMEDY_BY_ERROR = {
    errno.ENOSPC: "Make room there, or choose another place.",
    errno.EDQUOT: "Make room there, or choose another place.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.ELOOP: "It must be a plain file and no link: remove the link, or choose another place.",
    errno.EEXIST: "A file of that name is in the way: choose another place.",
    errno.EISDIR: "Choose the name of a file.",
    errno.ENOENT: "Make its folder first, or choose another place.",
    errno.ENOTDIR: "Make its folder first, or choose another place.",
}


@contextmanager
def replacing_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of `path` once it is complete and on the disk.

    Only a plain file is replaced, and a link keeps naming it. A device, a pipe or our own standard
    output is written into, once all is there.
    """
    with naming_failures(path):
        if _is_to_be_replaced(path):
            with _drafting(Path(os.path.realpath(path))) as file:
                yield file
            return
        with tempfile.TemporaryFile() as kept:
            yield kept
            kept.seek(0)
            with _open_stream(path) as stream:
                shutil.copyfileobj(kept, stream)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder that becomes `path`, which must not exist, once all is written."""
    if os.path.lexists(path):
        raise SettingsError(f"{path} exists, and nothing is overwritten. Choose a new folder.")
    draft = _draft_beside(path)
    with naming_failures(path, draft):
        _require_folder(path.parent)
        draft.mkdir()
        try:
            yield draft
            draft.rename(path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _require_folder(folder: Path) -> None:
    if not os.path.isdir(folder):  # noqa: PTH112 (Path.is_dir raises where a name is too long)
        raise WriteError(
            f"{folder} is not a folder, but something is to be written there. "
            "Make the folder first, or choose another place."
        )


def refuse_taken(path: Path, inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Raise where a file to be written is one that was read, or one of a run."""
    exists = os.path.exists  # Path.exists raises where a name is too long
    if not exists(path):
        return
    for given in inputs:
        if given is not None and exists(given) and path.samefile(given):
            raise SettingsError(
                f"{path} is what was read, and would be overwritten. Choose another name."
            )
    if (folder := find_run_around(path)) is not None:
        raise SettingsError(
            f"{path} is a file of the run {folder}, and would be overwritten. Choose another name."
        )


def find_run_around(path: Path) -> Path | None:
    """Return the folder of the run in which a file lies or would lie; None: it lies in none."""
    names = ("experiment.toml", "journal.jsonl")
    folders = path.resolve().parents
    return next((f for f in folders if all((f / name).exists() for name in names)), None)


def refuse_output(
    path: Path, *, inputs: Iterable[str | os.PathLike[str] | None] = (), overwrite: bool = False
) -> None:
    """Raise where a result must not be written: called before the work that gives it.

    What was read and the files of a run are never replaced, another plain file only if asked.
    """
    _require_folder(path.parent)
    refuse_taken(path, inputs)
    is_file = os.path.isfile(path)  # noqa: PTH113 (Path.is_file raises where a name is too long)
    if is_file and not overwrite and _find_standard_stream(path.stat()) is None:
        raise SettingsError(
            f"{path} exists, and nothing is replaced unasked. Choose a new name, or set "
            "`overwrite` to replace it."
        )


def remove_drafts(folder: Path) -> None:
    """Remove what killed writers left in a folder of ours, one level below and beside it."""
    within, beside = (escape(str(path)) for path in (folder, folder.with_name(f".{folder.name}.")))
    for pattern in (f"{within}/.*.draft", f"{within}/*/.*.draft", f"{beside}*.draft"):
        for path in map(Path, glob(pattern)):  # noqa: PTH207 (it passes over what vanishes)
            if _DRAFT.fullmatch(path.name) is None:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):  # one that cannot be removed does no harm
                    path.unlink()


def _draft_beside(path: Path) -> Path:
    """Return a name next to `path` that nobody else uses; the same disk, so a move is atomic."""
    name = os.fsencode(path.name)[:_MAX_NAME_BYTES].decode(errors="ignore")
    return path.with_name(f".{name}.{secrets.token_hex(4)}.draft")


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder onto the disk, so that a new file survives a loss of power."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def naming_failures(path: Path, draft: Path | None = None) -> Iterator[None]:
    """Turn what the system refuses into a WriteError that names `path`, or what is below it.

    `draft` is where it is written until it is complete. An error that names a file of somebody
    else's is left as it is.
    """
    try:
        yield
    except WriteError as error:
        if draft is None or str(draft) not in str(error):
            raise
        raise WriteError(str(error).replace(str(draft), str(path))) from error
    except OSError as error:
        place = _find_place(error, path, draft)
        if place is None:
            raise
        raise describe_failure(place, error) from error


def describe_failure(path: str | Path, error: OSError) -> WriteError:
    """Return the error that says what could not be written, why, and what to do."""
    otherwise = "Choose another place, or change the rights of its folder."
    remedy = _REMEDY_BY_ERROR.get(error.errno or 0, otherwise)
    failure = WriteError(f"{path} cannot be written ({error.strerror}). {remedy}")
    failure.strerror = error.strerror
    return failure


def _find_place(error: OSError, path: Path, draft: Path | None) -> str | None:
    """Return what could not be written; None where the error is about something else.

    What fails while an open file is written names no file; what fails while it is made names it.
    """
    if error.errno is None:  # raised by a library that reads, such as gzip
        return None
    if error.filename is None:
        return str(path)
    named = os.fsdecode(error.filename)
    if draft is not None and named.startswith(str(draft)):
        return named.replace(str(draft), str(path), 1)
    is_ours = Path(named) in (path, path.parent) or _DRAFT.fullmatch(Path(named).name)
    return str(path) if is_ours else None


def _is_to_be_replaced(path: Path) -> bool:
    """Return whether a whole file takes the place of this one; otherwise it is written into."""
    _require_folder(path.parent)
    try:
        found = path.stat()
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "It is a folder", str(path))
    return stat.S_ISREG(found.st_mode) and _find_standard_stream(found) is None


def _find_standard_stream(found: os.stat_result) -> int | None:
    """Return standard output or error where it is this very file, as with /dev/stdout."""
    for descriptor in (1, 2):
        with suppress(OSError):  # it may be closed
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None


def _open_stream(path: Path) -> BinaryIO:
    descriptor = _find_standard_stream(path.stat())
    if descriptor is None:
        return path.open("wb")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return os.fdopen(os.dup(descriptor), "wb")


@contextmanager
def _drafting(path: Path) -> Iterator[BinaryIO]:
    draft = _draft_beside(path)
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
