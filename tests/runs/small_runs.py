"""Trainings that take a moment, and how to stop them."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment
from interstellar.runs.run import Result
from interstellar.runs.training_run import Checkpointer, train_run
from interstellar.training.loop import EpochReport, Training
from interstellar.training.presets import ALIGNMENT, LINK_PREDICTION
from tests.tiny_graphs import ring

CPU = torch.device("cpu")
GRAPH, PAIR = "synthetic:entities=40,seed=1", "synthetic-alignment:entities=40,seed=1"
LASTING = ("metrics", "best_epoch", "epochs", "weights_sha256", "paths_sha256")
"""What of a result does not depend on time."""
CHANGED_RINGS = (
    (ring(41), "data was"),
    ([*ring(39), ("e39", "next", "e1")], "graph_sha256 was"),
)
"""What a ring of 40 may have become, and what tells it to who goes on with a run."""


def small_experiment(
    data: str = GRAPH, architecture: str = "ComplEx", *, seed: int = 3, **changes: Any
) -> Experiment:
    """Return an experiment of four epochs, with settings changed by their field names."""
    is_pair = "alignment" in data
    settings = ALIGNMENT if is_pair else LINK_PREDICTION
    settings = replace(settings, walk=replace(settings.walk, length=3), dim=8)
    settings = replace(settings, batch_size=512 if is_pair else 128)  # about a dozen steps an epoch
    settings = replace(settings, max_epochs=4, validate_every=1, dropout=0.2, learning_rate=0.01)
    return Experiment(
        data=data, architecture=architecture, seed=seed, settings=replace(settings, **changes)
    )


def train(out: Path, data: str = GRAPH, architecture: str = "ComplEx", **changes: Any) -> Result:
    """Train such an experiment in a folder."""
    return train_run(small_experiment(data, architecture, **changes), out, device=CPU)


def copy_run(run: Path, folder: Path) -> Path:
    """Return a copy of one's own of a run, as `run` in a folder."""
    return Path(shutil.copytree(run, folder / "run"))


class Stop:
    """Raises at the n-th step of all."""

    def __init__(self, n_steps: int, error: BaseException | None = None) -> None:
        self.n_left = n_steps
        self.error = KeyboardInterrupt() if error is None else error

    def on_step(self, _n_done: int, _n_steps: int) -> None:
        self.n_left -= 1
        if self.n_left == 0:
            raise self.error

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        pass


def interrupt(*_: object, **_others: object) -> NoReturn:
    """Stand in for any function, and be interrupted."""
    raise KeyboardInterrupt


def save_nothing(patch: pytest.MonkeyPatch) -> None:
    """Let a run that is stopped leave no more than kill -9 would."""
    patch.setattr(Checkpointer, "save", lambda _: None)


def weights_of(out: Path) -> bytes:
    """Return the weights that a run keeps."""
    return (out / "weights.safetensors").read_bytes()


def resume(out: Path, data: str = GRAPH, **changes: Any) -> Result:
    """Go on with such a run."""
    return train_run(small_experiment(data, **changes), out, device=CPU, resume=True)


def stop_training(out: Path, n_steps: int, data: str = GRAPH, **others: Any) -> None:
    """Train such an experiment, and be interrupted at the n-th step."""
    with pytest.raises(KeyboardInterrupt):
        train_run(small_experiment(data), out, device=CPU, observer=Stop(n_steps), **others)


def lasting(result: Result) -> Result:
    """Return what of a result does not depend on time."""
    return {key: result[key] for key in LASTING}


def events_of(out: Path) -> list[str]:
    """Return what happened in a run, in order."""
    return [str(event["event"]) for event in RunFolder.open(out).read_events()]


def checkpoints_in(out: Path) -> list[Path]:
    """Return the checkpoints of a run, the oldest first."""
    return sorted((out / "checkpoints").iterdir())


def files_of(out: Path) -> dict[str, bytes]:
    """Return what a run keeps, but for the journal, which says what was tried."""
    found = (path for path in out.rglob("*") if path.is_file() and path.name != "journal.jsonl")
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


def damage(path: Path, *, is_cut: bool) -> None:
    """Cut a file in half, or change one bit of it."""
    content = bytearray(path.read_bytes())
    content[-7] ^= 1
    path.write_bytes(content[: len(content) // 2] if is_cut else content)
