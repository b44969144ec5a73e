"""A search with a folder on disk: it can be killed at any moment and goes on where it was."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import (
    from_code_text,
    read_architecture,
    to_code,
    to_formula,
)
from interstellar.data.graph import AnyGraph
from interstellar.engine.engine import Engine, Plain, ThisProcess
from interstellar.engine.local_processes import LocalProcesses
from interstellar.errors import SettingsError, TrainingError
from interstellar.records.run_folder import RunFolder
from interstellar.records.toml_tables import toml_text
from interstellar.runs.experiment import Experiment, read_experiment, settings_tables
from interstellar.runs.run import (
    OpenRun,
    Result,
    facts_of,
    find_run,
    first_difference,
    name_device,
    refuse_other_data,
    writing,
)
from interstellar.runs.search_plan import SUPERNET_EPOCHS, Budget, SearchPlan, StrategyName
from interstellar.searching.bayes import BayesSearch, Tuning
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.judge import Judge, build_workbench
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.search_journal import read_known, trials_of, tuned_architecture
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.strategy import KnownFirst, SearchStrategy
from interstellar.searching.supernet_search import DartsSearch, OneShotSearch
from interstellar.searching.trial import Trial
from interstellar.searching.trials import Trials, known_trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where trials run."""

    device: torch.device
    n: int = 1
    """Processes; 1: this one. On CUDA they are spread over the cards, on the CPU over the cores."""

    def devices(self) -> list[str]:
        if str(self.device) != "cuda":
            return [str(self.device)] * self.n
        return [f"cuda:{i % torch.cuda.device_count()}" for i in range(self.n)]


def search_run(
    experiment: Experiment,
    out: Path,
    *,
    budget: Budget,
    workers: Workers,
    graph: AnyGraph | None = None,
    resume: bool = False,
    reuse: Sequence[Path] = (),
    on_change: OnChange | None = None,
) -> Result:
    """Search in a run folder and return the result.

    `out` does not exist yet, or is with `resume` the folder of the same search, which has spent
    some of the budget before. Trials of the searches `reuse` on the same data with the same
    settings are not repeated; who resumes need not say them again. The graph is read from the
    experiment's source where none is given.
    """
    plan = experiment.plan
    assert plan is not None, "it is the experiment of a search"
    run = find_run(out, experiment, workers.device, resume=resume)
    strategy = build_strategy(experiment)
    judge = Judge(experiment, workers.device, graph)
    refuse_unused_together(plan, judge, workers)
    facts = facts_of(judge.task.graph, judge.paths)
    reused: dict[Architecture, Trial] = {}
    for path in reuse:
        trials = read_trials(path, experiment, facts, workers.device)
        reused |= known_trials(trials, source=str(path))
    with writing(run, out, experiment, judge.task.graph, facts, workers.device) as opened:
        opened.journal.append("budget", trials=budget.trials, seconds=budget.seconds)
        loop = SearchLoop(
            strategy,
            opened.journal,
            budget,
            prune=plan.prune,
            known=note_known(opened, reused),
            tuned=tuned_architecture(experiment),
            on_change=on_change,
        )
        engine: Engine = ThisProcess(judge.do, plan.together or 1)
        if workers.n > 1:
            told = {"run": str(opened.folder.path)}
            engine = LocalProcesses(build_workbench, told, workers.devices(), budget.trials)
        with closing(engine):
            loop.run(engine)
        return finish(opened, experiment, loop, strategy)


def refuse_unused_together(plan: SearchPlan, judge: Judge, workers: Workers) -> None:
    """Raise where trials are to be trained together that cannot be."""
    if plan.together is None or plan.together == 1:
        return
    if workers.n > 1:
        raise SettingsError(
            f"{plan.together} trials were to be trained together and by {workers.n} workers, but "
            "one program of several trials runs in one process. Give `together` or `workers`."
        )
    if not judge.can_train_together():
        raise SettingsError(
            f"{plan.together} trials were to be trained together, but only small link prediction "
            "with the full softmax can be. Leave `together` out."
        )


def build_strategy(experiment: Experiment) -> SearchStrategy:
    """Return the strategy of a search, with nothing learnt."""
    assert experiment.plan is not None
    strategy, known = _build_named(experiment, experiment.plan), experiment.plan.known
    return KnownFirst(known, strategy) if known else strategy


def _build_named(experiment: Experiment, plan: SearchPlan) -> SearchStrategy:
    space, seed = plan.space, experiment.seed
    match plan.strategy:
        case StrategyName.HYBRID:
            k_1, k_2 = plan.macro_updates or 1, plan.micro_epochs or 0
            return HybridSearch(space, seed, n_macro_updates=k_1, n_micro_epochs=k_2)
        case StrategyName.RANDOM:
            macro = None if plan.macro is None else from_code_text(plan.macro).macro
            return RandomSearch(space, seed, macro=macro)
        case StrategyName.REINFORCE:
            return ReinforceSearch(space, seed)
        case StrategyName.BAYES:
            return BayesSearch(space, seed)
        case StrategyName.DARTS:
            return DartsSearch(space, plan.supernet_epochs or SUPERNET_EPOCHS)
        case StrategyName.ONE_SHOT:
            return OneShotSearch(space, plan.supernet_epochs or SUPERNET_EPOCHS)
        case StrategyName.TUNE:
            tuned, settings = read_architecture(experiment.architecture), experiment.settings
            return Tuning(tuned, settings, seed, with_dim=plan.with_dim, kept=plan.keep)
        case _:
            assert_never(plan.strategy)


def note_known(opened: OpenRun, reused: Mapping[Architecture, Trial]) -> dict[Architecture, Trial]:
    """Return the trials that need not be repeated; the journal keeps them, for who resumes."""
    known: dict[Architecture, Trial] = {}
    for event in opened.folder.read_events():
        if event["event"] == "known":
            trials = read_known(event, opened.folder.journal_file)
            known |= {trial.network: trial for trial in trials}
    new = [trial for network, trial in reused.items() if network not in known]
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
    return [trial for trial in trials_of(run).ended if not trial.settings]


def finish(
    opened: OpenRun, experiment: Experiment, loop: SearchLoop, strategy: SearchStrategy
) -> Result:
    """Store what was found."""
    trials, best = loop.trials, loop.trials.best
    if best is None:
        raise TrainingError(
            f"none of {len(trials.ended)} trials has a score "
            f"({next(iter(loop.failures), 'the time was over before the first had one')}). "
            "Give more time, or other settings, and resume."
        )
    assert experiment.plan is not None
    answer = strategy.answer()
    results = [trial.result for trial in trials.trained]
    result: Result = {
        "best": best.describe(),
        "answer": None if answer is None else describe_answer(answer, trials),
        "trials": len(results),
        "distinct_trained": len({trial.network for trial in trials.trained}),
        "reused": len(trials.ended) - len(results),
        "failed": sum(result.failure is not None for result in results),
        "stopped_early": sum(result.stopped is not None for result in results),
        "shared_rounds": loop.n_shared,
        "seconds": round(loop.seconds, 3),
        "strategy": str(experiment.plan.strategy),
        "seed": experiment.seed,
    }
    return opened.finish(result, trials=result["trials"], best=best.number)


def describe_answer(answer: Architecture, trials: Trials) -> dict[str, Any]:
    """Return what the strategy believes to be the best, with its score where it was tried."""
    tried = trials.find(answer)
    return {
        "code": list(to_code(answer)),
        "canonical": list(to_code(canonical_form(answer))),
        "formula": to_formula(canonical_form(answer)),
        "score": None if tried is None else tried.score,
    }
