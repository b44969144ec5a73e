"""The folder of a run: what it holds, who may write to it, and how it is read again.

| file | holds |
| --- | --- |
| `experiment.toml` | everything that was asked for, resolved |
| `environment.json` | versions, machine, device, commit |
| `journal.jsonl` | what happened, one event a line |
| `result.json` | what came out; there once the run is finished |
| `weights.safetensors` | the trained tensors |
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
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from interstellar.errors import DataError, SettingsError
from interstellar.records.journal import Event, Journal, read_events, sync_folder
from interstellar.records.json_files import check_format, parse_object, read_json, write_json
from interstellar.records.safe_files import new_folder, replacing_file
from interstellar.records.writer_lock import holding_lock

VERSION = 1
"""Of every file here that this module writes."""
MAX_LINE_BYTES = 2**24

_NECESSARY = ("experiment.toml", "environment.json", "journal.jsonl")


def refuse_existing(path: Path) -> None:
    """Raise if there is something where a new run is to be."""
    if os.path.lexists(path):
        raise SettingsError(
            f"{path} exists, and a run never overwrites another. "
            "Go on with it by --resume, or choose a new folder with --out."
        )


@final
@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run on disk; made by `create`, found again by `open`."""

    path: Path

    @classmethod
    def create(cls, path: Path, *, experiment: str, environment: Mapping[str, object]) -> Self:
        """Make the folder of a new run; it is there with all that `open` asks for, or not at all.

        Args:
            path: Must not exist; folders above it are made.
            experiment: The text of `experiment.toml`.
            environment: What `describe_environment` returned.
        """
        refuse_existing(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with new_folder(path) as draft:
                cls(draft)._fill(experiment, environment)
            sync_folder(path.parent)
        except OSError as error:
            raise SettingsError(
                f"{path} cannot be made ({error.strerror}), but a run is to be written there. "
                "Choose another --out."
            ) from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run in a folder, which must have been made by `create`."""
        if not path.is_dir():
            found = "is a file" if path.exists() else "does not exist"
            raise SettingsError(f"{path} {found}, but a run is a folder. Give the --out of a run.")
        missing = [name for name in _NECESSARY if not (path / name).is_file()]
        if missing:
            raise SettingsError(
                f"{path} is no run: it lacks {', '.join(missing)}. Give the --out of a run."
            )
        run = cls(path)
        run.read_environment()
        return run

    @property
    def experiment_file(self) -> Path:
        """Everything that was asked for, resolved."""
        return self.path / "experiment.toml"

    @property
    def environment_file(self) -> Path:
        """Versions, machine, device, commit."""
        return self.path / "environment.json"

    @property
    def journal_file(self) -> Path:
        """What happened, one event a line."""
        return self.path / "journal.jsonl"

    @property
    def result_file(self) -> Path:
        """What came out."""
        return self.path / "result.json"

    @property
    def weights_file(self) -> Path:
        """The trained tensors."""
        return self.path / "weights.safetensors"

    @property
    def graph_file(self) -> Path:
        """The graph as ids."""
        return self.path / "graph.safetensors"

    @property
    def names_folder(self) -> Path:
        """The vocabularies."""
        return self.path / "names"

    @property
    def checkpoints_folder(self) -> Path:
        """What resuming needs."""
        return self.path / "checkpoints"

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
            for draft in self.path.glob(".*.draft"):
                if draft.is_file():
                    draft.unlink(missing_ok=True)
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
                f"{self.path} has no result.json: the run is not finished. Go on with --resume."
            )
        return read_json(self.result_file, kind="result", version=VERSION)

    def save_names(self, vocabulary: str, names: Iterable[str]) -> None:
        """Store names in the order of their ids, for instance those of `entities`."""
        encode = json.JSONEncoder(ensure_ascii=False).encode
        listed = names if isinstance(names, list) else list(names)
        header = {"format": "interstellar names", "version": VERSION, "n": len(listed)}
        self.names_folder.mkdir(exist_ok=True)
        with replacing_file(self._names_file(vocabulary)) as file:
            file.write(json.dumps(header).encode() + b"\n")
            file.writelines(encode(name).encode() + b"\n" for name in listed)

    def read_names(self, vocabulary: str) -> list[str]:
        """Return what `save_names` stored under the same word."""
        path = self._names_file(vocabulary)
        if not path.is_file():
            raise DataError(f"{path} does not exist: the run holds no such names. Train it anew.")
        with path.open("rb") as file:
            header = parse_object(file.readline(MAX_LINE_BYTES), f"{path}:1")
            check_format(header, f"{path}:1", kind="names", version=VERSION)
            names = _parse_names(file.readlines(), path)
        if len(names) != header.get("n"):
            raise DataError(
                f"{path} holds {len(names)} names, but its first line says {header.get('n')!r}. "
                "The file was cut: take it from a copy, or train anew."
            )
        return names

    def _fill(self, experiment: str, environment: Mapping[str, object]) -> None:
        self.experiment_file.write_text(experiment, encoding="utf-8", newline="\n")
        write_json(self.environment_file, environment, kind="environment", version=VERSION)
        Journal.open(self.journal_file).close()
        self.names_folder.mkdir()
        self.checkpoints_folder.mkdir()

    def _names_file(self, vocabulary: str) -> Path:
        if re.fullmatch(r"[a-z][a-z0-9_]{0,60}", vocabulary) is None:
            raise SettingsError(
                f"{vocabulary!r} cannot name a vocabulary: it must be a word of small letters, "
                "digits and _. Choose one such as entities."
            )
        return self.names_folder / f"{vocabulary}.jsonl"


def _parse_names(lines: list[bytes], path: Path) -> list[str]:
    """Return the name on each line: all at once, or one by one to say which is at fault."""
    try:
        names = json.loads(b"[" + b",".join(lines) + b"]")
    except (ValueError, RecursionError):
        names = []
    if len(names) == len(lines) and all(type(name) is str for name in names):
        return list(names)
    return [_parse_name(line, path, number) for number, line in enumerate(lines, 2)]


def _parse_name(line: bytes, path: Path, number: int) -> str:
    try:
        name = json.loads(line)
    except (ValueError, RecursionError):
        name = None
    if not isinstance(name, str):
        raise DataError(
            f"{path}:{number} is not a JSON string, but each line holds one name. "
            "Take the file from a copy, or train anew."
        )
    return name
