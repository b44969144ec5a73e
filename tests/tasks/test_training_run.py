"""Training with a folder on disk: what it holds, and that stopping changes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from safetensors.torch import load_file

from interstellar.errors import SettingsError, TrainingError
from interstellar.records.run_folder import RunFolder
from interstellar.tasks import training_run
from interstellar.tasks.training_run import Result, train_run
from interstellar.training.experiment import Experiment
from interstellar.training.presets import default_settings
from interstellar.training.settings import Selection, with_changes
from tests.tiny_graphs import ring, write_rows

CPU = torch.device("cpu")
LASTING = ("metrics", "best_epoch", "epochs", "weights_sha256", "paths_sha256")
"""What of a result does not depend on time."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    n_before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_before)


@pytest.fixture
def _checkpoint_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "CHECKPOINT_SECONDS", 0.0)


def experiment(data: str = "synthetic:entities=60", architecture: str = "ComplEx") -> Experiment:
    task = "entity-alignment" if "alignment" in data else "link-prediction"
    settings = with_changes(
        default_settings(task, "a small set"),
        dim=8,
        batch_size=64,
        max_epochs=4,
        validate_every=1,
        dropout=0.2,
        learning_rate=0.01,
    )
    return Experiment(data=data, architecture=architecture, seed=3, settings=settings)


class Stop:
    """Raises at the n-th step of all."""

    def __init__(self, n_steps: int, error: BaseException) -> None:
        self.n_left = n_steps
        self.error = error

    def __call__(self, _n_done: int, _n_steps: int) -> None:
        self.n_left -= 1
        if self.n_left == 0:
            raise self.error


def lasting(result: Result) -> Result:
    return {key: result[key] for key in LASTING}


def events_of(out: Path) -> list[str]:
    return [str(event["event"]) for event in RunFolder.open(out).read_events()]


def checkpoints_in(out: Path) -> list[Path]:
    return sorted((out / "checkpoints").iterdir())


def weights_of(out: Path) -> bytes:
    return (out / "weights.safetensors").read_bytes()


def test_a_run_folder_holds_everything_that_the_run_was(tmp_path: Path) -> None:
    result = train_run(experiment(), tmp_path / "run", device=CPU)

    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {
        "experiment.toml",
        "environment.json",
        "journal.jsonl",
        "result.json",
        "weights.safetensors",
        "names",
        "checkpoints",
    }
    assert events_of(tmp_path / "run") == ["started", *4 * ["epoch"], "finished"]
    assert RunFolder.open(tmp_path / "run").read_result() == result
    assert len(RunFolder.open(tmp_path / "run").read_names("entities")) == 60


@pytest.mark.parametrize("data", ["synthetic:entities=60", "synthetic-alignment:entities=60"])
def test_the_same_seed_gives_the_same_weights_to_the_last_bit(tmp_path: Path, data: str) -> None:
    first = train_run(experiment(data), tmp_path / "first", device=CPU)
    second = train_run(experiment(data), tmp_path / "second", device=CPU)

    assert weights_of(tmp_path / "first") == weights_of(tmp_path / "second")
    assert lasting(first) == lasting(second)


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    train_run(experiment(), tmp_path / "first", device=CPU)
    train_run(replace(experiment(), seed=4), tmp_path / "second", device=CPU)

    assert weights_of(tmp_path / "first") != weights_of(tmp_path / "second")


@pytest.mark.parametrize("data", ["synthetic:entities=60", "synthetic-alignment:entities=60"])
@pytest.mark.parametrize("n_steps", [1, 40, 75])
def test_a_run_stopped_at_any_step_and_resumed_is_the_run_that_was_never_stopped(
    tmp_path: Path, data: str, n_steps: int
) -> None:
    whole = train_run(experiment(data), tmp_path / "whole", device=CPU)
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train_run(experiment(data), out, device=CPU, on_step=Stop(n_steps, KeyboardInterrupt()))

    resumed = train_run(experiment(data), out, device=CPU, is_resumed=True)

    assert weights_of(out) == weights_of(tmp_path / "whole")
    assert lasting(resumed) == lasting(whole)
    assert {"stopped", "resumed"} <= set(events_of(out))


def parameters_of(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "weights.safetensors")


def started_of(out: Path) -> dict[str, object]:
    return next(e for e in RunFolder.open(out).read_events() if e["event"] == "started")


@pytest.mark.parametrize("data", ["synthetic:entities=60", "synthetic-alignment:entities=60"])
def test_a_run_begins_from_the_parameters_it_is_given(tmp_path: Path, data: str) -> None:
    result = train_run(experiment(data), tmp_path / "before", device=CPU)
    asked = experiment(data)
    asked = replace(asked, settings=with_changes(asked.settings, learning_rate=1e-12, l2=0.0))
    before = parameters_of(tmp_path / "before")

    train_run(asked, tmp_path / "after", device=CPU, initial=before)

    after = parameters_of(tmp_path / "after")
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
    assert started_of(tmp_path / "after")["initial_sha256"] == result["weights_sha256"]
    assert "initial_sha256" not in started_of(tmp_path / "before")


@pytest.mark.parametrize("data", ["synthetic:entities=60", "synthetic-alignment:entities=60"])
@pytest.mark.parametrize("n_steps", [1, 75])
def test_a_run_begun_from_parameters_and_killed_is_the_run_that_was_never_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, n_steps: int
) -> None:
    train_run(experiment(data), tmp_path / "before", device=CPU)
    initial = parameters_of(tmp_path / "before")
    whole = train_run(experiment(data), tmp_path / "whole", device=CPU, initial=initial)
    out = tmp_path / "run"
    stop = Stop(n_steps, KeyboardInterrupt())
    with monkeypatch.context() as patch:
        patch.setattr(training_run.Keeper, "save", lambda _: None)  # as kill -9 leaves it
        with pytest.raises(KeyboardInterrupt):
            train_run(experiment(data), out, device=CPU, initial=initial, on_step=stop)

    resumed = train_run(experiment(data), out, device=CPU, initial=initial, is_resumed=True)

    assert weights_of(out) == weights_of(tmp_path / "whole")
    assert lasting(resumed) == lasting(whole)


@pytest.mark.parametrize("is_given", [True, False])
def test_resuming_from_other_parameters_is_refused(tmp_path: Path, is_given: bool) -> None:
    train_run(experiment(), tmp_path / "before", device=CPU)
    initial = parameters_of(tmp_path / "before")
    other = {name: 2 * tensor for name, tensor in initial.items()} if is_given else None
    stop = Stop(3, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        train_run(experiment(), tmp_path / "run", device=CPU, initial=initial, on_step=stop)

    with pytest.raises(SettingsError, match="initial_sha256 was"):
        train_run(experiment(), tmp_path / "run", device=CPU, initial=other, is_resumed=True)


def test_parameters_of_another_network_are_an_error_of_the_caller(tmp_path: Path) -> None:
    train_run(experiment(), tmp_path / "before", device=CPU)
    initial = parameters_of(tmp_path / "before")
    initial["relations"] = initial["relations"][:1]  # would be spread over all rows

    with pytest.raises(AssertionError):
        train_run(experiment(), tmp_path / "run", device=CPU, initial=initial)


def test_an_interrupt_between_training_and_the_result_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training_run, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_run(experiment(), tmp_path / "run", device=CPU)

    train_run(experiment(), tmp_path / "run", device=CPU, is_resumed=True)

    assert events_of(tmp_path / "run").count("epoch") == 4


def test_a_finished_run_gives_its_result_without_training(tmp_path: Path) -> None:
    result = train_run(experiment(), tmp_path / "run", device=CPU)
    stop = Stop(1, AssertionError("it was trained again"))

    again = train_run(experiment(), tmp_path / "run", device=CPU, is_resumed=True, on_step=stop)

    assert again == result


def test_resuming_where_there_is_nothing_begins_a_run(tmp_path: Path) -> None:
    train_run(experiment(), tmp_path / "run", device=CPU, is_resumed=True)

    assert (tmp_path / "run" / "result.json").is_file()


def test_a_folder_that_exists_is_refused_without_resuming(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"exists.*--resume"):
        train_run(experiment(), tmp_path, device=CPU)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (replace(experiment(), settings=with_changes(experiment().settings, dim=10)), "dim = 8"),
        (replace(experiment(), seed=4), "seed = 3"),
        (experiment(architecture="TransE"), "architecture = "),
        (experiment(data="synthetic:entities=61"), "entities=60"),
    ],
)
def test_resuming_with_something_else_is_refused_with_the_difference(
    tmp_path: Path, other: Experiment, words: str
) -> None:
    train_run(experiment(), tmp_path / "run", device=CPU)

    with pytest.raises(SettingsError, match="another experiment") as refusal:
        train_run(other, tmp_path / "run", device=CPU, is_resumed=True)

    assert words in str(refusal.value)


def test_an_architecture_may_be_resumed_under_another_name(tmp_path: Path) -> None:
    result = train_run(experiment(), tmp_path / "run", device=CPU)
    by_code = experiment(architecture="[0,2,12,0,0,0,0,0,0,0,0]")

    assert train_run(by_code, tmp_path / "run", device=CPU, is_resumed=True) == result


def test_resuming_on_another_device_is_refused(tmp_path: Path) -> None:
    train_run(experiment(), tmp_path / "run", device=CPU)

    with pytest.raises(SettingsError, match="begun on cpu, and this is meta"):
        train_run(experiment(), tmp_path / "run", device=torch.device("meta"), is_resumed=True)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ring(41), "data was"),
        ([*ring(39), ("e39", "next", "e1")], "graph_sha256 was"),
    ],
)
def test_resuming_with_data_that_changed_is_refused_with_the_difference(
    tmp_path: Path, rows: list[tuple[str, str, str]], words: str
) -> None:
    file = write_rows(tmp_path / "ring.tsv", ring(40))
    asked = experiment(data=str(file))
    with pytest.raises(KeyboardInterrupt):
        train_run(asked, tmp_path / "run", device=CPU, on_step=Stop(3, KeyboardInterrupt()))
    write_rows(file, rows)

    with pytest.raises(SettingsError, match="other data") as refusal:
        train_run(asked, tmp_path / "run", device=CPU, is_resumed=True)

    assert words in str(refusal.value)


@pytest.mark.parametrize("is_cut", [True, False])
@pytest.mark.usefixtures("_checkpoint_every_epoch")
def test_a_damaged_checkpoint_is_said_and_the_one_before_is_used(
    tmp_path: Path, is_cut: bool
) -> None:
    train_run(experiment(), tmp_path / "whole", device=CPU)
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train_run(experiment(), out, device=CPU, on_step=Stop(75, KeyboardInterrupt()))
    before, newest = checkpoints_in(out)
    damage(newest, is_cut=is_cut)

    train_run(experiment(), out, device=CPU, is_resumed=True)

    events = list(RunFolder.open(out).read_events())
    said = [str(event["what"]) for event in events if event["event"] == "damaged checkpoint"]
    [resumed] = [event["epoch"] for event in events if event["event"] == "resumed"]
    assert [str(newest) in sentence for sentence in said] == [True]
    assert before.name == f"epoch-{resumed:06d}.safetensors"
    assert weights_of(out) == weights_of(tmp_path / "whole")


def damage(path: Path, *, is_cut: bool) -> None:
    content = bytearray(path.read_bytes())
    content[-7] ^= 1
    path.write_bytes(content[: len(content) // 2] if is_cut else content)


@pytest.mark.usefixtures("_checkpoint_every_epoch")
def test_a_run_whose_checkpoints_are_all_damaged_begins_again(tmp_path: Path) -> None:
    train_run(experiment(), tmp_path / "whole", device=CPU)
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train_run(experiment(), out, device=CPU, on_step=Stop(75, KeyboardInterrupt()))
    for path in checkpoints_in(out):
        damage(path, is_cut=True)

    train_run(experiment(), out, device=CPU, is_resumed=True)

    assert weights_of(out) == weights_of(tmp_path / "whole")


def test_a_loss_that_is_not_finite_stops_the_run_with_the_last_good_weights(
    tmp_path: Path,
) -> None:
    asked = experiment(architecture="RSN")
    asked = replace(asked, settings=with_changes(asked.settings, learning_rate=1e30))

    with pytest.raises(TrainingError, match="not a finite number at step"):
        train_run(asked, tmp_path / "run", device=CPU)

    assert events_of(tmp_path / "run")[-1] == "stopped"


def test_a_metric_that_the_data_does_not_have_is_refused(tmp_path: Path) -> None:
    asked = experiment()
    asked = replace(asked, settings=with_changes(asked.settings, selection=Selection.AUC_PR))

    with pytest.raises(SettingsError, match="selection is auc_pr, but on this data there are mrr"):
        train_run(asked, tmp_path / "run", device=CPU)


def test_a_batch_of_one_path_is_refused_where_batches_are_normalised(tmp_path: Path) -> None:
    asked = experiment("synthetic-alignment:entities=60")
    asked = replace(asked, settings=with_changes(asked.settings, batch_size=1))

    with pytest.raises(SettingsError, match="batch_size is 1"):
        train_run(asked, tmp_path / "run", device=CPU)
