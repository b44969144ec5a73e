"""A training as its journal tells it: epoch by epoch, however many there were."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from interstellar.records.run_folder import RunFolder
from interstellar.reporting.recorded_run import (
    METRICS,
    Event,
    RecordedRun,
    Watched,
    is_measured,
    moment_of,
)
from interstellar.runs.experiment import Experiment
from interstellar.runs.training_result import read_training_result
from interstellar.searching.plain_values import is_number
from interstellar.searching.search_journal import refusing_altered
from interstellar.training.settings import MAX_COUNT

MOST_EPOCHS = 4096
"""Kept of a longer training: every second epoch, or every fourth, and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What the journal says of one epoch."""

    epoch: int
    loss: float | None
    """None where it was not finite."""
    valid: Mapping[str, float]
    """Those of `METRICS` that there are; none where the epoch was not validated."""
    is_best: bool
    when: float | None = None
    """In seconds since 1970; None: the journal does not say."""

    @classmethod
    def of(cls, event: Event) -> "Epoch":
        valid = event["valid"] or {}
        number, loss = event["epoch"], event["loss"]
        is_count = type(number) is int and 0 <= number <= MAX_COUNT
        if not is_count or not (loss is None or is_number(loss)):
            raise ValueError
        measured = {name: valid[name] for name in METRICS if is_measured(valid.get(name))}
        is_best = event["is_best"] is True
        return cls(epoch=number, loss=loss, valid=measured, is_best=is_best, when=moment_of(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTraining:
    """A training, finished or not."""

    run: RecordedRun
    epochs: tuple[Epoch, ...]
    best: Epoch | None
    """The one whose weights count so far."""
    result: Mapping[str, Any] | None
    """What came out; None: it is not finished."""

    @property
    def metric(self) -> str:
        return str(self.run.experiment.settings.metric)

    @property
    def metrics(self) -> dict[str, Mapping[str, float]]:
        """The metrics by split; of an unfinished training those of the best epoch until now."""
        if self.result is None:
            return {"valid": self.best.valid} if self.best is not None else {}
        measured: dict[str, Any] = self.result["metrics"]
        return {split: values for split, values in measured.items() if values}

    @property
    def seconds(self) -> float | None:
        return None if self.result is None else self.result["seconds"]


@final
class Epochs:
    """Epochs by number: of one that was trained again the later, of too many every n-th."""

    def __init__(self) -> None:
        self.by_number: dict[int, Epoch] = {}
        self.best: Epoch | None = None
        self._every = 1

    def add(self, epoch: Epoch) -> None:
        if epoch.is_best:
            self.best = epoch
        if epoch.epoch % self._every == 0:
            self.by_number[epoch.epoch] = epoch
        while len(self.by_number) > MOST_EPOCHS:
            self._every *= 2
            kept = {n: e for n, e in self.by_number.items() if n % self._every == 0}
            self.by_number = kept


def read_training(folder: Path, experiment: Experiment, name: str) -> RecordedTraining:
    """Return what the folder of a training says."""
    run = RunFolder(folder)
    events, epochs = Watched(run), Epochs()
    for epoch in _read_epochs(events, run.journal_file):
        epochs.add(epoch)
    in_order = sorted(epochs.by_number.values(), key=lambda epoch: epoch.epoch)
    return RecordedTraining(
        run=events.describe(experiment, name),
        epochs=tuple(in_order),
        best=epochs.best,
        result=read_training_result(run, experiment) if run.is_finished else None,
    )


def _read_epochs(events: Watched, journal: Path) -> Iterator[Epoch]:
    for event in events:
        if event["event"] == "epoch":
            with refusing_altered(event, journal, "training"):
                yield Epoch.of(event)
