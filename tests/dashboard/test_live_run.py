import shutil
from pathlib import Path

import pytest

from interstellar.dashboard.live_run import LiveRun
from interstellar.dashboard.live_training import LiveTraining
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_run import State
from interstellar.reporting.recorded_training import RecordedTraining
from tests.dashboard.small_folders import add_epoch, add_trial, snapshot, writing
from tests.reporting.written_runs import write_search, write_training


def read(folder: Path) -> LiveRun:
    run = LiveRun("run", folder)
    run.look()
    return run


def test_a_run_that_was_read_is_what_a_report_reads(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2, 0.5], test=0.4)

    run = read(folder)

    assert [run.recorded] == read_runs(folder)
    assert run.problem is None
    assert run.begun is not None
    assert run.changed is not None
    assert run.begun <= run.changed


def test_a_run_grows_with_its_journal_and_its_version_says_so(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2])
    run = read(folder)
    before = run.version

    run.look()
    assert run.version == before
    add_epoch(folder, 2, 0.6)
    run.look()

    assert run.version > before
    assert isinstance(run.recorded, RecordedTraining)
    assert [epoch.epoch for epoch in run.recorded.epochs] == [1, 2]
    assert run.live is not None
    assert run.live.score == 0.6


def test_a_run_is_open_then_stopped_then_finished(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2])
    run = read(folder)
    states = [run.state]

    with writing(folder) as journal:
        journal.append("stopped")
    run.look()
    states.append(run.state)
    other = write_training(tmp_path / "other", [0.2], test=0.1)
    shutil.copy(other / "result.json", folder / "result.json")
    run.look()
    states.append(run.state)

    assert states == [State.OPEN, State.STOPPED, State.FINISHED]
    assert isinstance(run.recorded, RecordedTraining)
    assert run.recorded.metrics["test"]["mrr"] == 0.1


def test_a_run_that_another_took_the_place_of_is_forgotten(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2, 0.3], test=0.1)
    run = read(folder)
    shutil.rmtree(folder)
    write_search(folder, [{"score": 0.7}], is_finished=False)

    run.look()

    assert run.state is State.OPEN
    assert [run.recorded.run] == [found.run for found in read_runs(folder)] if run.recorded else 0
    assert run.live is not None
    assert (run.live.score, run.live.progress) == (0.7, "1 trials")


def test_a_run_that_is_deleted_while_it_is_watched_says_so(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2])
    run = read(folder)
    shutil.rmtree(folder)

    run.look()
    run.look()

    assert run.problem is not None
    assert "No such file" in run.problem


def test_an_event_that_no_run_writes_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "run", [{"score": 0.2}], is_finished=False)
    with writing(folder) as journal:
        journal.append("ended", number="no number")
    add_trial(folder, 1, score=0.4)

    run = read(folder)

    assert run.problem is not None
    assert "an event `ended`" in run.problem
    assert run.live is not None
    assert run.live.score == 0.4


def test_an_experiment_that_cannot_be_read_is_a_problem_until_it_can(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2])
    text = (folder / "experiment.toml").read_text()
    (folder / "experiment.toml").write_text("this is no TOML")

    run = read(folder)
    assert run.recorded is None
    assert "experiment.toml" in str(run.problem)
    (folder / "experiment.toml").write_text(text)
    run.look()

    assert run.problem is None
    assert run.recorded is not None


def test_an_altered_result_is_a_problem(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2], test=0.1)
    (folder / "result.json").write_text("{}")

    assert "result.json" in str(read(folder).problem)


def test_a_fault_of_our_own_is_a_problem_of_that_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(LiveTraining, "take", fail)

    run = read(write_training(tmp_path / "run", [0.2]))

    assert "ZeroDivisionError" in str(run.problem)


def test_a_result_that_is_a_link_is_none(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2], test=0.1)
    (folder / "result.json").rename(tmp_path / "elsewhere.json")
    (folder / "result.json").symlink_to(tmp_path / "elsewhere.json")

    run = read(folder)

    assert run.state is State.OPEN
    assert run.problem is None


def test_watching_a_run_writes_nothing_and_takes_no_lock(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "run", [0.2], test=0.1)
    run = LiveRun("run", folder)
    before = snapshot(tmp_path)

    run.look()
    assert snapshot(tmp_path) == before
    with writing(folder) as journal:  # would be refused, were the run locked
        run.look()
        journal.append("stopped")
        run.look()
