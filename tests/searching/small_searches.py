"""Searches on a built-in graph so small that a trial takes a few hundredths of a second."""

from dataclasses import replace
from pathlib import Path

import torch

from interstellar.searching.budget import Budget
from interstellar.searching.search_experiment import (
    ANY,
    SearchExperiment,
    SearchPlan,
    StrategyName,
)
from interstellar.searching.search_loop import OnChange
from interstellar.searching.search_run import Workers, search_run
from interstellar.tasks.training_run import Result
from interstellar.training.experiment import Experiment
from interstellar.training.presets import LINK_PREDICTION
from interstellar.training.settings import SettingsChanges, with_changes

CPU = torch.device("cpu")
DATA = "synthetic:entities=60"
SETTINGS = with_changes(
    LINK_PREDICTION, dim=8, batch_size=512, max_epochs=2, validate_every=1, learning_rate=0.01
)


def small_search(
    strategy: StrategyName = StrategyName.RANDOM,
    *,
    data: str = DATA,
    architecture: str = ANY,
    seed: int = 3,
    settings: SettingsChanges | None = None,
    plan: SearchPlan | None = None,
) -> SearchExperiment:
    changed = with_changes(SETTINGS, **(settings or {}))
    return SearchExperiment(
        experiment=Experiment(data=data, architecture=architecture, seed=seed, settings=changed),
        plan=replace(plan or SearchPlan(strategy=strategy, supernet_epochs=2), strategy=strategy),
    )


def run_search(
    search: SearchExperiment,
    out: Path,
    *,
    n_trials: int = 3,
    is_resumed: bool = False,
    reuse: tuple[Path, ...] = (),
    n_workers: int = 1,
    on_change: OnChange | None = None,
) -> Result:
    return search_run(
        search,
        out,
        budget=Budget(trials=n_trials),
        workers=Workers(device=CPU, n=n_workers),
        is_resumed=is_resumed,
        reuse=reuse,
        on_change=on_change,
    )
