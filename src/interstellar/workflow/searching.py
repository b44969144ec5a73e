"""`search` and `tune`: the architecture, or the settings, with which a graph is learnt best."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, SupportsIndex, Unpack, cast

import torch

from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.device import find_device
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import ANY, Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.search_plan import (
    STRATEGIES,
    SUPERNET_EPOCHS,
    Budget,
    Retraining,
    SearchPlan,
    StrategyName,
)
from interstellar.runs.training_run import spell_out
from interstellar.searching.search_journal import last_budget
from interstellar.searching.search_run import Workers
from interstellar.tasks.task import network_size, task_for
from interstellar.training.group_training import can_train_together
from interstellar.training.settings import SettingsChanges, TrainingSettings, with_changes
from interstellar.words import choose
from interstellar.workflow.given import (
    GivenArchitecture,
    GivenSettings,
    build_experiment,
    final_settings,
    read_data,
    read_given_architecture,
    read_given_settings,
    read_seed,
    refuse_unknown,
    trial_settings,
)
from interstellar.workflow.progress import find_audience
from interstellar.workflow.run_place import StrPath, choose_place
from interstellar.workflow.search_result import ONE_TRIAL, TUNING_TRIALS, SearchResult, Stage

BUILT_IN = "geography-S3"
PAPER_TRIALS = 100
TRIALS_TOGETHER = 16


class SearchShortcuts(SettingsChanges, total=False):
    """What `search` and `tune` take besides objects; the settings are those of each trial."""

    trials: int | None
    """Of `Budget`."""
    time: str | float | None
    """Of `Budget`."""
    workers: Annotated[int, "Processes: one for each GPU, or sharing the cores."]
    reuse: Annotated[StrPath | Sequence[StrPath], "Searches whose trials need not be repeated."]
    then_train: bool
    """Of `Retraining`."""
    progress: bool
    """Whether to show how far it is."""


def search(
    data: Source | AnyGraph | None = None,
    plan: SearchPlan | str | None = None,
    *,
    budget: Budget | None = None,
    settings: GivenSettings | None = None,
    retraining: Retraining | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    seed: SupportsIndex = 0,
    device: str | torch.device = "auto",
    **shortcuts: Unpack[SearchShortcuts],
) -> SearchResult:
    """Find the architecture that learns a graph best.

    Args:
        data: A loaded graph, or anything that `load` takes; otherwise the built-in geography or,
            to resume, the graph that the search keeps.
        plan: How to go about it, or the name of a strategy.
        budget: Trials and time; otherwise those of the search to resume, or 100 trials.
        settings: Settings of each trial, or the TOML file of those that differ.
        retraining: What follows the search.
        out: Folder of the search; without one it is temporary, and cannot be resumed.
        resume: Go on with the search in `out`.
        seed: Of every random choice.
        device: auto, cpu, cuda or cuda:i.
        shortcuts: `trials`, `time` (a budget), `then_train`, `workers`, `reuse`, `progress`, and
            single settings of each trial such as `dim` or `epochs`.
    """
    refuse_unknown(shortcuts, SearchShortcuts, "search")
    stage, place = open_stage(device, shortcuts), choose_place(out, is_resumed=resume)
    after = retraining or Retraining()
    after = replace(after, then_train=after.then_train or shortcuts.get("then_train", False))
    begun = RunFolder.open(place.path) if resume and os.path.lexists(place.path) else None
    spent = choose_budget(budget, shortcuts, begun, otherwise=PAPER_TRIALS)
    if begun is not None and data is None:
        graph, base = load_graph(begun), begun_search(begun)
    else:
        graph = read_data(BUILT_IN if data is None else data, stage.audience)
        base = build_experiment(graph, architecture=ANY, seed=seed, settings=trial_settings(graph))
    chosen = with_changes(read_given_settings(settings, base.settings), **settings_in(shortcuts))
    if plan is not None or base.plan is None:
        wanted = complete_plan(choose_plan(plan), spent, chosen, graph, stage.workers)
        base = replace(base, plan=wanted)
    experiment = replace(base, settings=chosen, seed=read_seed(seed) or base.seed)
    stage.search(experiment, graph, place, spent, resume=resume, reuse=list_paths(shortcuts))
    return stage.follow_up(experiment, settings_after(graph, chosen, shortcuts), place, after)


def tune(
    data: Source | AnyGraph,
    architecture: GivenArchitecture,
    *,
    plan: SearchPlan | None = None,
    budget: Budget | None = None,
    settings: GivenSettings | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    seed: SupportsIndex = 0,
    device: str | torch.device = "auto",
    **shortcuts: Unpack[SearchShortcuts],
) -> SearchResult:
    """Find the settings with which an architecture learns best, in the paper's ranges.

    learning_rate, weight_decay, lr_decay, batch_size and dropout.

    Args:
        data: A loaded graph, or anything that `load` takes.
        architecture: A name (TransE), a code, a formula, a JSON file, a run, or what was found.
        plan: What to keep and whether to prune: `SearchPlan(strategy="tune", keep=(…))`.
        budget: Trials and time; otherwise those of the tuning to resume, or 50 trials.
        settings: What to begin with, or the TOML file of what differs.
        out: Folder of the tuning; without one it is temporary, and cannot be resumed.
        resume: Go on with the tuning in `out`.
        seed: Of every random choice.
        device: auto, cpu, cuda or cuda:i.
        shortcuts: `trials`, `time`, `workers`, `progress`, and single settings to begin with.
    """
    refuse_unknown(shortcuts, SearchShortcuts, "tune")
    stage = open_stage(device, shortcuts)
    graph = read_data(data, stage.audience)
    wanted = plan or SearchPlan(strategy=StrategyName.TUNE)
    if wanted.strategy is not StrategyName.TUNE:
        raise SettingsError(
            f"the plan has the strategy {wanted.strategy}, but a tuning has one of its own. "
            "Give a plan with the strategy tune."
        )
    experiment = build_experiment(
        graph,
        architecture=read_given_architecture(architecture),
        seed=seed,
        settings=with_changes(
            read_given_settings(settings, final_settings(graph)), **settings_in(shortcuts)
        ),
        plan=wanted,
    )
    place = choose_place(out, is_resumed=resume)
    begun = RunFolder.open(place.path) if resume and os.path.lexists(place.path) else None
    spent = choose_budget(budget, shortcuts, begun, otherwise=TUNING_TRIALS)
    stage.search(spell_out(experiment), graph, place, spent, resume=resume)
    return SearchResult(place)


def open_stage(device: str | torch.device, shortcuts: SearchShortcuts) -> Stage:
    """Return where a search runs and who watches."""
    workers = Workers(device=find_device(str(device)), n=shortcuts.get("workers", 1))
    return Stage(workers, find_audience(is_wanted=shortcuts.get("progress", True)))


def begun_search(run: RunFolder) -> Experiment:
    """Return the experiment of the search in a folder."""
    experiment = read_experiment(run.experiment_file)
    if experiment.plan is None or experiment.plan.strategy is StrategyName.TUNE:
        kind = "a training" if experiment.plan is None else "a tuning"
        raise SettingsError(
            f"{run.path} is the run of {kind}, not of a search. Choose another folder."
        )
    return experiment


def choose_plan(given: SearchPlan | str | None) -> SearchPlan:
    """Return the plan that is given, or the one of a strategy."""
    plan = SearchPlan() if given is None else given
    name = plan if isinstance(plan, str) else str(plan.strategy)
    strategy = choose("strategy", name, StrategyName, STRATEGIES)
    return SearchPlan(strategy=strategy) if isinstance(plan, str) else plan


def choose_budget(
    budget: Budget | None, shortcuts: SearchShortcuts, begun: RunFolder | None, *, otherwise: int
) -> Budget:
    """Return the budget that is given, that of the search to go on with, or so many trials."""
    trials, time = shortcuts.get("trials"), shortcuts.get("time")
    if budget is not None:
        if trials is not None or time is not None:
            raise SettingsError("a budget was given, and trials or time too. Give one of them.")
        return budget
    if trials is not None or time is not None:
        return Budget(trials=trials, time=time)
    return (None if begun is None else last_budget(begun)) or Budget(trials=otherwise)


def settings_after(
    graph: AnyGraph, trials: TrainingSettings, shortcuts: SearchShortcuts
) -> TrainingSettings:
    """Return the final settings, with the metric and precision that were chosen for the trials."""
    usual = trial_settings(graph)
    metric = trials.metric if trials.metric != usual.metric else shortcuts.get("metric")
    is_usual = trials.precision == usual.precision
    precision = shortcuts.get("precision") if is_usual else trials.precision
    return with_changes(final_settings(graph), metric=metric, precision=precision)


def complete_plan(
    plan: SearchPlan, budget: Budget, settings: TrainingSettings, graph: AnyGraph, workers: Workers
) -> SearchPlan:
    """Return a plan with what follows from budget, graph and device filled in."""
    together = plan.together or choose_together(graph, settings, workers)
    epochs = plan.supernet_epochs
    if plan.strategy in ONE_TRIAL and epochs is None:
        epochs = SUPERNET_EPOCHS
        if budget.trials is not None:  # all trials but one, and those tried first, are worth them
            worth = (budget.trials - len(plan.try_first) - 1) * settings.max_epochs
            epochs = max(1, min(epochs, worth))
    return replace(plan, together=together, supernet_epochs=epochs)


def choose_together(graph: AnyGraph, settings: TrainingSettings, workers: Workers) -> int:
    """Return how many trials to train in one program: several only if a GPU gains from it."""
    if workers.device.type != "cuda" or workers.n > 1:
        return 1
    task = task_for(graph)
    size = network_size(task, settings.dim)
    return TRIALS_TOGETHER if can_train_together(settings, task.form, size) else 1


def settings_in(shortcuts: SearchShortcuts) -> SettingsChanges:
    """Return the single settings among what was given."""
    names = SettingsChanges.__annotations__
    found = {name: value for name, value in shortcuts.items() if name in names}
    return cast("SettingsChanges", found)


def list_paths(shortcuts: SearchShortcuts) -> list[Path]:
    """Return the searches to reuse, one or several, as several."""
    given = shortcuts.get("reuse", ())
    several = [given] if isinstance(given, str | os.PathLike) else given
    return [Path(path) for path in several]
