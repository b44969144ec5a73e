"""Searches on a built-in graph so small that a trial takes a few hundredths of a second."""

from dataclasses import replace
from pathlib import Path

import torch

from interstellar.runs.experiment import ANY, Experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, SearchPlan, StrategyName
from interstellar.searching.search_loop import OnChange
from interstellar.searching.search_run import search_run
from interstellar.searching.time_plan import Ending
from interstellar.searching.workers import Workers
from interstellar.training.presets import LINK_PREDICTION
from interstellar.training.settings_changes import SettingsChanges, with_changes

CPU = torch.device("cpu")
DATA = "synthetic:entities=60"
SETTINGS = with_changes(
    replace(LINK_PREDICTION, validate_every=1), dim=8, batch_size=512, epochs=2, learning_rate=0.01
)


def small_plan(strategy: StrategyName, *, prune: bool = False) -> SearchPlan:
    """Return the plan of a search that begins with nothing; unless pruned, all trials are whole."""
    has_supernet = strategy in (StrategyName.DARTS, StrategyName.ONE_SHOT)
    supernet_epochs = 2 if has_supernet else None
    return SearchPlan(
        strategy=strategy, from_scratch=True, prune=prune, supernet_epochs=supernet_epochs
    )


def small_search(
    strategy: StrategyName = StrategyName.RANDOM,
    *,
    data: str = DATA,
    architecture: str = ANY,
    seed: int = 3,
    settings: SettingsChanges | None = None,
    plan: SearchPlan | None = None,
) -> Experiment:
    return Experiment(
        data=data,
        architecture=architecture,
        seed=seed,
        settings=with_changes(SETTINGS, **(settings or {})),
        plan=plan or small_plan(strategy),
    )


def run_search(
    search: Experiment,
    out: Path,
    *,
    n_trials: int = 3,
    resume: bool = False,
    reuse: tuple[Path, ...] = (),
    n_workers: int = 1,
    n_finalists: int = 1,
    on_change: OnChange | None = None,
) -> Result:
    return search_run(
        search,
        out,
        budget=Budget(trials=n_trials),
        workers=Workers(device=CPU, n=n_workers),
        resume=resume,
        reuse=reuse,
        ending=Ending(n_finalists=n_finalists),
        on_change=on_change,
    )
