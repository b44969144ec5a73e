"""What is known of a set that has a name: what it is, where it lies, where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

SOURCE_URL = "https://raw.githubusercontent.com"
"""Below it, the path of a file is owner/repository/commit/path, which never changes."""

_SPARE_BYTES = 65_536
_ALGORITHM_BY_LENGTH = {32: "md5", 64: "sha256"}


class Task(StrEnum):
    """What a set is for."""

    LINK_PREDICTION = "link-prediction"
    ENTITY_ALIGNMENT = "entity-alignment"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFile:
    """One file of a set: its name here, and where and how it can be had."""

    name: str
    path: str | None = None
    """Below `SOURCE_URL` or a mirror of it; None: no address is known."""
    digest: str | None = None
    """Of the finished file, in hex: SHA-256 or, where only that was published, MD5."""
    n_bytes: int = 0
    """Of the finished file, at least roughly; a server that sends far more is not believed."""
    without: str | None = None
    """Another file of the set, whose lines are taken out of this one."""

    def __post_init__(self) -> None:
        assert PurePosixPath(self.name).parts == (self.name,), self.name
        assert self.name not in ("", ".", ".."), self.name
        assert self.digest is None or len(self.digest) in _ALGORITHM_BY_LENGTH, self.digest

    @property
    def algorithm(self) -> str:
        """Which checksum `digest` is."""
        assert self.digest is not None
        return _ALGORITHM_BY_LENGTH[len(self.digest)]

    @property
    def most_bytes(self) -> int:
        """The largest download that is worth reading to its end."""
        return 2 * self.n_bytes + _SPARE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSet:
    """A published set, which is read from a folder and can mostly be downloaded."""

    name: str
    task: Task
    folder: str
    """Below the data root."""
    description: str
    source: str
    """Where the files come from, for a person."""
    licence: str
    files: tuple[SetFile, ...]
    """The files without which the set cannot be read."""
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    """What the files hold, for the record."""

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.folder).parts
        assert parts, "a set lies in a folder of its own"
        assert not {"/", ".."} & set(parts), self.folder

    @property
    def is_fetchable(self) -> bool:
        """Whether an address is known for every file."""
        return all(file.path and file.digest for file in self.files)

    def folder_below(self, root: Path) -> Path:
        """Return where the set lies under a data root."""
        return root / self.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInSet:
    """A set that comes with this package and is always there."""

    name: str
    task: Task
    description: str
