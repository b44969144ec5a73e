"""Runs of all kinds, read from their folders."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from interstellar.records.run_folder import RunFolder
from interstellar.reporting.recorded_run import Given, list_folders, name_runs
from interstellar.reporting.recorded_search import RecordedSearch, read_search
from interstellar.reporting.recorded_training import RecordedTraining, read_training
from interstellar.runs.experiment import read_experiment

Recorded: TypeAlias = RecordedTraining | RecordedSearch


def read_runs(given: Given | Iterable[Given]) -> list[Recorded]:
    """Return what runs say, finished or not; what is no run is refused by its name."""
    folders = list_folders(given)
    for folder in folders:
        RunFolder.open(folder)  # all, before the first is read: that may take a while
    return [_read(*pair) for pair in zip(folders, name_runs(folders), strict=True)]


def _read(folder: Path, name: str) -> Recorded:
    experiment = read_experiment(RunFolder.open(folder).experiment_file)
    if experiment.plan is None:
        return read_training(folder, experiment, name)
    return read_search(folder, experiment, name)
