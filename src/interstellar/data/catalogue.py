"""The sets that have a name: how to find one, and whether it is on this machine."""

import os
from difflib import get_close_matches
from pathlib import Path
from typing import TypedDict

from interstellar.data.builtin import BUILT_IN_SETS, is_builtin
from interstellar.data.named_set import BuiltInSet, NamedSet, SetFile, Task
from interstellar.data.published_sets import NAMED_SETS
from interstellar.errors import DataError

__all__ = [
    "BUILT_IN_SETS",
    "NAMED_SETS",
    "BuiltInSet",
    "ListedSet",
    "NamedSet",
    "SetFile",
    "Task",
    "data_root",
    "find_set",
    "is_available",
    "list_names",
    "list_sets",
    "missing_files",
    "require_set",
]

ROOT_VARIABLE = "INTERSTELLAR_DATA"


class ListedSet(TypedDict):
    """One line of `interstellar data list`."""

    name: str
    task: str
    available: bool


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
    close = list_names(close_to=name)
    advice = (
        f"Did you mean {' or '.join(close)}?" if close else f"Names: {', '.join(list_names())}."
    )
    raise DataError(f"{name!r} is not the name of a set. {advice}")


def list_names(close_to: str | None = None) -> list[str]:
    """Return the names of all sets, or of those that are spelled much like `close_to`."""
    names = [known.name for known in NAMED_SETS] + [known.name for known in BUILT_IN_SETS]
    if close_to is None:
        return names
    name_by_lower = {name.lower(): name for name in names}
    wanted = close_to.partition(":")[0].strip().lower()
    return [name_by_lower[match] for match in get_close_matches(wanted, name_by_lower)]


def list_sets(root: Path) -> list[ListedSet]:
    """Return every set with its task and whether it can be read without a download."""
    published = [
        ListedSet(name=known.name, task=known.task, available=is_available(known, root))
        for known in NAMED_SETS
    ]
    built_in = [
        ListedSet(name=known.name, task=known.task, available=True) for known in BUILT_IN_SETS
    ]
    return published + built_in


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
