"""The folder of a run: what it holds, who may write to it, and how it is read again.

| file | holds |
| --- | --- |
| `experiment.toml` | everything that was asked for, resolved |
| `environment.json` | versions, machine, device, commit |
| `journal.jsonl` | what happened, one event a line |
| `result.json` | what came out; there once the run is finished |
| `weights.safetensors` | the trained tensors |
| `state.safetensors` | the last state of a finished training; without it there are no more epochs |
| `graph.safetensors` | the graph as ids |
| `names/<vocabulary>.jsonl` | one name a line, in the order of ids |
| `checkpoints/` | what resuming needs |
| `run.lock` | the process that is writing; the lock is the system's, so a dead one holds none |

A name is written as a JSON string, because it may hold tabs and newlines; the first line of its
file says format, version and how many follow. Every file says the version of its format, and one
from a newer version is refused.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

import pyarrow as pa

from interstellar.errors import DataError, SettingsError
from interstellar.records.journal import Event, Journal, read_events
from interstellar.records.json_files import (
    check_format,
    parse_object,
    read_json,
    reading,
    write_json,
)
from interstellar.records.name_file import encode_names, read_names
from interstellar.records.safe_files import (
    describe_failure,
    naming_failures,
    new_folder,
    remove_drafts,
    replacing_file,
    sync_folder,
)

VERSION = 1
"""Of every file here that this module writes."""

_NECESSARY = ("experiment.toml", "environment.json", "journal.jsonl")


def refuse_existing(path: Path) -> None:
    """Raise if there is something where a new run is to be."""
    if os.path.lexists(path):
        raise SettingsError(
            f"{path} exists, and a run never overwrites another. "
            "Go on with it by `resume`, or choose a new folder for `out`."
        )


@final
class _Within:
    """The path of something within the folder of a run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: "RunFolder", kind: type) -> Path:
        return run.path / self._name


@final
@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run on disk; made by `create`, found again by `open`."""

    path: Path

    experiment_file = _Within("experiment.toml")
    environment_file = _Within("environment.json")
    journal_file = _Within("journal.jsonl")
    result_file = _Within("result.json")
    weights_file = _Within("weights.safetensors")
    graph_file = _Within("graph.safetensors")
    state_file = _Within("state.safetensors")
    names_folder = _Within("names")
    checkpoints_folder = _Within("checkpoints")

    @classmethod
    def create(cls, path: Path, *, experiment: str, environment: Mapping[str, object]) -> Self:
        """Make the folder of a new run; it is there with all that `open` asks for, or not at all.

        `experiment` is the text of `experiment.toml`; folders above `path` are made.
        """
        refuse_existing(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise describe_failure(path, error) from error
        with new_folder(path) as folder:
            draft = cls(folder)
            draft.experiment_file.write_text(experiment, encoding="utf-8", newline="\n")
            write_json(draft.environment_file, environment, kind="environment", version=VERSION)
            Journal.open(draft.journal_file).close()
            draft.names_folder.mkdir()
            draft.checkpoints_folder.mkdir()
        sync_folder(path.parent)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run in a folder, which must have been made by `create`."""
        if not os.path.isdir(path):  # noqa: PTH112 (Path.is_dir raises where a name is too long)
            found = "is a file" if os.path.lexists(path) else "does not exist"
            raise SettingsError(f"{path} {found}, but a run is a folder. Give the folder of a run.")
        missing = [name for name in _NECESSARY if not (path / name).is_file()]
        if missing:
            raise SettingsError(
                f"{path} is no run: it lacks {', '.join(missing)}. Give the folder of a run."
            )
        run = cls(path)
        run.read_environment()
        return run

    @property
    def is_finished(self) -> bool:
        """Whether there is a result."""
        return self.result_file.is_file()

    @contextmanager
    def writing(self) -> Iterator[Journal]:
        """Be the one writer of this run, with its journal; a second writer is refused.

        What an interrupted writer left half-written is removed first.
        """
        with holding_lock(self.path / "run.lock"):
            remove_drafts(self.path)
            with Journal.open(self.journal_file) as journal:
                yield journal

    def read_events(self) -> Iterator[Event]:
        """Yield what happened so far, also while another process writes."""
        return read_events(self.journal_file)

    def read_environment(self) -> dict[str, object]:
        """Return what the run was begun with."""
        return read_json(self.environment_file, kind="environment", version=VERSION)

    def write_result(self, result: Mapping[str, object]) -> None:
        """Store what came out, whole or not at all; an earlier result is replaced."""
        write_json(self.result_file, result, kind="result", version=VERSION)
        sync_folder(self.path)

    def read_result(self) -> dict[str, object]:
        """Return what `write_result` stored."""
        if not self.is_finished:
            raise SettingsError(
                f"{self.path} has no result.json: the run is not finished. "
                "Go on with it by `resume`."
            )
        return read_json(self.result_file, kind="result", version=VERSION)

    def save_names(self, vocabulary: str, names: pa.Array) -> None:
        """Store names in the order of their ids, for instance those of `entities`."""
        header = {"format": "interstellar names", "version": VERSION, "n": len(names)}
        path = self._names_file(vocabulary)
        with naming_failures(path):
            self.names_folder.mkdir(exist_ok=True)
        with replacing_file(path) as file:
            file.write(json.dumps(header).encode() + b"\n")
            file.writelines(encode_names(names))

    def read_names(self, vocabulary: str) -> pa.Array:
        """Return what `save_names` stored under the same word."""
        path = self._names_file(vocabulary)
        if not path.is_file():
            raise DataError(f"{path} does not exist: the run holds no such names. Train it anew.")
        with reading(path) as file:
            header = parse_object(file.readline(), f"{path}:1")
            check_format(header, f"{path}:1", kind="names", version=VERSION)
            names = read_names(file, path)
        if len(names) != header.get("n"):
            raise DataError(
                f"{path} holds {len(names)} names, but its first line says {header.get('n')!r}. "
                "The file was cut: take it from a copy, or train anew."
            )
        return names

    def _names_file(self, vocabulary: str) -> Path:
        assert vocabulary.isidentifier(), "such as entities"
        return self.names_folder / f"{vocabulary}.jsonl"


@contextmanager
def holding_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, whose text is then our process id; refuse where another holds it.

    The system keeps the lock, so that a dead process cannot hold it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise describe_failure(path, error) from error
    if not _try_to_lock(descriptor):
        os.close(descriptor)
        text = path.read_bytes()[:20].strip()
        holder = f"process {int(text)}" if text.isdigit() else "another process"
        raise SettingsError(
            f"{path.parent} is being written by {holder}, and a run has one writer. "
            "Wait for it, stop it, or choose another `out`."
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


_held: set[int] = set()

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
