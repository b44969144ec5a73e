"""The sets that have a name: built in, or published, and then where they lie and come from.

The files of the published sets stand in `published_sets.tsv`: set, name, size, checksum, address.
Sizes and checksums are of finished files: line ends are LF, and `ref_ent_ids` is without the
training pairs. They were computed from the copies that this project measures on, those of
YAGO3-10's train.txt aside: there only the MD5 is known, and the size is a guess.

Licences: MIT for the repositories KnowledgeGraphEmbedding and RSN, none stated at CEA, which took
its sets from RSN; nothing is stated for the data.
"""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TypedDict

from interstellar.data.geography import GEOGRAPHY_NAMES, parse_geography
from interstellar.data.graph import AnyGraph, Task
from interstellar.data.synthetic import GRAPH_NAME, PAIR_NAME, is_synthetic, parse_synthetic
from interstellar.errors import DataError

ROOT_VARIABLE = "INTERSTELLAR_DATA"
SOURCE_URL = "https://raw.githubusercontent.com"
"""Below it, the path of a file is owner/repository/commit/path, which never changes."""
_SPARE_BYTES = 65_536
_ALGORITHM_BY_LENGTH = {32: "md5", 64: "sha256"}


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
    source: str
    """Where the files come from, for a person."""
    files: tuple[SetFile, ...]
    """The files without which the set cannot be read."""

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


class ListedSet(TypedDict):
    """One line of `interstellar data list`."""

    name: str
    task: str
    available: bool


def _list_published() -> tuple[NamedSet, ...]:
    text = files("interstellar.data").joinpath("published_sets.tsv").read_text(encoding="utf-8")
    files_by_set: dict[str, list[SetFile]] = {}
    for line in text.splitlines():
        set_name, name, n_bytes, digest, path = line.split("\t")
        # There the file holds all 15,000 pairs: those of sup_ent_ids come after the others.
        without = "sup_ent_ids" if name == "ref_ent_ids" else None
        file = SetFile(name=name, path=path, digest=digest, n_bytes=int(n_bytes), without=without)
        files_by_set.setdefault(set_name, []).append(file)
    return tuple(_describe(name, tuple(files)) for name, files in files_by_set.items())


def _describe(name: str, files: tuple[SetFile, ...]) -> NamedSet:
    is_one = any(file.name == "train.txt" for file in files)
    folder = f"link-prediction/{name}" if is_one else f"entity-alignment/{name}-normal"
    return NamedSet(
        name=name,
        task=Task.LINK_PREDICTION if is_one else Task.ENTITY_ALIGNMENT,
        folder=name.replace("-", "/") if name.startswith("countries") else folder,
        source="github.com/" + "/".join(str(files[0].path).split("/")[:2]),
        files=files,
    )


def _make_dense(normal: NamedSet) -> NamedSet:
    return NamedSet(
        name=f"{normal.name}-dense",
        task=normal.task,
        folder=f"entity-alignment/{normal.name}-dense",
        source="github.com/nju-websoft/RSN (mapping/0_3 of the V2 sets)",
        files=tuple(SetFile(name=file.name) for file in normal.files),
    )


_FETCHABLE = _list_published()
NAMED_SETS = (
    *_FETCHABLE,
    *(_make_dense(known) for known in _FETCHABLE if known.task is Task.ENTITY_ALIGNMENT),
)

BUILT_IN_SETS = {
    **dict.fromkeys(GEOGRAPHY_NAMES, Task.LINK_PREDICTION),
    GRAPH_NAME: Task.LINK_PREDICTION,
    PAIR_NAME: Task.ENTITY_ALIGNMENT,
}


def is_builtin(name: str) -> bool:
    """Return whether a name, in any case, is that of a built-in set."""
    return is_synthetic(name) or name.strip().lower() in map(str.lower, GEOGRAPHY_NAMES)


def build_builtin(name: str) -> AnyGraph:
    """Return the built-in set of that name, made as the settings in it say."""
    return parse_synthetic(name) if is_synthetic(name) else parse_geography(name)


def find_set(name: str) -> NamedSet | None:
    """Return the published set of that name, in any case, or None."""
    wanted = name.strip().lower()
    return next((known for known in NAMED_SETS if known.name.lower() == wanted), None)


def require_set(name: str) -> NamedSet:
    """Return the published set of that name, in any case; it is an error if there is none."""
    found = find_set(name)
    if found is not None:
        return found
    if is_builtin(name):
        raise DataError(
            f"{name} is built in: there are no files of it. Use the name where data is asked for."
        )
    advice = suggest_names(name) or f"Names: {', '.join(list_names())}."
    raise DataError(f"{name!r} is not the name of a set. {advice}")


def list_names() -> list[str]:
    """Return the names of all sets."""
    return [*(known.name for known in NAMED_SETS), *BUILT_IN_SETS]


def suggest_names(name: str) -> str:
    """Return the question whether names spelled much like an unknown one are meant, if any are."""
    name_by_lower = {known.lower(): known for known in list_names()}
    close = get_close_matches(name.partition(":")[0].strip().lower(), name_by_lower)
    return f"Did you mean {' or '.join(name_by_lower[each] for each in close)}?" if close else ""


def list_sets(root: Path) -> list[ListedSet]:
    """Return every set with its task and whether it can be read without a download."""
    here = {known.name: is_available(known, root) for known in NAMED_SETS}
    tasks = {known.name: known.task for known in NAMED_SETS} | BUILT_IN_SETS
    return [
        ListedSet(name=name, task=task, available=here.get(name, True))
        for name, task in tasks.items()
    ]


def data_root() -> Path:
    """Return the folder under which named sets lie: $INTERSTELLAR_DATA or the user's cache."""
    given = os.environ.get(ROOT_VARIABLE)
    if given:
        return Path(given).expanduser()
    # Here, because most uses of this package need neither pooch nor a cache.
    import pooch  # noqa: PLC0415

    return Path(pooch.os_cache("interstellar"))


def is_available(named_set: NamedSet, root: Path) -> bool:
    """Return whether every file that the set needs lies under the root."""
    return not missing_files(named_set, root)


def missing_files(named_set: NamedSet, root: Path) -> tuple[str, ...]:
    """Return the names of the files that the set needs and that are not there."""
    folder = named_set.folder_below(root)
    return tuple(file.name for file in named_set.files if not (folder / file.name).is_file())
