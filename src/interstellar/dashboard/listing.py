"""Which runs lie below a folder: found by walking it, never by a path that somebody sends.

Links are not followed, so that nothing outside the folder is found.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from interstellar.errors import SettingsError
from interstellar.searching.search_journal import FINAL

MOST_DEPTH = 6
"""Folders between the one that was given and a run."""
MOST_FOLDERS, MOST_RUNS = 20_000, 2_000
NECESSARY = ("experiment.toml", "environment.json", "journal.jsonl")


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs below a folder by their paths relative to it, with `/` between the parts."""

    folder_by_name: dict[str, Path]
    is_cut_short: bool
    """Whether there were more folders or runs than are looked at."""


def list_runs(root: Path) -> Listing:
    """Return the runs in a folder and below it, in the order of their paths."""
    if not root.is_dir():
        found = "is a file" if root.exists() else "does not exist"
        raise SettingsError(
            f"{root} {found}, but runs are looked for in a folder. Give the folder that holds them."
        )
    listed: dict[str, Path] = {}
    is_cut_short = False
    for n_folders, folder in enumerate(_walk(root)):
        is_cut_short = n_folders >= MOST_FOLDERS or len(listed) >= MOST_RUNS
        if is_cut_short:
            break
        if is_run(folder):
            listed[folder.relative_to(root).as_posix()] = folder
    return Listing(dict(sorted(listed.items())), is_cut_short)


def is_run(folder: Path) -> bool:
    """Return whether a folder has the files of a run, none of them a link."""
    return all(mark_of(folder / name) is not None for name in NECESSARY)


def has_links(folder: Path) -> bool:
    """Return whether something that is read of a run leads elsewhere."""
    inside = [folder, folder / "names", folder / FINAL]
    return any(entry.is_symlink() for part in inside for entry in _scan(part))


def _walk(root: Path) -> Iterator[Path]:
    """Yield folders, those above first; of the folders in a run only that of its winner."""
    level = [root]
    for _ in range(MOST_DEPTH + 1):
        below: list[Path] = []
        for folder in level:
            yield folder
            parts = [Path(e.path) for e in _scan(folder) if e.is_dir(follow_symlinks=False)]
            below += [part for part in parts if part.name == FINAL] if is_run(folder) else parts
        level = below


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:  # it may not be read, or has just been removed
        return []


def mark_of(path: Path) -> tuple[int, int] | None:
    """Return when a plain file was written and how long it is; None: there is none, or a link."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if S_ISREG(found.st_mode) else None
