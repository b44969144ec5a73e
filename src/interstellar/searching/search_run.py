"""A search with a folder on disk: it can be killed at any moment and goes on where it was."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import name_of
from interstellar.architecture.notation import (
    from_code_text,
    read_architecture,
    to_code,
    to_formula,
)
from interstellar.data.graph import AnyGraph
from interstellar.engine.engine import Engine, Plain
from interstellar.engine.local_processes import LocalProcesses
from interstellar.engine.this_process import ThisProcess
from interstellar.errors import SettingsError, TrainingError
from interstellar.records.environment import describe_environment
from interstellar.records.journal import Journal
from interstellar.records.run_folder import RunFolder, refuse_existing
from interstellar.searching.bayes import BayesSearch
from interstellar.searching.budget import Budget
from interstellar.searching.darts import DartsSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.journal_events import (
    read_ended,
    read_known,
    read_number,
    read_proposed,
)
from interstellar.searching.judge import Judge, build_workbench
from interstellar.searching.known_first import KnownFirst
from interstellar.searching.one_shot import OneShotSearch
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.search_experiment import (
    SearchExperiment,
    StrategyName,
    parse_search,
    search_text,
)
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.strategy import (
    FromScratch,
    Proposal,
    SearchStrategy,
    WithSettings,
)
from interstellar.searching.trials import Trial, build_trial, known_scores, trial_to_plain
from interstellar.searching.tuning import Tuning
from interstellar.tasks.kept_graph import save_graph
from interstellar.tasks.training_run import (
    Result,
    facts_of,
    first_difference,
    name_device,
    refuse_other_data,
)
from interstellar.training.experiment import settings_tables
from interstellar.training.toml_tables import toml_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where trials run."""

    device: torch.device
    n: int = 1
    """Processes; 1: this one. On CUDA they are spread over the cards, on the CPU over the cores."""

    def devices(self) -> list[str]:
        """Return the device of each process."""
        if str(self.device) != "cuda":
            return [str(self.device)] * self.n
        return [f"cuda:{i % torch.cuda.device_count()}" for i in range(self.n)]


def search_run(
    search: SearchExperiment,
    out: Path,
    *,
    budget: Budget,
    workers: Workers,
    graph: AnyGraph | None = None,
    is_resumed: bool = False,
    reuse: Sequence[Path] = (),
    on_change: OnChange | None = None,
) -> Result:
    """Search in a run folder and return the result.

    Args:
        search: What to search.
        out: A folder that does not exist yet, or with `is_resumed` the folder of the same search.
        budget: What may be spent in all; a search that was resumed has spent some of it before.
        workers: Where trials run.
        graph: The data of the experiment, if it is read already.
        is_resumed: Whether to go on with a search.
        reuse: Folders of other searches on the same data with the same settings, whose trials
            need not be repeated; who resumes need not say them again.
        on_change: Is called whenever a trial begins or ends.
    """
    if not is_resumed:
        refuse_existing(out)
    run = find_search(search, out, workers.device) if is_resumed else None
    strategy = build_strategy(search)
    judge = Judge(search, workers.device, graph)
    refuse_unused_together(search, judge, workers)
    facts = facts_of(judge.task.graph, judge.paths)
    reused: dict[Architecture, Trial] = {}
    for path in reuse:
        trials = read_trials(path, search, facts, workers.device)
        reused |= known_scores(trials, source=str(path))
    if run is None:
        environment = describe_environment(name_device(workers.device))
        run = RunFolder.create(out, experiment=search_text(search), environment=environment)
    with run.writing() as journal:
        begin(run, journal, judge.task.graph, facts)
        known = note_known(run, journal, reused)
        loop = SearchLoop(
            strategy,
            journal,
            budget,
            is_faithful=search.plan.is_faithful,
            known=known,
            tuned=tuned_architecture(search),
            on_change=on_change,
        )
        engine = build_engine(run, judge, workers, n_together=search.plan.n_together)
        try:
            loop.run(engine)
        finally:
            engine.close()
        return finish(run, journal, search, loop, strategy)


def refuse_unused_together(search: SearchExperiment, judge: Judge, workers: Workers) -> None:
    """Raise where trials are to be trained together that cannot be."""
    n_together = search.plan.n_together
    if n_together == 1:
        return
    if workers.n > 1:
        raise SettingsError(
            f"{n_together} trials were to be trained together and by {workers.n} workers, but one "
            "program of several trials runs in one process. Give --together or --workers."
        )
    if not judge.can_train_together():
        raise SettingsError(
            f"{n_together} trials were to be trained together, but only small link prediction with "
            "the full softmax can be. Leave --together out."
        )


def build_strategy(search: SearchExperiment) -> SearchStrategy:
    """Return the strategy of a plan, with nothing learnt."""
    strategy, known = build_named_strategy(search), search.plan.known
    return KnownFirst(known, strategy) if known else strategy


def build_named_strategy(search: SearchExperiment) -> SearchStrategy:
    """Return the strategy that a plan names."""
    plan, seed = search.plan, search.experiment.seed
    space = plan.space
    match plan.strategy:
        case StrategyName.HYBRID:
            return HybridSearch(
                space,
                seed,
                n_macro_updates=plan.macro_updates,
                n_micro_epochs=plan.micro_epochs,
            )
        case StrategyName.RANDOM:
            macro = None if plan.macro is None else from_code_text(plan.macro).macro
            return RandomSearch(space, seed, macro=macro)
        case StrategyName.REINFORCE:
            return ReinforceSearch(space, seed)
        case StrategyName.BAYES:
            return BayesSearch(space, seed)
        case StrategyName.DARTS:
            return DartsSearch(space, plan.supernet_epochs)
        case StrategyName.ONE_SHOT:
            return OneShotSearch(space, plan.supernet_epochs)
        case StrategyName.TUNE:
            settings = search.experiment.settings
            return Tuning(settings, seed, with_dim=plan.with_dim, kept=plan.kept)
        case _:
            assert_never(plan.strategy)


def tuned_architecture(search: SearchExperiment) -> Architecture | None:
    """Return the architecture of a tuning."""
    is_tuning = search.plan.strategy is StrategyName.TUNE
    return read_architecture(search.experiment.architecture) if is_tuning else None


def build_engine(run: RunFolder, judge: Judge, workers: Workers, *, n_together: int) -> Engine:
    """Return this process with the judge there is, or so many others."""
    if workers.n == 1:
        return ThisProcess(judge.do, n_together)
    return LocalProcesses(build_workbench, {"run": str(run.path)}, workers.devices())


def find_search(search: SearchExperiment, out: Path, device: torch.device) -> RunFolder | None:
    """Return the search to go on with, if there is one; refuse another's."""
    if not out.exists():
        return None
    run = RunFolder.open(out)
    before = run.experiment_file.read_text(encoding="utf-8")
    if parse_search(before, str(run.experiment_file)) != search:
        raise SettingsError(
            f"{out} is another search: {first_difference(before, search_text(search))}. "
            "Resume it with what it was begun with, or choose a new --out."
        )
    begun_on = run.read_environment().get("device")
    if begun_on != name_device(device):
        raise SettingsError(
            f"{out} was begun on {begun_on}, and this is {name_device(device)}. Their scores "
            "differ in rounding, so a search stays on one kind of device: give --device."
        )
    return run


def begin(run: RunFolder, journal: Journal, graph: AnyGraph, facts: Plain) -> None:
    """Note the start and keep the graph, or note that the search goes on with the same data."""
    started = [event for event in run.read_events() if event["event"] == "started"]
    if started:
        refuse_other_data(run, started[0], facts)
        if journal.cut:
            logger.warning("%s: the last line was cut and has been taken out.", journal.path)
        journal.append("resumed", repaired=journal.cut.decode(errors="replace")[:200] or None)
    else:
        save_graph(run, graph)
        journal.append("started", **facts)


def note_known(
    run: RunFolder, journal: Journal, reused: Mapping[Architecture, Trial]
) -> dict[Architecture, Trial]:
    """Return the trials that need not be repeated; the journal keeps them, for who resumes."""
    known: dict[Architecture, Trial] = {}
    for event in run.read_events():
        if event["event"] == "known":
            known |= {trial.network: trial for trial in read_known(event, run.journal_file)}
    new = [trial for network, trial in reused.items() if network not in known]
    if new:
        journal.append("known", trials=[trial_to_plain(trial) for trial in new])
    return {**reused, **known}


def read_trials(
    path: Path, search: SearchExperiment, facts: Plain, device: torch.device
) -> list[Trial]:
    """Return the trials of another search whose scores hold for this one too."""
    run = RunFolder.open(path)
    begun_on = run.read_environment().get("device")
    if begun_on != name_device(device):
        raise SettingsError(
            f"{path} cannot be reused: it was begun on {begun_on}, and this is "
            f"{name_device(device)}. Their scores differ in rounding. Leave that --reuse out."
        )
    other = parse_search(run.experiment_file.read_text(encoding="utf-8"), str(run.experiment_file))
    theirs, ours = (
        toml_text({"seed": e.seed, **settings_tables(e.settings)})
        for e in (other.experiment, search.experiment)
    )
    if theirs != ours:
        raise SettingsError(
            f"{path} cannot be reused: {first_difference(theirs, ours)}. Scores hold only under "
            "the same seed and settings. Leave that --reuse out."
        )
    for event in run.read_events():
        if event["event"] == "started":
            refuse_other_data(run, event, facts)
    return [trial for trial in list_trials(run) if not trial.changes]


def list_trials(run: RunFolder) -> Iterator[Trial]:
    """Yield every trial of a search or a tuning that has ended, in the order of their ends."""
    text = run.experiment_file.read_text(encoding="utf-8")
    tuned = tuned_architecture(parse_search(text, str(run.experiment_file)))
    journal, under_way = run.journal_file, dict[int, Proposal]()
    for event in run.read_events():
        if event["event"] == "proposed":
            proposal = read_proposed(event, journal)
            under_way[proposal.number] = proposal
        elif event["event"] == "ended":
            proposal = under_way.pop(read_number(event, under_way, journal))
            earned = read_ended(event, proposal, journal)
            kinds = FromScratch if tuned is None else WithSettings
            if isinstance(proposal, kinds):
                reused = None if event.get("reused") is None else str(event["reused"])
                yield build_trial(proposal, earned, tuned=tuned, reused=reused)


def finish(
    run: RunFolder,
    journal: Journal,
    search: SearchExperiment,
    loop: SearchLoop,
    strategy: SearchStrategy,
) -> Result:
    """Store what was found."""
    trials, best = loop.trials, loop.trials.best
    if best is None:
        raise TrainingError(
            f"none of {len(trials.ended)} trials has a score "
            f"({next(iter(loop.failures), 'the time was over before the first had one')}). "
            "Give more time, or other settings, and go on with --resume."
        )
    answer = strategy.answer()
    result: Result = {
        "best": describe_trial(best),
        "answer": None if answer is None else describe_answer(answer, loop),
        "trials": len(trials.trained),
        "distinct_trained": len({t.network for t in trials.trained}),
        "reused": sum(t.reused is not None for t in trials.ended),
        "failed": sum(t.earned.failure is not None for t in trials.trained),
        "stopped_early": sum(t.earned.stopped is not None for t in trials.trained),
        "shared_rounds": loop.n_shared,
        "seconds": round(loop.seconds, 3),
        "strategy": str(search.plan.strategy),
        "seed": search.experiment.seed,
    }
    journal.append("finished", trials=result["trials"], best=result["best"]["proposal"])
    run.write_result(result)
    return run.read_result()


def describe_trial(trial: Trial) -> Plain:
    """Return a trial in every notation a reader may want."""
    found: Plain = {
        "code": to_code(trial.architecture),
        "canonical": to_code(trial.network),
        "name": name_of(trial.architecture),
        "formula": to_formula(trial.network),
        "valid": trial.earned.valid,
        "score": trial.earned.score,
        "best_epoch": trial.earned.best_epoch,
        "proposal": trial.number,
    }
    return found | {"settings": trial.changes} if trial.changes else found


def describe_answer(answer: Architecture, loop: SearchLoop) -> Plain:
    """Return what the strategy believes to be the best, with its score where it was tried."""
    tried = loop.trials.find(answer)
    return {
        "code": to_code(answer),
        "canonical": to_code(canonical_form(answer)),
        "formula": to_formula(canonical_form(answer)),
        "score": None if tried is None else tried.earned.score,
    }
