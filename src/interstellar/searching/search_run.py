"""A search with a folder on disk: it can be killed at any moment and goes on where it was."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import first_of_each, one_step_form
from interstellar.architecture.notation import (
    code_text,
    from_code_text,
    to_code,
)
from interstellar.architecture.propagation import CLAUSES
from interstellar.data.graph import AnyGraph
from interstellar.engine.engine import Plain
from interstellar.errors import SettingsError, TrainingError
from interstellar.records.run_folder import RunFolder
from interstellar.records.toml_tables import toml_text
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.notation import read_model
from interstellar.runs.experiment import Experiment, read_experiment, settings_tables
from interstellar.runs.kept_graph import graph_sha256
from interstellar.runs.run import (
    OpenRun,
    Result,
    facts_of,
    find_run,
    find_start,
    first_difference,
    name_device,
    refuse_other_data,
    writing,
)
from interstellar.runs.search_plan import SUPERNET_EPOCHS, Budget, SearchPlan, StrategyName
from interstellar.searching.bayes import BayesSearch, Tuning
from interstellar.searching.finalists import (
    choose_finalists,
    find_gain,
    find_winner,
    list_baselines,
    list_finalists,
)
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.judge import TRIALS, Judge
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_journal import read_known, trials_of, tuned_architecture
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.settings_space import (
    PATH_LENGTH,
    PATH_LENGTHS,
    SettingChoice,
    searched_settings,
)
from interstellar.searching.strategy import FirstRung, KnownFirst, OneOfEach, SearchStrategy
from interstellar.searching.supernet_search import DartsSearch, OneShotSearch
from interstellar.searching.surrogate import SurrogateSearch
from interstellar.searching.time_plan import Ending
from interstellar.searching.trial import Proposal, Trial
from interstellar.searching.trials import Trials, known_trials
from interstellar.searching.tried_network import (
    Changes,
    SearchedNetwork,
    TrialKey,
    cell_of,
    code_of,
    own_choices,
)
from interstellar.searching.workers import Workers
from interstellar.training.settings import ModelKind, TrainingSettings
from interstellar.training.settings_changes import replace_settings

N_ELSEWHERE = 3
"""Networks of a search on another graph that are tried first."""


def search_run(
    experiment: Experiment,
    out: Path,
    *,
    budget: Budget,
    workers: Workers,
    graph: AnyGraph | None = None,
    resume: bool = False,
    reuse: Sequence[Path] = (),
    ending: Ending | None = None,
    started: float | None = None,
    on_change: OnChange | None = None,
) -> Result:
    """Search in a run folder and return the result.

    `out` does not exist yet, or is with `resume` the folder of the same search, which has spent
    some of the budget before. Trials of the searches `reuse` on the same data with the same
    settings are not repeated; who resumes need not say them again. The graph is read from the
    experiment's source where none is given. Trials leave the time that their `ending` needs; with
    more than one finalist, those are trained to their end with several seeds in it. Time counts
    from `started`, as `time.monotonic` has it, or else from now.
    """
    plan, ending = experiment.plan, ending or Ending()
    assert plan is not None, "it is the experiment of a search"
    run = find_run(out, experiment, workers.device, resume=resume)
    strategy = build_strategy(experiment)
    judge = Judge(experiment, workers.device, graph, checkpoints=out / TRIALS)
    facts = facts_of(judge.task.graph, judge.paths)
    reused: dict[TrialKey, Trial] = {}
    for path in reuse:
        trials = read_trials(path, experiment, facts, workers.device)
        reused |= known_trials(trials, source=str(path))
    with writing(run, out, experiment, judge.task.graph, facts, workers.device) as opened:
        opened.journal.append("budget", trials=budget.trials, seconds=budget.seconds)
        loop = SearchLoop(
            strategy,
            opened.journal,
            budget,
            rungs=Rungs.of(experiment.settings, prune=plan.prune),
            known=note_known(opened, reused),
            tuned=tuned_architecture(experiment),
            checkpoints=out / TRIALS,
            started=started,
            on_change=on_change,
        )
        path = opened.folder.path
        with closing(workers.open_engine(judge, experiment, path, budget.trials)) as engine:
            loop.run(engine, share=ending.search_share)
            if ending.n_finalists > 1:
                finalists = choose_finalists(loop.trials, ending.n_finalists)
                seeds = other_seeds(experiment.seed, budget)
                loop.finish(engine, finalists, seeds, share=ending.whole_share)
        return finish(opened, experiment, loop, strategy)


def other_seeds(seed: int, budget: Budget) -> list[int]:
    """Return the seeds with which finalists are repeated, as far as there is time."""
    return [seed + 1] if budget.seconds is None else [seed + 1, seed + 2]


def build_strategy(experiment: Experiment) -> SearchStrategy:
    """Return the strategy of a search, with nothing learnt."""
    assert experiment.plan is not None
    strategy, known = _build_named(experiment, experiment.plan), experiment.plan.known
    if experiment.plan.strategy is not StrategyName.SURROGATE:
        strategy = FirstRung(strategy)
    changes = list_changes(experiment.plan, experiment.settings)
    settings = experiment.settings
    if settings.walk.length == 1 and settings.model is ModelKind.WALKS:
        differing = first_of_each(known, one_step_form)
        strategy = OneOfEach(differing, strategy)
        changes = [{} if a in differing else {PATH_LENGTH: max(PATH_LENGTHS)} for a in known]
    return KnownFirst(known, strategy, changes) if known else strategy


def list_changes(plan: SearchPlan, settings: TrainingSettings) -> list[Changes]:
    """Return the settings with which each known network is tried: its choices, or the search's."""
    free_of_each = (
        {name: value for name, value in chosen.items() if name not in plan.keep}
        for chosen in plan.known_choices
    )
    return [own_choices(replace_settings(settings, free)) for free in free_of_each]


def _build_named(experiment: Experiment, plan: SearchPlan) -> SearchStrategy:
    is_walking, seed = experiment.settings.propagation is None, experiment.seed
    space = replace(plan.space, is_of_messages=not is_walking)
    match plan.strategy:
        case StrategyName.SURROGATE:
            return SurrogateSearch(space, seed, settings=choose_searched(experiment, plan))
        case StrategyName.HYBRID:
            k_1, k_2 = plan.macro_updates or 1, plan.micro_epochs or 0
            return HybridSearch(space, seed, n_macro_updates=k_1, n_micro_epochs=k_2)
        case StrategyName.RANDOM:
            macro = None if plan.macro is None else from_code_text(plan.macro).macro
            searched = () if is_walking else choose_searched(experiment, plan)
            return RandomSearch(space, seed, macro=macro, settings=searched)
        case StrategyName.REINFORCE:
            return ReinforceSearch(space, seed)
        case StrategyName.BAYES:
            return BayesSearch(space, seed)
        case StrategyName.DARTS:
            return DartsSearch(space, plan.supernet_epochs or SUPERNET_EPOCHS)
        case StrategyName.ONE_SHOT:
            return OneShotSearch(space, plan.supernet_epochs or SUPERNET_EPOCHS)
        case StrategyName.TUNE:
            tuned, settings = read_model(experiment.architecture), experiment.settings
            return Tuning(tuned, settings, seed, with_dim=plan.with_dim, kept=plan.keep)
        case _:
            assert_never(plan.strategy)


def choose_searched(experiment: Experiment, plan: SearchPlan) -> tuple[SettingChoice, ...]:
    """Return the settings that are searched; those that choose a network count as architecture."""
    found = searched_settings(experiment.settings, kept=plan.keep)
    return tuple(c for c in found if not plan.architecture_only or c.name in CLAUSES)


def note_known(opened: OpenRun, reused: Mapping[TrialKey, Trial]) -> dict[TrialKey, Trial]:
    """Return the trials that need not be repeated; the journal keeps them, for who resumes."""
    known: dict[TrialKey, Trial] = {}
    for event in opened.folder.read_events():
        if event["event"] == "known":
            trials = read_known(event, opened.folder.journal_file)
            known |= {trial.key: trial for trial in trials}
    new = [trial for key, trial in reused.items() if key not in known]
    if new:
        opened.journal.append("known", trials=[trial.as_plain() for trial in new])
    return {**reused, **known}


def read_trials(
    path: Path, experiment: Experiment, facts: Plain, device: torch.device
) -> list[Trial]:
    """Return the trials of another search whose scores hold for this one too."""
    run = RunFolder.open(path)
    begun_on = run.read_environment().get("device")
    if begun_on != name_device(device):
        raise SettingsError(
            f"{path} cannot be reused: it was begun on {begun_on}, and this is "
            f"{name_device(device)}. Their scores differ in rounding. Leave it out of `reuse`."
        )
    other = read_experiment(run.experiment_file)
    theirs, ours = (
        toml_text({"seed": e.seed, **settings_tables(e.settings)}) for e in (other, experiment)
    )
    if theirs != ours:
        raise SettingsError(
            f"{path} cannot be reused: {first_difference(theirs, ours)}. Scores hold only under "
            "the same seed and settings. Leave it out of `reuse`."
        )
    refuse_other_data(run, facts)
    return trials_of(run).ended


def is_of_same(path: Path, experiment: Experiment, graph: AnyGraph) -> bool:
    """Return whether a search was on the same data, under the same settings and seed."""
    run = RunFolder.open(path)
    other, started = read_experiment(run.experiment_file), find_start(run)
    is_same_data = started is not None and started.get("graph_sha256") == graph_sha256(graph)
    return is_same_data and (other.settings, other.seed) == (experiment.settings, experiment.seed)


def winners_elsewhere(path: Path, experiment: Experiment) -> list[str]:
    """Return the best networks of a search of the same task on another graph, to be tried first.

    Of a propagation also its choices, where propagations are searched.
    """
    run = RunFolder.open(path)
    theirs, ours = read_experiment(run.experiment_file).settings, experiment.settings
    if (theirs.walk.cross_bias is None) is not (ours.walk.cross_bias is None):
        raise SettingsError(
            f"{path} cannot be reused: it is of the other task, and what learns links need not "
            "learn an alignment. Leave it out of `reuse`."
        )
    networks = dict.fromkeys(trial.network for trial in trials_of(run).ranked)
    in_space = [network for network in networks if not isinstance(network, Rival)]
    return [
        line_to_try(network, with_choices=ours.propagation is not None)
        for network in in_space[:N_ELSEWHERE]
    ]


def line_to_try(network: SearchedNetwork, *, with_choices: bool) -> str:
    """Return a network as `try_first` has it."""
    if isinstance(network, Architecture) or not with_choices:
        return code_text(cell_of(network))
    clauses = (f"{name} = {getattr(network, name)}" for name in CLAUSES)
    return "; ".join([code_text(network.cell), *clauses])


def finish(
    opened: OpenRun, experiment: Experiment, loop: SearchLoop, strategy: SearchStrategy
) -> Result:
    """Store what was found."""
    trials, winner = loop.trials, find_winner(loop.trials)
    if winner is None:
        raise TrainingError(
            f"none of {len(trials.ended)} trials has a score "
            f"({next(iter(loop.failures), 'the time was over before the first had one')}). "
            "Give more time, or other settings, and resume."
        )
    assert experiment.plan is not None
    answer, gain = strategy.answer(), find_gain(trials)
    results = [trial.result for trial in trials.trained]
    result: Result = {
        "best": winner.describe(),
        "gain": None if gain is None else gain.describe(),
        "baselines": [trial.describe() for trial in list_baselines(trials)],
        "finalists": [finalist.describe() for finalist in list_finalists(trials)],
        "answer": None if answer is None else describe_answer(answer, trials, experiment.settings),
        "trials": len(results),
        "distinct_trained": len({trial.network for trial in trials.trained}),
        "reused": len(trials.ended) - len(results),
        "failed": sum(result.failure is not None for result in results),
        "stopped_early": sum(result.stopped is not None for result in results),
        "shared_rounds": loop.n_shared,
        "seconds": round(loop.seconds, 3),
        "model": str(experiment.settings.model),
        "strategy": str(experiment.plan.strategy),
        "seed": experiment.seed,
    }
    return opened.finish(result, trials=result["trials"], best=winner.number)


def describe_answer(
    answer: Architecture, trials: Trials, settings: TrainingSettings
) -> dict[str, Any]:
    """Return what the strategy believes to be the best, with its score where it was tried."""
    believed = Proposal(number=0, architecture=answer, changes=own_choices(settings))
    tried = trials.find(believed.key)
    return {
        "code": list(to_code(answer)),
        "canonical": code_of(believed.key[0]),
        "formula": believed.formula,
        "score": None if tried is None else tried.score,
    }
