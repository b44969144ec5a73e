"""Processes that train together: they train what one does, survive no loss, and are refused."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from interstellar.errors import InterstellarError, SettingsError, TrainingError
from interstellar.records.run_folder import RunFolder
from interstellar.runs import team, training_run
from interstellar.runs.experiment import Experiment
from interstellar.runs.run import Result
from interstellar.runs.team import refuse_processes
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import train_run
from interstellar.training.loop import EpochReport, Training
from interstellar.training.settings import Optimizer, Precision
from tests.runs.small_runs import (
    CPU,
    GRAPH,
    PAIR,
    Stop,
    checkpoints_in,
    events_of,
    small_experiment,
)
from tests.training.test_propagation_step import SMALL as PROPAGATION

TOLERANCE = 1e-5
LONG_STEPS: Any = {"learning_rate": 0.1, "optimizer": Optimizer.ADAGRAD}
NBF = "O_r = h ⊙ r; v = O_r"


class OnEpoch:
    """Does something after an epoch."""

    def __init__(self, epoch: int, do: Any) -> None:
        self._epoch, self._do = epoch, do

    def on_step(self, n_done: int, n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        del training
        if report.epoch == self._epoch:
            self._do()


def helpers_of(pid: int) -> list[int]:
    """The processes that this one has started to train with it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    commands = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return [int(child) for child, command in commands.items() if b"team_member" in command]


def kill_one() -> None:
    os.kill(helpers_of(os.getpid())[-1], signal.SIGKILL)


def train(experiment: Experiment, out: Path, **others: Any) -> Result:
    return train_run(experiment, out, device=CPU, **others)


def assert_alike(one: Path, other: Path) -> None:
    first, second = (load_file(out / "weights.safetensors") for out in (one, other))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        torch.testing.assert_close(second[name], tensor, rtol=0, atol=TOLERANCE, msg=name)


def probabilities_of(out: Path) -> Tensor:
    """What a network answers about each entity."""
    network = open_run(out, device=CPU).network
    ids = torch.arange(20)
    return network.logits(ids, ids % 2).softmax(dim=1)


def losses_of(out: Path) -> list[float]:
    events = RunFolder.open(out).read_events()
    return [float(str(event["loss"])) for event in events if event["event"] == "epoch"]


@pytest.mark.parametrize(
    "experiment",
    [
        small_experiment(GRAPH, n3=0.05, label_smoothing=0.1, weight_decay=1e-3, **LONG_STEPS),
        small_experiment(PAIR, architecture="RSN", n3=0.01),
    ],
    ids=["links", "alignment"],
)
def test_two_processes_train_what_one_does(tmp_path: Path, experiment: Experiment) -> None:
    whole = train(experiment, tmp_path / "one")

    shared = train(experiment, tmp_path / "two", processes=2)

    assert_alike(tmp_path / "one", tmp_path / "two")
    assert shared["best_epoch"] == whole["best_epoch"]
    assert shared["metrics"]["test"] == pytest.approx(whole["metrics"]["test"], abs=TOLERANCE)
    assert events_of(tmp_path / "two") == ["started", "processes", *4 * ["epoch"], "finished"]


def test_relations_are_predicted_by_several_processes_too(tmp_path: Path) -> None:
    asked = small_experiment(GRAPH, relation_prediction=0.5, max_epochs=2, n_negatives=5)
    single = replace(asked.settings.walk, length=1)
    asked = replace(asked, settings=replace(asked.settings, walk=single))
    train(asked, tmp_path / "one")

    train(asked, tmp_path / "three", processes=3)

    assert_alike(tmp_path / "one", tmp_path / "three")


def test_two_processes_share_the_queries_of_a_propagation(tmp_path: Path) -> None:
    settings = replace(PROPAGATION, batch_size=7, learning_rate=1e-3)
    asked = Experiment(data="synthetic:entities=20", architecture=NBF, seed=1, settings=settings)
    whole = train(asked, tmp_path / "one")

    shared = train(asked, tmp_path / "two", processes=2)

    # Not the weights: a number added to all logits changes no loss, so that what the reader adds
    # has a gradient of rounding alone, which Adam takes for one.
    torch.testing.assert_close(
        probabilities_of(tmp_path / "two"),
        probabilities_of(tmp_path / "one"),
        rtol=0,
        atol=TOLERANCE,
    )
    assert losses_of(tmp_path / "two") == pytest.approx(losses_of(tmp_path / "one"), abs=TOLERANCE)
    assert shared["metrics"] == whole["metrics"]


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_training_that_lost_a_process_goes_on_with_any_number_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    monkeypatch.setattr(training_run, "CHECKPOINT_SECONDS", 0.0 if is_killed else 99.0)
    asked = small_experiment(GRAPH, **LONG_STEPS)
    train(asked, tmp_path / "whole")
    observer: Any = OnEpoch(2, kill_one) if is_killed else Stop(30)
    with pytest.raises(TrainingError if is_killed else KeyboardInterrupt) as raised:
        train(asked, tmp_path / "run", processes=2, observer=observer)
    assert not is_killed or "process 1 of 2 ended (signal 9)" in str(raised.value)
    assert len(checkpoints_in(tmp_path / "run")) > 0

    train(asked, tmp_path / "run", processes=2 if is_killed else 1, resume=True)

    assert_alike(tmp_path / "whole", tmp_path / "run")
    assert helpers_of(os.getpid()) == []


def test_helpers_listen_on_the_loopback_interface_alone_and_end_with_their_leader(
    tmp_path: Path,
) -> None:
    leader = start_training(tmp_path / "run")
    assert leader.stdout is not None
    assert leader.stdout.readline() == "epoch\n"
    helpers = helpers_of(leader.pid)

    listening = [address for pid in (leader.pid, *helpers) for address in addresses_of(pid)]
    leader.kill()
    leader.communicate()

    assert len(helpers) == 1
    assert listening
    assert set(listening) <= {"0100007F", "00000000000000000000000001000000"}
    assert has_ended(helpers[0])


def has_ended(pid: int) -> bool:
    """Whether a process ends within a minute; nobody may ever ask for its exit code."""
    for _ in range(600):
        try:
            if "(zombie)" in Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def start_training(out: Path) -> subprocess.Popen[str]:
    """Start a long training by two processes, which says when an epoch is over."""
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.runs.test_team import OnEpoch, small_experiment, train\n"
        "told = OnEpoch(1, lambda: print('epoch', flush=True))\n"
        "asked = small_experiment(max_epochs=10_000, validate_every=10_000)\n"
        "train(asked, Path(sys.argv[1]), processes=2, observer=told)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(out)], stdout=subprocess.PIPE, text=True
    )


def addresses_of(pid: int) -> list[str]:
    """The addresses on which a process listens, in hexadecimal."""
    opened = {
        str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()
    }
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in opened:
                found.append(fields[1].partition(":")[0])
    return found


def test_a_process_that_cannot_start_is_said_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "START", "raise SystemExit(3)")

    with pytest.raises(TrainingError, match="process 1 of 2 could not be started"):
        train(small_experiment(GRAPH), tmp_path / "run", processes=2)

    assert not (tmp_path / "run").exists()


def test_what_one_of_them_refuses_is_said_by_the_leader(tmp_path: Path) -> None:
    asked = small_experiment("synthetic:entities=20")
    few = replace(asked, settings=replace(asked.settings, relation_prediction=1.0))

    with pytest.raises(SettingsError, match="paths have 3 triplets"):
        train(few, tmp_path / "run", processes=2)

    assert helpers_of(os.getpid()) == []


@pytest.mark.parametrize(
    ("n", "words", "changes"),
    [
        (0, "whole number from 1", {}),
        ("2", "whole number from 1", {}),
        (True, "whole number from 1", {}),
        (17, "the CPU has work for 16 at most", {}),
        (2, "precision is mixed", {"precision": Precision.MIXED}),
    ],
)
def test_so_many_processes_are_refused(n: Any, words: str, changes: Any) -> None:
    settings = replace(small_experiment(GRAPH).settings, **changes)

    with pytest.raises(InterstellarError, match=words):
        refuse_processes(n, settings, CPU)


def test_a_batch_must_have_a_query_for_each() -> None:
    with pytest.raises(SettingsError, match="has 6 queries"):
        refuse_processes(7, PROPAGATION, CPU)


def test_each_needs_a_card_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    settings = small_experiment(GRAPH).settings

    refuse_processes(2, settings, torch.device("cuda"))
    with pytest.raises(SettingsError, match="has 2 GPUs"):
        refuse_processes(3, settings, torch.device("cuda"))
    with pytest.raises(SettingsError, match="cuda:1 is a single card"):
        refuse_processes(2, settings, torch.device("cuda:1"))
