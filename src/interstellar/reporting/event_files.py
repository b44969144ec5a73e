"""Runs as event files for TensorBoard: written from journals, so that no training knows of it.

A training is a folder with its losses and metrics by epoch; a search one with its best and every
score by trial, and below it a folder for each trial with its curve, its network and settings
(the tab HParams compares them).
"""

import math
import shutil
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interstellar.errors import SettingsError
from interstellar.records.safe_files import new_folder
from interstellar.reporting.reading import Recorded
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.recorded_training import RecordedTraining
from interstellar.runs.experiment import settings_tables
from interstellar.searching.trial import Trial
from interstellar.searching.tried_network import formula_of

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

EVENT_FILE = "events.out.tfevents."


def write_event_files(runs: Iterable[Recorded], folder: Path, *, overwrite: bool = False) -> None:
    """Write a folder of event files; one of nothing else is replaced if that is asked for."""
    require_tensorboard()
    if folder.is_dir():
        _refuse_kept(folder, overwrite=overwrite)
        shutil.rmtree(folder)
    with new_folder(folder) as draft:
        for run in runs:
            if isinstance(run, RecordedSearch):
                _write_search(run, draft / run.run.name)
            else:
                _write_training(run, draft / run.run.name)


def require_tensorboard() -> None:
    """Raise with advice where TensorBoard is not installed."""
    try:
        import torch.utils.tensorboard  # noqa: F401, PLC0415
    except ImportError:
        raise SettingsError(
            "Event files need TensorBoard, which is not installed. Install it with "
            '`pip install "interstellar-kg[tensorboard]"`, or choose the format html or md.'
        ) from None


def _refuse_kept(folder: Path, *, overwrite: bool) -> None:
    """Raise where a folder is not to be replaced, or has other files too."""
    if not overwrite:
        raise SettingsError(
            f"{folder} exists, and nothing is replaced unasked. Choose a new name, or set "
            "`overwrite` to replace it."
        )
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_dir() or path.name.startswith(EVENT_FILE)):
            raise SettingsError(
                f"{path} is no event file, and only a folder of nothing else is replaced. Choose a "
                "new folder."
            )


def _open(folder: Path) -> "SummaryWriter":
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 (needs torch)

    return SummaryWriter(str(folder))


def _write_training(training: RecordedTraining, folder: Path) -> None:
    with _open(folder) as file:
        for epoch in training.epochs:
            if epoch.loss is not None:
                file.add_scalar("loss", epoch.loss, epoch.epoch, epoch.when)
            for metric, value in epoch.valid.items():
                file.add_scalar(f"valid/{metric}", value, epoch.epoch, epoch.when)
        if training.result is not None:
            best = training.result["best_epoch"]
            for metric, value in training.metrics.get("test", {}).items():
                file.add_scalar(f"test/{metric}", value, best)
        settings = settings_tables(training.run.experiment.settings)["training"]
        valid = training.metrics.get("valid", {}).get(training.metric)
        network = training.run.trained_network
        assert network is not None, "it is no search"
        _write_choices(file, formula_of(network), settings, valid)


def _write_search(search: RecordedSearch, folder: Path) -> None:
    with _open(folder) as file:
        best = accumulate((known.score for known in search.known), max)
        for known, highest in zip(search.known, best, strict=True):
            when = _moment(search, known.seconds)
            file.add_scalar(f"best {search.metric}", highest, known.n_trials, when)
            file.add_scalar(f"score of a trial/{search.metric}", known.score, known.n_trials, when)
    for trial in search.trials.trained:
        _write_trial(trial, search, folder / f"trial {trial.number:05d}")


def _write_trial(trial: Trial, search: RecordedSearch, folder: Path) -> None:
    curve, result = trial.result.curve, trial.result
    with _open(folder) as file:
        for number, score in enumerate(curve, 1):
            share = number / len(curve)
            when = _moment(search, share * result.seconds)
            file.add_scalar(f"valid/{search.metric}", score, round(share * result.epochs), when)
        _write_choices(file, trial.formula, trial.settings, trial.score)


def _moment(search: RecordedSearch, seconds: float | None) -> float | None:
    """Return the time so long after a search was begun."""
    return None if search.run.begun is None or seconds is None else search.run.begun + seconds


def _write_choices(
    file: "SummaryWriter", architecture: str, settings: Mapping[str, Any], score: float | None
) -> None:
    """Write what was chosen and what it came to."""
    plain = {
        name: value if isinstance(value, bool | int | float | str) else str(value)
        for name, value in settings.items()
    }
    shown = math.nan if score is None else score
    file.add_hparams({"architecture": architecture, **plain}, {"score": shown}, run_name=".")
