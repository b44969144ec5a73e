import os
from pathlib import Path

import pytest

from interstellar.dashboard import listing
from interstellar.dashboard.listing import has_links, is_run, list_runs
from interstellar.errors import SettingsError
from tests.dashboard.small_folders import write_runs
from tests.reporting.written_runs import write_search, write_training


def test_runs_are_named_by_their_paths_below_the_folder(tmp_path: Path) -> None:
    write_runs(tmp_path)

    found = list_runs(tmp_path)

    assert found.folder_by_name == {
        "deep/training": tmp_path / "deep" / "training",
        "search": tmp_path / "search",
        "trained": tmp_path / "trained",
    }
    assert not found.is_cut_short


def test_a_run_may_be_the_folder_itself(tmp_path: Path) -> None:
    write_training(tmp_path / "run", [0.1])

    assert list(list_runs(tmp_path / "run").folder_by_name) == ["."]


def test_of_the_folders_in_a_run_only_its_winner_is_a_run(tmp_path: Path) -> None:
    write_search(tmp_path / "found", [{"score": 0.2}])
    write_training(tmp_path / "found" / "final", [0.2], test=0.2)
    write_training(tmp_path / "found" / "trials" / "3", [0.2])

    assert list(list_runs(tmp_path).folder_by_name) == ["found", "found/final"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    write_training(tmp_path / "elsewhere" / "secret", [0.1])
    runs = write_runs(tmp_path / "runs")
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    half = write_training(runs / "half", [0.1])
    (half / "journal.jsonl").unlink()
    (half / "journal.jsonl").symlink_to(tmp_path / "elsewhere" / "secret" / "journal.jsonl")

    assert list(list_runs(runs).folder_by_name) == ["deep/training", "search", "trained"]
    assert not is_run(half)
    assert has_links(half)


def test_a_link_among_the_names_of_a_run_is_noticed(tmp_path: Path) -> None:
    run = write_training(tmp_path / "run", [0.1])
    assert not has_links(run)

    (run / "names" / "entities.jsonl").symlink_to("/etc/passwd")

    assert has_links(run)


def test_folders_too_deep_are_not_looked_at(tmp_path: Path) -> None:
    parts = [str(i) for i in range(listing.MOST_DEPTH)]
    write_training(tmp_path.joinpath(*parts[:-1], "seen"), [0.1])
    write_training(tmp_path.joinpath(*parts, "unseen"), [0.1])

    assert [Path(name).name for name in list_runs(tmp_path).folder_by_name] == ["seen"]


def test_of_very_many_runs_the_first_are_listed_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path)
    monkeypatch.setattr(listing, "MOST_RUNS", 2)

    found = list_runs(tmp_path)

    assert len(found.folder_by_name) == 2
    assert found.is_cut_short


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_folder_that_may_not_be_read_is_left_out(tmp_path: Path) -> None:
    write_runs(tmp_path)
    (tmp_path / "deep").chmod(0)

    assert list(list_runs(tmp_path).folder_by_name) == ["search", "trained"]
    (tmp_path / "deep").chmod(0o700)


@pytest.mark.parametrize(("name", "found"), [("file", "is a file"), ("none", "does not exist")])
def test_what_is_no_folder_is_refused(name: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SettingsError, match=found):
        list_runs(tmp_path / name)
