"""Folders of small runs, some of which are under way."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interstellar.dashboard.followed_runs import FollowedRuns
from interstellar.records.journal import Journal
from interstellar.records.run_folder import RunFolder
from tests.reporting.written_runs import metrics, write_search, write_training, write_trial

EVIL = "<script>alert('x')<\\script> & \"y\""


def write_runs(folder: Path) -> Path:
    """Write a finished training, one under way, and a search under way."""
    folder.mkdir(exist_ok=True)
    write_training(folder / "trained", [0.2, 0.4], test=0.3)
    write_training(folder / "deep" / "training", [0.1])
    write_search(
        folder / "search",
        [{"score": 0.2}, {"score": 0.5, "formula": "RSN"}, {"formula": "ComplEx"}],
        is_finished=False,
    )
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[Journal]:
    """Write on at a run, as its own process does."""
    with RunFolder(folder).writing() as journal:
        yield journal


def add_epoch(folder: Path, number: int, score: float) -> None:
    with writing(folder) as journal:
        journal.append("epoch", epoch=number, loss=1.0 / number, valid=metrics(score), is_best=True)


def add_trial(folder: Path, number: int, **trial: Any) -> None:
    with writing(folder) as journal:
        write_trial(journal, number, trial)


def follow(folder: Path) -> FollowedRuns:
    """Return the runs of a folder, each read to its end."""
    followed = FollowedRuns(folder)
    look_at_all(followed)
    return followed


def look_at_all(followed: FollowedRuns) -> None:
    """Look once at each run, to the end of its journal."""
    while followed.look():
        pass


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return all files below a folder with what would change if somebody wrote."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mtime_ns,
            path.lstat().st_ino,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


def read_message(text: str) -> dict[str, Any]:
    """Return the object of a message of a stream."""
    message: dict[str, Any] = json.loads(text.removeprefix("data: "))
    return message


def wait_until(is_so: Callable[[], object], seconds: float = 90.0) -> None:
    """Wait until something is so, but not for ever."""
    import time

    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be so"
        time.sleep(0.02)
