"""`search` and `tune`: the architecture, or the settings, with which a graph is learnt best."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, SupportsIndex, Unpack, cast

import torch

from interstellar.data.graph import AnyGraph
from interstellar.data.loading import Source
from interstellar.engine.engine import EngineKind
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import ANY, Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.search_plan import (
    Budget,
    Retraining,
    SearchPlan,
    StrategyName,
)
from interstellar.runs.training_run import spell_out
from interstellar.searching.search_journal import last_budget, read_written
from interstellar.searching.speed import Speed
from interstellar.searching.time_plan import Ending
from interstellar.searching.workers import Workers
from interstellar.training.settings import TrainingSettings
from interstellar.training.settings_changes import SettingsChanges, with_changes
from interstellar.workflow.audience import Audience, find_audience
from interstellar.workflow.chosen_model import choose_model, is_open
from interstellar.workflow.chosen_plan import (
    choose_ending,
    choose_plan,
    complete_plan,
    keep_given,
    refuse_unfit,
    with_known,
)
from interstellar.workflow.chosen_workers import choose_workers
from interstellar.workflow.given import (
    GivenArchitecture,
    GivenSettings,
    build_experiment,
    final_settings,
    published_settings,
    read_data,
    read_given_architecture,
    read_given_settings,
    read_seed,
    refuse_unknown,
    trial_settings,
)
from interstellar.workflow.model import Model
from interstellar.workflow.run_place import RunPlace, StrPath, choose_place
from interstellar.workflow.search_result import TUNING_TRIALS, SearchResult, Stage
from interstellar.workflow.search_rival import train_rival, wants_rival

BUILT_IN = "geography-S3"
PAPER_TRIALS = 100


class SearchShortcuts(SettingsChanges, total=False):
    """What `search` and `tune` take besides objects; the settings are those of each trial."""

    trials: int | None
    """Of `Budget`."""
    time: str | float | None
    """Of `Budget`."""
    workers: Annotated[int | None, "Processes: one for each GPU, or sharing the cores."]
    engine: Annotated[EngineKind | str, "local: processes of this machine. ray: a cluster's."]
    ray_address: Annotated[
        str | None, "Of a running cluster, auto or host:port; else one is started."
    ]
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
        shortcuts: `trials`, `time` (a budget), `then_train`, `workers`, `engine`, `ray_address`,
            `reuse`, `progress`, and single settings of each trial such as `dim` or `epochs`.
    """
    refuse_unknown(shortcuts, SearchShortcuts, "search")
    started, place = time.monotonic(), choose_place(out, is_resumed=resume)
    after = choose_retraining(retraining, shortcuts)
    begun = RunFolder.open(place.path) if resume and os.path.lexists(place.path) else None
    spent = choose_budget(budget, shortcuts, begun, otherwise=PAPER_TRIALS)
    before = None if begun is None else begun_search(begun)
    audience = find_audience(is_wanted=shortcuts.get("progress", True))
    graph = read_searched(data, begun, audience)
    workers = workers_for(graph, device, spent, audience, shortcuts)
    stage = Stage(workers, audience, started)
    reused, changes, planned = list_paths(shortcuts), settings_in(shortcuts), spent
    if before is None and not reused and is_open(plan, after, settings, changes):
        changes, planned = choose_model(graph, stage, spent, seed)
    base = choose_experiment(
        graph, plan, before, seed, changes.get("model"), is_same_data=data is None
    )
    chosen = with_changes(read_given_settings(settings, base.settings), **changes)
    assert base.plan is not None, "it is a search"
    refuse_unfit(base.plan, after, chosen)
    wanted = keep_given(with_known(base.plan, chosen), changes, chosen)
    whole, speed = chosen, None
    if before is not None:
        whole = trial_settings(graph, wanted, chosen.model)
    elif planned.seconds is not None:
        given = [name for name, value in changes.items() if value is not None]
        given += ["path_length"] if wanted.as_published else []
        chosen, speed = stage.fit_to_time(graph, chosen, planned, (*wanted.keep, *given))
    has_rival = wants_rival(graph, wanted, after, stage)
    usual = chosen if spent.seconds is None else whole
    ending = choose_ending(wanted, after, chosen, usual, has_rival=has_rival)
    experiment = replace(base, plan=complete_plan(wanted, spent, chosen), settings=chosen)
    if speed is not None:
        stage.say_plan(experiment, speed, planned, ending)
    experiment, reuse = stage.use_others(experiment, graph, reused)
    stage.search(experiment, graph, place, spent, resume=resume, reuse=reuse, ending=ending)
    if not after.then_train:
        return SearchResult(place)
    if has_rival and (winner := train_rival(experiment, graph, place, stage, spent)) is not None:
        return SearchResult(place, model=Model(winner, workers.device))
    final = last_settings(stage, experiment, graph, place, spent, ending, whole, speed)
    joins = ending.n_finalists > 1 and after.joins_seeds and chosen.propagation is None
    model = stage.train_winner(experiment, place, spent, final, ensemble=joins)
    return SearchResult(place, model=model)


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
        shortcuts: `trials`, `time`, `workers`, `engine`, `ray_address`, `progress`, and single
            settings to begin with.
    """
    refuse_unknown(shortcuts, SearchShortcuts, "tune")
    started, audience = time.monotonic(), find_audience(is_wanted=shortcuts.get("progress", True))
    graph = read_data(data, audience)
    wanted = plan or SearchPlan(strategy=StrategyName.TUNE)
    if wanted.strategy is not StrategyName.TUNE:
        raise SettingsError(
            f"the plan has the strategy {wanted.strategy}, but a tuning has one of its own. "
            "Give a plan with the strategy tune."
        )
    code = read_given_architecture(architecture)
    base = read_given_settings(settings, final_settings(graph, code, shortcuts.get("model")))
    if base.propagation is not None:
        raise SettingsError(
            "a tuning is of a network along walks. Search propagations: that also tries the depth, "
            "the dimension and the learning rate."
        )
    chosen = with_changes(base, **settings_in(shortcuts))
    experiment = build_experiment(graph, architecture=code, seed=seed, settings=chosen, plan=wanted)
    place = choose_place(out, is_resumed=resume)
    begun = RunFolder.open(place.path) if resume and os.path.lexists(place.path) else None
    spent = choose_budget(budget, shortcuts, begun, otherwise=TUNING_TRIALS)
    workers = workers_for(graph, device, spent, audience, shortcuts)
    stage = Stage(workers, audience, started)
    stage.search(spell_out(experiment), graph, place, spent, resume=resume)
    return SearchResult(place)


def read_searched(
    data: Source | AnyGraph | None, begun: RunFolder | None, audience: Audience
) -> AnyGraph:
    """Return the graph that is given, and else that of the search to go on with or the built-in."""
    if data is None and begun is not None:
        return load_graph(begun)
    return read_data(BUILT_IN if data is None else data, audience)


def workers_for(
    graph: AnyGraph,
    device: str | torch.device,
    budget: Budget,
    audience: Audience,
    shortcuts: SearchShortcuts,
) -> Workers:
    """Return where trials run, as was said or as fits the budget."""
    return choose_workers(
        graph,
        device,
        budget,
        audience,
        n=shortcuts.get("workers"),
        engine=shortcuts.get("engine", EngineKind.LOCAL),
        ray_address=shortcuts.get("ray_address"),
    )


def begun_search(run: RunFolder) -> Experiment:
    """Return the experiment of the search in a folder."""
    experiment = read_experiment(run.experiment_file)
    if experiment.plan is None or experiment.plan.strategy is StrategyName.TUNE:
        kind = "a training" if experiment.plan is None else "a tuning"
        raise SettingsError(
            f"{run.path} is the run of {kind}, not of a search. Choose another folder."
        )
    return experiment


def choose_experiment(
    graph: AnyGraph,
    plan: SearchPlan | str | None,
    before: Experiment | None,
    seed: SupportsIndex,
    model: str | None = None,
    *,
    is_same_data: bool,
) -> Experiment:
    """Return what is to be searched: what is given, and else what the search was begun with.

    Where the limit of time has set dimension and epochs of a search, they stay as they were set.
    """
    wanted = choose_plan(plan) if plan is not None or before is None else before.plan
    assert wanted is not None, "it was a search"
    if before is not None and is_same_data:
        return replace(before, plan=wanted, seed=read_seed(seed) or before.seed)
    known = None if before is None else before.settings.model
    settings = trial_settings(graph, wanted, model or known)
    if before is not None:
        fitted = ("dim", "n_negatives", "max_epochs", "validate_every", "walk", "propagation")
        settings = replace(settings, **{name: getattr(before.settings, name) for name in fitted})
    return build_experiment(graph, architecture=ANY, seed=seed, settings=settings, plan=wanted)


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


def choose_retraining(given: Retraining | None, shortcuts: SearchShortcuts) -> Retraining:
    """Return what follows the search."""
    after = given or Retraining()
    return replace(after, then_train=after.then_train or shortcuts.get("then_train", False))


def last_settings(
    stage: Stage,
    search: Experiment,
    graph: AnyGraph,
    place: RunPlace,
    budget: Budget,
    ending: Ending,
    whole: TrainingSettings,
    speed: Speed | None,
) -> TrainingSettings | None:
    """Return the settings with which the winner is trained anew; None: its trial is enough."""
    assert search.plan is not None
    if search.plan.as_published:
        return published_settings(graph, read_written(os.fspath(place.path)))
    if not ending.is_long:
        return None
    return stage.long_settings(search, graph, place, budget, whole, speed)


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
