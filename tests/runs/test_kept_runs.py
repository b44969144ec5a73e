"""Run folders that version 0.1.0 wrote still open, answer and go on."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import interstellar
from interstellar.errors import SettingsError
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import train_run
from interstellar.tasks.splits import Split
from interstellar.training.settings import Metric
from tests.runs.small_runs import CPU, Stop

KEPT = Path(__file__).parents[1] / "kept_runs" / "0.1.0"


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of a kept run; git keeps no empty folders, so it has no `checkpoints`."""
    return Path(shutil.copytree(KEPT / request.param, tmp_path / request.param))


def experiment_of(run: Path, *, more_epochs: int = 0) -> Experiment:
    asked = read_experiment(run / "experiment.toml")
    n_epochs = asked.settings.max_epochs + more_epochs
    return replace(asked, settings=replace(asked.settings, max_epochs=n_epochs))


def test_its_settings_are_read_under_their_former_names() -> None:
    settings = read_experiment(KEPT / "aligned" / "experiment.toml").settings

    assert (settings.weight_decay, settings.lr_decay, settings.metric) == (0.014, 0.9, Metric.MRR)


@pytest.mark.parametrize("run", ["trained", "aligned"], indirect=True)
@pytest.mark.parametrize("split", Split)
def test_it_evaluates_to_the_metrics_that_it_was_finished_with(run: Path, split: Split) -> None:
    said = json.loads((run / "result.json").read_text())["metrics"][split]

    assert open_run(run, CPU).measure(split).as_dict() == pytest.approx(said)


@pytest.mark.parametrize("run", ["trained"], indirect=True)
def test_it_predicts(run: Path) -> None:
    model = interstellar.open(run, device="cpu")
    graph = model.graph

    answers = model.predict(
        subject=graph.all_entities.name(0), relation=graph.all_relations.name(0), k=3
    )

    assert len(answers) == 3


@pytest.mark.parametrize("run", ["aligned"], indirect=True)
def test_it_aligns_also_in_rounds(run: Path) -> None:
    model = interstellar.open(run, device="cpu")

    assert len(model.align(threshold="none", progress=False)) > 0
    assert model.align(iterate=1, epochs=1, progress=False).iterated is not None


@pytest.mark.parametrize("run", ["trained", "aligned"], indirect=True)
def test_resumed_it_gives_the_result_that_it_has(run: Path) -> None:
    said = json.loads((run / "result.json").read_text())
    stop = Stop(1, AssertionError("it was trained again"))

    result = train_run(experiment_of(run), run, device=CPU, resume=True, observer=stop)

    assert result["weights_sha256"] == said["weights_sha256"]


@pytest.mark.parametrize("run", ["stopped"], indirect=True)
def test_stopped_it_goes_on_from_its_checkpoint(run: Path, tmp_path: Path) -> None:
    whole = train_run(experiment_of(run), tmp_path / "whole", device=CPU)

    result = train_run(experiment_of(run), run, device=CPU, resume=True)

    assert result["epochs"] == whole["epochs"]
    resumed, fresh = (load_file(out / "weights.safetensors") for out in (run, tmp_path / "whole"))
    assert all(torch.allclose(resumed[name], fresh[name], atol=1e-4) for name in fresh)
    assert list((run / "checkpoints").iterdir()) == []


@pytest.mark.parametrize("run", ["trained", "aligned"], indirect=True)
def test_it_has_no_state_to_be_prolonged_from_and_stays_as_it_is(run: Path) -> None:
    with pytest.raises(SettingsError, match=r"no state\.safetensors.*stays as it is"):
        train_run(experiment_of(run, more_epochs=2), run, device=CPU, resume=True)

    assert open_run(run, CPU).experiment == experiment_of(run)


@pytest.mark.parametrize("run", ["searched", "cut", "tuned"], indirect=True)
def test_a_search_is_opened_with_its_trials_and_its_best(run: Path) -> None:
    found = interstellar.SearchResult.open(run)

    scores = [trial.score for trial in found.trials if trial.score is not None]
    assert found.best.score == max(scores)
    assert len(found.to_frame("arrow")) == len(found.trials)
    assert found.finalists == []
    assert found.gain is None


@pytest.mark.parametrize("run", ["searched", "cut"], indirect=True)
def test_a_search_begins_with_no_known_models_as_it_did_then(run: Path) -> None:
    plan = experiment_of(run).plan

    assert plan is not None
    assert plan.from_scratch
    assert plan.known == []


@pytest.mark.parametrize(("run", "n_trials"), [("searched", 5), ("cut", 7)], indirect=["run"])
def test_a_search_goes_on_without_its_data_or_settings_being_said_again(
    run: Path, n_trials: int
) -> None:
    before = interstellar.SearchResult.open(run).trials

    found = interstellar.search(out=run, resume=True, trials=n_trials, progress=False, device="cpu")

    assert len(found.trials) == n_trials
    assert found.trials[: len(before)] == before
    assert found.result["strategy"] == "hybrid"


@pytest.mark.parametrize("run", ["tuned"], indirect=True)
def test_a_tuning_goes_on_with_the_settings_of_its_file(run: Path) -> None:
    asked: Any = {"settings": run / "experiment.toml", "progress": False, "device": "cpu"}
    data = experiment_of(run).data

    found = interstellar.tune(data, "TransE", out=run, resume=True, trials=3, **asked)

    assert len(found.trials) == 3
