from pathlib import Path

import pytest

from interstellar.dashboard.live_training import LiveTraining
from interstellar.records.run_folder import RunFolder
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_training import RecordedTraining
from interstellar.runs.experiment import read_experiment
from interstellar.searching.trial import ALTERED
from tests.reporting.written_runs import write_training


def read_live(folder: Path) -> LiveTraining:
    run = RunFolder(folder)
    live = LiveTraining(read_experiment(run.experiment_file))
    for event in run.read_events():
        live.take(event)
    if run.is_finished:
        live.finish(run)
    return live


@pytest.mark.parametrize("test", [None, 0.3])
def test_what_is_known_of_a_training_is_what_a_report_reads(
    test: float | None, tmp_path: Path
) -> None:
    folder = write_training(tmp_path / "run", [0.2, None, 0.5], test=test)
    [read] = read_runs(folder)

    live = read_live(folder).record(read.run)

    assert isinstance(read, RecordedTraining)
    assert live == read


def test_the_score_is_that_of_the_best_epoch_and_progress_the_last(tmp_path: Path) -> None:
    live = read_live(write_training(tmp_path / "run", [0.2, 0.5, 0.1]))

    assert live.score == 0.5
    assert live.progress.startswith("epoch 3 of ")


def test_a_finished_training_says_how_many_epochs_it_had(tmp_path: Path) -> None:
    live = read_live(write_training(tmp_path / "run", [0.2, 0.5], test=0.1))

    assert live.progress == "2 epochs"


def test_an_epoch_that_no_training_writes_is_refused(tmp_path: Path) -> None:
    live = read_live(write_training(tmp_path / "run", [0.2]))

    with pytest.raises(ALTERED):
        live.take({"event": "epoch", "epoch": "x", "loss": 1.0, "valid": {}, "is_best": False})
