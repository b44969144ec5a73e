"""The paper's whole procedure: search, then tune the winner's settings, then train it finally.

The later stages go on where they were stopped, and train on the graph that the search keeps.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import read_architecture, to_formula
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.searching.budget import Budget
from interstellar.searching.search_experiment import SearchExperiment, SearchPlan, StrategyName
from interstellar.searching.search_loop import OnChange
from interstellar.searching.search_run import Workers, search_run
from interstellar.tasks.kept_graph import load_graph
from interstellar.tasks.training_run import OnEpoch, OnStep, Result, train_run
from interstellar.training.experiment import Experiment
from interstellar.training.settings import TrainingSettings
from interstellar.training.toml_tables import read_toml

TUNING, FINAL = "tuning", "final"
"""Folders of the later stages, within that of the search."""


def tune_winner(
    search: SearchExperiment,
    code: str,
    final: TrainingSettings,
    out: Path,
    *,
    n_trials: int,
    workers: Workers,
    on_change: OnChange | None = None,
) -> Result:
    """Tune the settings of the final training for what a search found."""
    experiment = replace(search.experiment, architecture=code, settings=final)
    tuning = SearchExperiment(
        experiment=experiment,
        plan=SearchPlan(strategy=StrategyName.TUNE, is_faithful=search.plan.is_faithful),
    )
    refuse_earlier_winner(out / TUNING, code)
    return search_run(
        tuning,
        out / TUNING,
        budget=Budget(trials=n_trials),
        workers=workers,
        graph=load_graph(RunFolder.open(out)),
        is_resumed=True,
        on_change=on_change,
    )


def train_finally(
    search: SearchExperiment,
    code: str,
    final: TrainingSettings,
    out: Path,
    *,
    folder: str = FINAL,
    workers: Workers,
    on_step: OnStep | None = None,
    on_epoch: OnEpoch | None = None,
) -> Result:
    """Train what a search found, with the settings of the final training, in a folder of it."""
    experiment: Experiment = replace(search.experiment, architecture=code, settings=final)
    (out / folder).parent.mkdir(exist_ok=True)
    refuse_earlier_winner(out / folder, code)
    return train_run(
        experiment,
        out / folder,
        device=workers.device,
        graph=load_graph(RunFolder.open(out)),
        is_resumed=True,
        on_step=on_step,
        on_epoch=on_epoch,
    )


def refuse_earlier_winner(folder: Path, code: str) -> None:
    """Raise where a stage was begun with what was best before the search went on."""
    if not folder.exists():
        return
    begun_with = read_toml(RunFolder.open(folder).experiment_file)
    before, now = read_architecture(str(begun_with.get("architecture"))), read_architecture(code)
    if before != now:
        raise SettingsError(
            f"{folder} is of {to_formula(canonical_form(before))}, which was the best when it was "
            f"begun, and now that is {to_formula(canonical_form(now))}. Move that folder away, and "
            "resume."
        )


def tuned_settings(settings: TrainingSettings, tuned: Result) -> TrainingSettings:
    """Return settings with the changes that a tuning found best."""
    changes: Mapping[str, Any] = tuned["best"]["settings"]
    return replace(settings, **changes)
