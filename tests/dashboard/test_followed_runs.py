import shutil
from pathlib import Path

import pytest

from interstellar.dashboard import followed_runs
from tests.dashboard.small_folders import (
    add_epoch,
    add_trial,
    follow,
    look_at_all,
    snapshot,
    write_runs,
)
from tests.reporting.written_runs import write_training


@pytest.fixture(autouse=True)
def listing_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_runs, "LIST_SECONDS", 0.0)
    monkeypatch.setattr(followed_runs, "LIST_SHARE", 0.0)


def test_all_runs_are_followed_at_once(tmp_path: Path) -> None:
    followed = follow(write_runs(tmp_path))
    add_epoch(tmp_path / "deep" / "training", 2, 0.7)
    add_trial(tmp_path / "search", 3, score=0.9)
    before = followed.version

    look_at_all(followed)

    scores = {name: run.live and run.live.score for name, run in followed.runs.items()}
    assert scores == {"deep/training": 0.7, "search": 0.9, "trained": 0.4}
    assert followed.version > before


def test_the_version_stays_where_nothing_changes(tmp_path: Path) -> None:
    followed = follow(write_runs(tmp_path))
    before = followed.version

    look_at_all(followed)

    assert followed.version == before


def test_runs_appear_and_go(tmp_path: Path) -> None:
    followed = follow(write_runs(tmp_path))
    before = followed.version
    shutil.rmtree(tmp_path / "search")
    write_training(tmp_path / "new", [0.3])
    kept = followed.runs["trained"]

    look_at_all(followed)

    assert list(followed.runs) == ["deep/training", "new", "trained"]
    assert followed.runs["trained"] is kept
    assert followed.version > before


def test_the_folder_itself_may_go_and_come_back(tmp_path: Path) -> None:
    followed = follow(write_runs(tmp_path / "runs"))

    shutil.rmtree(tmp_path / "runs")
    look_at_all(followed)
    assert followed.runs == {}
    write_runs(tmp_path / "runs")
    look_at_all(followed)

    assert len(followed.runs) == 3


def test_a_look_ends_in_time_and_no_run_waits_for_a_long_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path)
    journal = tmp_path / "deep" / "training" / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"event": "noise", "time": "2026-01-01"}\n' * 100_000)
    monkeypatch.setattr(followed_runs, "MOST_SECONDS", 0.02)
    followed = followed_runs.FollowedRuns(tmp_path)

    assert followed.look()
    for _ in range(20):
        followed.look()

    assert followed.runs["search"].live is not None
    assert followed.runs["trained"].live is not None


def test_following_writes_nothing(tmp_path: Path) -> None:
    write_runs(tmp_path)
    before = snapshot(tmp_path)

    look_at_all(follow(tmp_path))

    assert snapshot(tmp_path) == before
