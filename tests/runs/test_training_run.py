"""Training with a folder on disk: what it holds, and that stopping changes nothing."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import interstellar
from interstellar.errors import SettingsError, TrainingError
from interstellar.records.run_folder import RunFolder
from interstellar.runs import training_run
from interstellar.runs.experiment import read_experiment
from interstellar.runs.run import Result
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import (
    checkpoint_of,
    load_data,
    prepare,
    store_run,
    train_run,
)
from interstellar.tasks.splits import Split
from interstellar.training.loop import EpochReport, SilentObserver, Training
from interstellar.training.settings import Metric
from tests.runs.small_runs import (
    CPU,
    GRAPH,
    PAIR,
    Stop,
    checkpoints_in,
    damage,
    events_of,
    interrupt,
    lasting,
    resume,
    save_nothing,
    small_experiment,
    stop_training,
    train,
    weights_of,
)
from tests.training.test_loop import spoil


@pytest.fixture
def _checkpoint_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "CHECKPOINT_SECONDS", 0.0)


def started_of(out: Path) -> dict[str, object]:
    return next(e for e in RunFolder.open(out).read_events() if e["event"] == "started")


def test_a_run_folder_holds_everything_that_the_run_was(
    wholes: dict[str, tuple[Path, Result]],
) -> None:
    out, result = wholes[GRAPH]

    names = {path.name for path in out.iterdir()}
    assert names >= {
        "experiment.toml",
        "environment.json",
        "journal.jsonl",
        "result.json",
        "weights.safetensors",
        "state.safetensors",
        "names",
        "checkpoints",
    }
    assert events_of(out) == ["started", *4 * ["epoch"], "finished"]
    assert RunFolder.open(out).read_result() == result
    assert len(RunFolder.open(out).read_names("entities")) == 40


@pytest.mark.parametrize("data", [GRAPH, PAIR])
def test_the_same_seed_gives_the_same_weights_to_the_last_bit(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], data: str
) -> None:
    second = train(tmp_path / "second", data)

    assert weights_of(tmp_path / "second") == weights_of(wholes[data][0])
    assert lasting(second) == lasting(wholes[data][1])


def test_another_seed_gives_other_weights(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]]
) -> None:
    train(tmp_path / "other", seed=4)

    assert weights_of(tmp_path / "other") != weights_of(wholes[GRAPH][0])


@pytest.mark.parametrize("data", [GRAPH, PAIR])
@pytest.mark.parametrize("n_steps", [1, 18, 40])
def test_a_run_stopped_at_any_step_and_resumed_is_the_run_that_was_never_stopped(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], data: str, n_steps: int
) -> None:
    stop_training(tmp_path / "run", n_steps, data)

    resumed = resume(tmp_path / "run", data)

    assert weights_of(tmp_path / "run") == weights_of(wholes[data][0])
    assert lasting(resumed) == lasting(wholes[data][1])
    assert {"stopped", "resumed"} <= set(events_of(tmp_path / "run"))
    assert checkpoints_in(tmp_path / "run") == []


@pytest.mark.parametrize("data", [GRAPH, PAIR])
def test_a_run_begins_from_the_parameters_it_is_given(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], data: str
) -> None:
    path, result = wholes[data]
    before = load_file(path / "weights.safetensors")
    asked = small_experiment(data, learning_rate=1e-12, weight_decay=0.0, max_epochs=1)

    train_run(asked, tmp_path / "after", device=CPU, initial=before)

    after = load_file(tmp_path / "after" / "weights.safetensors")
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
    assert started_of(tmp_path / "after")["initial_sha256"] == result["weights_sha256"]
    assert "initial_sha256" not in started_of(path)


@pytest.mark.parametrize("n_steps", [1, 40])
def test_a_run_begun_from_parameters_and_killed_is_the_run_that_was_never_killed(
    tmp_path: Path,
    wholes: dict[str, tuple[Path, Result]],
    monkeypatch: pytest.MonkeyPatch,
    n_steps: int,
) -> None:
    initial, asked = load_file(wholes[PAIR][0] / "weights.safetensors"), small_experiment(PAIR)
    whole = train_run(asked, tmp_path / "whole", device=CPU, initial=initial)
    with monkeypatch.context() as patch:
        save_nothing(patch)
        stop_training(tmp_path / "run", n_steps, PAIR, initial=initial)

    resumed = train_run(asked, tmp_path / "run", device=CPU, initial=initial, resume=True)

    assert weights_of(tmp_path / "run") == weights_of(tmp_path / "whole")
    assert lasting(resumed) == lasting(whole)


@pytest.mark.parametrize("is_given", [True, False])
def test_resuming_from_other_parameters_is_refused(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], is_given: bool
) -> None:
    initial = load_file(wholes[GRAPH][0] / "weights.safetensors")
    other = {name: 2 * tensor for name, tensor in initial.items()} if is_given else None
    stop_training(tmp_path / "run", 3, initial=initial)

    with pytest.raises(SettingsError, match="initial_sha256 was"):
        train_run(small_experiment(), tmp_path / "run", device=CPU, initial=other, resume=True)


def test_parameters_of_another_network_are_an_error_of_the_caller(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]]
) -> None:
    initial = load_file(wholes[GRAPH][0] / "weights.safetensors")
    initial["relations"] = initial["relations"][:1]  # would be spread over all rows

    with pytest.raises(AssertionError):
        train_run(small_experiment(), tmp_path / "run", device=CPU, initial=initial)


def test_an_interrupt_between_training_and_the_result_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "run")

    resume(tmp_path / "run")

    assert events_of(tmp_path / "run").count("epoch") == 4


def test_an_interrupt_after_the_result_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_run, "find_temperature", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run")

    assert checkpoints_in(tmp_path / "run") == []
    assert resume(tmp_path / "run")["epochs"] == 4


@pytest.mark.parametrize("is_cut", [True, False])
@pytest.mark.usefixtures("_checkpoint_every_epoch")
def test_a_damaged_checkpoint_is_said_and_the_one_before_is_used(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]], is_cut: bool
) -> None:
    out = tmp_path / "run"
    stop_training(out, 40)
    before, newest = checkpoints_in(out)
    damage(newest, is_cut=is_cut)

    resume(out)

    events = list(RunFolder.open(out).read_events())
    [said] = [str(event["what"]) for event in events if event["event"] == "damaged checkpoint"]
    assert str(newest) in said
    epochs = [event["epoch"] for event in events if event["event"] == "epoch"]
    assert before.name == "epoch-000002.safetensors"
    assert epochs == [1, 2, 3, 3, 4]
    assert weights_of(out) == weights_of(wholes[GRAPH][0])


@pytest.mark.usefixtures("_checkpoint_every_epoch")
def test_a_run_whose_checkpoints_are_all_damaged_begins_again(
    tmp_path: Path, wholes: dict[str, tuple[Path, Result]]
) -> None:
    stop_training(tmp_path / "run", 40)
    for path in checkpoints_in(tmp_path / "run"):
        damage(path, is_cut=True)

    resume(tmp_path / "run")

    assert weights_of(tmp_path / "run") == weights_of(wholes[GRAPH][0])
    assert checkpoints_in(tmp_path / "run") == []


def test_a_loss_that_is_not_finite_stops_the_run_with_the_last_good_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, call=18, what="loss", value=torch.nan)

    with pytest.raises(TrainingError, match="not a finite number at step"):
        train(tmp_path / "run")

    assert events_of(tmp_path / "run")[-1] == "stopped"
    assert [path.name for path in checkpoints_in(tmp_path / "run")] == ["epoch-000001.safetensors"]


@pytest.mark.parametrize("changes", [{"learning_rate": 1e300}, {"weight_decay": 1e300}])
def test_a_rate_that_no_float_holds_is_refused_before_there_is_a_folder(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match=r"is 1e\+300, but it must be a number .*1,000,000"):
        interstellar.train(
            "geography-S1", "TransE", out=tmp_path / "run", progress=False, **changes
        )

    assert not (tmp_path / "run").exists()


STARVED = """
import resource, sys
from interstellar.cli.app import main
resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
main(["train", "synthetic:entities=400", "--architecture", "RSN", "--dim", "65536",
      "--epochs", "1", "--device", "cpu", "--out", sys.argv[1]])
"""


def test_too_little_memory_is_said_with_advice(tmp_path: Path) -> None:
    src = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", STARVED, tmp_path / "run"],
        env=os.environ | {"PYTHONPATH": str(src)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "memory does not hold this training (dimension 65,536" in done.stderr
    assert "Lower the dimension" in done.stderr
    assert not (tmp_path / "run").exists()


def test_memory_that_runs_out_in_training_is_said_with_advice_and_no_epoch_is_lost(
    tmp_path: Path,
) -> None:
    out, stop = tmp_path / "run", Stop(40, MemoryError())

    with pytest.raises(TrainingError, match=r"does not hold this training.* Lower the dimension"):
        train_run(small_experiment(), out, device=CPU, observer=stop)

    assert [path.name for path in checkpoints_in(out)] == ["epoch-000003.safetensors"]


def test_a_metric_that_the_data_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="metric is auc_pr, but on this data there are mrr"):
        train(tmp_path / "run", metric=Metric.AUC_PR)


def test_a_batch_of_one_path_is_refused_where_batches_are_normalised(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="batch_size is 1"):
        train(tmp_path / "run", PAIR, batch_size=1)


class CountedEpochs:
    """Counts the epochs that are trained."""

    def __init__(self) -> None:
        self.n = 0

    def on_step(self, _n_done: int, _n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        del report, training
        self.n += 1


@pytest.mark.parametrize("n_before", [2, 4])
def test_a_training_begun_where_the_same_one_came_elsewhere_ends_as_that_would_have(
    wholes: dict[str, tuple[Path, Result]], tmp_path: Path, n_before: int
) -> None:
    experiment, observer = small_experiment(), CountedEpochs()
    elsewhere = prepare(experiment, load_data(experiment), CPU).training
    for _ in range(n_before):
        elsewhere.run_epoch(SilentObserver())
    state, out = checkpoint_of(elsewhere), tmp_path / "run"

    result = train_run(experiment, out, device=CPU, state=state, observer=observer)

    whole = wholes[GRAPH][1]
    assert observer.n == whole["epochs"] - n_before
    assert lasting(result) == lasting(whole)
    assert events_of(out).count("epoch") == whole["epochs"]


def test_parameters_that_came_about_otherwise_are_a_run_that_can_be_opened(
    wholes: dict[str, tuple[Path, Result]], tmp_path: Path
) -> None:
    whole, said = wholes[GRAPH]
    experiment, out = read_experiment(whole / "experiment.toml"), tmp_path / "run"
    parameters = load_file(whole / "weights.safetensors")
    asked: Any = {"device": CPU, "graph": load_data(experiment), "epochs": 3}

    result = store_run(experiment, out, parameters, **asked)

    assert result["metrics"] == said["metrics"]
    assert open_run(out, CPU).measure(Split.TEST).as_dict() == said["metrics"]["test"]
    assert "stored" in events_of(out)
    assert "epoch" not in events_of(out)
    assert store_run(experiment, out, parameters, **asked) == result
