"""The temperature of a run is fitted once, kept beside it, and never taken for other weights."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from interstellar.data.triplets import no_triplets
from interstellar.evaluation import calibration
from interstellar.records.run_folder import RunFolder
from interstellar.tasks import run_calibration, training_run
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.run_calibration import find_temperature, measure_run_reliability
from interstellar.tasks.run_prediction import build_predictor
from interstellar.tasks.splits import Split
from interstellar.tasks.trained_run import TrainedRun, open_run
from interstellar.tasks.training_run import train_run
from interstellar.training.experiment import Experiment
from interstellar.training.presets import default_settings
from interstellar.training.settings import with_changes

CPU = torch.device("cpu")


def experiment(data: str = "synthetic:entities=60") -> Experiment:
    task = "entity-alignment" if "alignment" in data else "link-prediction"
    settings = with_changes(default_settings(task, "a small set"), dim=8, max_epochs=2)
    return Experiment(data=data, architecture="ComplEx", seed=0, settings=settings)


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    train_run(experiment(), out, device=CPU)
    return out


@pytest.fixture
def run(trained_once: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained_once, tmp_path / "run")
    (tmp_path / "run" / run_calibration.FILE_NAME).unlink(missing_ok=True)
    return tmp_path / "run"


def open_task(run: Path) -> tuple[LinkPrediction, TrainedRun]:
    trained = open_run(run, CPU)
    assert isinstance(trained.task, LinkPrediction)
    return trained.task, trained


def find(run: Path) -> float | None:
    task, trained = open_task(run)
    return find_temperature(run, task, trained.network)


def test_training_leaves_the_temperature_that_predicting_would_fit(
    trained_once: Path, run: Path
) -> None:
    kept = json.loads((trained_once / "calibration.json").read_text())

    assert kept["temperature"] == pytest.approx(find(run), rel=1e-4)
    assert kept["weights_sha256"] == RunFolder.open(run).read_result()["weights_sha256"]


def test_a_run_killed_before_its_temperature_is_whole_and_fits_it_at_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "find_temperature", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_run(experiment(), out, device=CPU)

    resumed = train_run(experiment(), out, device=CPU, is_resumed=True)

    assert resumed == RunFolder.open(out).read_result()
    assert not (out / "calibration.json").exists()
    assert build_predictor(out, open_run(out, CPU)).temperature == find(out) is not None


def test_an_alignment_has_no_temperature(tmp_path: Path) -> None:
    train_run(experiment("synthetic-alignment:entities=60"), tmp_path / "run", device=CPU)

    assert not (tmp_path / "run" / "calibration.json").exists()


def test_it_is_fitted_once_and_then_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = find(run)
    monkeypatch.delattr(run_calibration, "fit_temperature")

    assert find(run) == fitted
    kept = json.loads((run / "calibration.json").read_text())
    assert kept["format"] == "interstellar calibration"
    assert kept["temperature"] == fitted


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "interstellar calibration", "version": 9}']
)
def test_a_file_that_cannot_be_used_is_replaced(run: Path, content: str) -> None:
    fitted = find(run)
    (run / "calibration.json").write_text(content)

    assert find(run) == fitted
    assert json.loads((run / "calibration.json").read_text())["temperature"] == fitted


def test_the_temperature_of_other_weights_is_not_taken(run: Path) -> None:
    fitted = find(run)
    kept = json.loads((run / "calibration.json").read_text())
    kept |= {"temperature": 77.0, "weights_sha256": "another"}
    (run / "calibration.json").write_text(json.dumps(kept))

    assert find(run) == fitted


def test_where_it_cannot_be_kept_it_is_fitted_each_time(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    fitted = find(run)
    (run / "calibration.json").unlink()
    monkeypatch.setattr(run_calibration, "write_json", refuse)

    assert find(run) == fitted
    assert not (run / "calibration.json").exists()


def test_without_validation_triplets_there_is_none(run: Path) -> None:
    task, trained = open_task(run)
    bare = LinkPrediction(replace(task.graph, valid=no_triplets()))

    assert find_temperature(run, bare, trained.network) is None


def test_on_a_handful_of_validation_triplets_none_is_fitted(run: Path) -> None:
    task, trained = open_task(run)
    few = LinkPrediction(replace(task.graph, valid=task.graph.valid[:9]))
    enough = LinkPrediction(replace(task.graph, valid=task.graph.valid[:10]))

    assert find_temperature(run, few, trained.network) is None
    assert find_temperature(run, enough, trained.network) is not None


def test_the_fit_is_no_worse_than_none_on_validation(run: Path) -> None:
    task, trained = open_task(run)

    measured = measure_run_reliability(run, task, trained.network, Split.VALID)

    assert measured.n == 2 * len(task.graph.valid) < calibration.MOST_QUERIES
    assert measured.nll <= measured.nll_uncalibrated
    assert measured.temperature == find(run)
