"""The judge: trains what was proposed, on one device, and says what it earned."""

import gc
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never, final

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import from_code_text, read_architecture
from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.device import find_device, is_out_of_memory
from interstellar.engine.engine import Plain, Workbench
from interstellar.errors import SettingsError, TrainingError
from interstellar.model.path_network import PathNetwork
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.randomness import spawn
from interstellar.records.run_folder import RunFolder
from interstellar.searching.hopeless import is_hopeless
from interstellar.searching.relaxation import run_relaxed
from interstellar.searching.search_experiment import (
    SearchExperiment,
    SearchPlan,
    SharedScore,
    parse_search,
)
from interstellar.searching.strategy import FromScratch, Relaxed, WithSettings, WithSharedWeights
from interstellar.searching.supernet import Reading, Supernet, run_shared_round
from interstellar.searching.works import Earned, Kind, from_plain
from interstellar.tasks.kept_graph import load_graph
from interstellar.tasks.prepared import load_data
from interstellar.tasks.splits import Split, require_validation
from interstellar.tasks.task import Task, build_network, network_size, task_for
from interstellar.training.early_stopping import EarlyStopping
from interstellar.training.group_training import GroupMember, can_train_together, train_together
from interstellar.training.loop import EpochReport, Training
from interstellar.training.ready_step import uses_mixed_precision
from interstellar.training.settings import Selection, TrainingSettings

SUPERNET_SHARE = 0.8
"""Of the time that is left, at most so much is a supernet's: its winner is to be trained yet."""


def build_workbench(told: Plain, device: str) -> Workbench:
    """Return the workbench of a worker, told the folder of a search that has begun."""
    run = RunFolder.open(Path(told["run"]))
    search = parse_search(run.experiment_file.read_text(encoding="utf-8"), str(run.experiment_file))
    return Judge(search, find_device(device), load_graph(run)).do


@final
class Judge:
    """Holds a data set and its paths, and judges one proposal after the other on them."""

    def __init__(
        self, search: SearchExperiment, device: torch.device, graph: AnyGraph | None = None
    ) -> None:
        """Sample the paths; the graph is read from the experiment's source where none is given."""
        experiment = search.experiment
        self.task: Task = task_for(graph or load_data(experiment))
        refuse_unsuitable(experiment.settings, self.task, device)
        refuse_ranked_alignment(search.plan, self.task)
        self.space = search.plan.space
        self.shared_score = search.plan.shared_score
        self.seed = experiment.seed
        self.settings = experiment.settings
        self.architecture_text = experiment.architecture
        self.device = device
        self.paths: PathTable = sample_paths(
            WalkGraph.of(self.task.graph), self.settings.walk, seed=self.seed, device=device
        )
        self._path_tensor = torch.from_numpy(self.paths.array).to(device)

    def do(self, works: Sequence[Plain]) -> list[Plain]:
        """Do pieces of work as `works.to_plain` writes them; together where that is quicker."""
        started = time.perf_counter()
        together = [work for work in works if work["kind"] == Kind.FROM_SCRATCH]
        if len(together) < 2 or not self.can_train_together():
            return [self._do_one(_with_time_left(work, started)) for work in works]
        try:
            earned = iter(self._judge_together(together))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self._give_memory_back()  # there may be room for one at a time
            return [self._do_one(_with_time_left(work, started)) for work in works]
        return [
            next(earned).as_plain()
            if work["kind"] == Kind.FROM_SCRATCH
            else self._do_one(_with_time_left(work, started))
            for work in works
        ]

    def can_train_together(self) -> bool:
        """Return whether several trials gain from one batched program."""
        size = network_size(self.task, self.settings.dim)
        return can_train_together(self.settings, self.task.form, size)

    def _do_one(self, work: Plain) -> Plain:
        try:
            proposal = from_plain(work)
            match proposal:
                case FromScratch():
                    return self._judge(proposal.architecture, self.settings, work).as_plain()
                case WithSettings():
                    changes: dict[str, Any] = dict(proposal.changes)
                    settings = replace(self.settings, **changes)
                    architecture = read_architecture(self.architecture_text)
                    return self._judge(architecture, settings, work).as_plain()
                case WithSharedWeights():
                    return self._share_weights(proposal, work.get("seconds_left"))
                case Relaxed():
                    return self._relax(proposal, _TimeLimit(work.get("seconds_left")))
                case _:
                    assert_never(proposal)
        finally:
            self._give_memory_back()

    def _judge(self, architecture: Architecture, settings: TrainingSettings, work: Plain) -> Earned:
        """Train from scratch, and stop where it is hopeless or out of time."""
        watcher = _Watcher(settings.selection, work.get("bar"), work.get("seconds_left"))
        failure = None
        try:
            training = Training(
                self._network(architecture, settings),
                self._path_tensor,
                settings,
                seed=self.seed,
                measure=self._measure,
            )
            while not training.progress.is_over and watcher.stopped is None:
                report = training.run_epoch(watcher)
                watcher.observe(report, is_last=training.progress.is_over)
        except Exception as error:
            failure = _reason(error)
        return watcher.earned(failure)

    def _share_weights(self, proposal: WithSharedWeights, seconds_left: float | None) -> Plain:
        """Move a controller; a round of hybrid search that is out of time is left undone."""
        started, is_round = time.perf_counter(), proposal.macro is not None
        limit = _TimeLimit(seconds_left, share=1.0 if is_round else SUPERNET_SHARE)
        try:
            learnt = run_shared_round(
                self._supernet(proposal),
                proposal.controller,
                n_epochs=proposal.n_epochs,
                rng=spawn(self.seed, f"shared round {proposal.number}"),
                is_over=limit.is_over,
            )
        except Exception as error:
            return {"failure": _reason(error)}
        if is_round and limit.was_over:
            return {"stopped": "time"}
        return {"controller": learnt.as_dict(), "seconds": _since(started)}

    def _relax(self, proposal: Relaxed, limit: "_TimeLimit") -> Plain:
        started = time.perf_counter()
        try:
            weights = run_relaxed(
                self._supernet(proposal), n_epochs=proposal.n_epochs, is_over=limit.is_over
            )
        except Exception as error:
            return {"failure": _reason(error)}
        return {"weights": [list(options) for options in weights], "seconds": _since(started)}

    def _supernet(self, proposal: WithSharedWeights | Relaxed) -> Supernet:
        by_score = {SharedScore.LOSS: Reading.LOSS, SharedScore.MRR: Reading.MRR}
        is_relaxed = isinstance(proposal, Relaxed)
        reading = Reading.GRADIENT if is_relaxed else by_score[self.shared_score]
        return Supernet(
            self.task,
            self.space,
            None if isinstance(proposal, Relaxed) else proposal.macro,
            self.settings,
            self._path_tensor,
            seed=self.seed,
            round_number=proposal.number,
            reading=reading,
        )

    def _judge_together(self, works: Sequence[Plain]) -> list[Earned]:
        started = time.perf_counter()
        reasons: dict[int, str] = {}

        def should_stop(k: int, curve: list[float]) -> bool:
            seconds_left = works[k].get("seconds_left")
            if _has_lost_patience(curve, self.settings.patience):
                return True  # it has come to its end by itself
            if seconds_left is not None and _since(started) > seconds_left:
                reasons[k] = "time"
            elif is_hopeless(curve, works[k].get("bar")):
                reasons[k] = "hopeless"
            return k in reasons

        members = train_together(
            [from_code_text(work["code"]) for work in works],
            self._path_tensor,
            self.settings,
            build=lambda architecture: self._network(architecture, self.settings),
            seed=self.seed,
            measure=self._measure,
            should_stop=should_stop,
        )
        self._give_memory_back()
        seconds = _since(started) / len(works)
        return [
            _earned_together(
                member,
                stopped=reasons.get(k) if member.n_epochs < self.settings.max_epochs else None,
                seconds=seconds,
            )
            for k, member in enumerate(members)
        ]

    def _network(self, architecture: Architecture, settings: TrainingSettings) -> PathNetwork:
        return build_network(self.task, architecture, dim=settings.dim, dropout=settings.dropout)

    def _measure(self, network: PathNetwork) -> dict[str, float]:
        return self.task.measure(network, Split.VALID).as_dict()

    def _give_memory_back(self) -> None:
        if self.device.type == "cuda":
            gc.collect()
            torch.cuda.empty_cache()


def refuse_unsuitable(settings: TrainingSettings, task: Task, device: torch.device) -> None:
    """Raise for settings with which no trial could be trained, before any is."""
    uses_mixed_precision(settings.precision, device)
    require_validation(task.graph)
    has_answers = isinstance(task.graph, KnowledgeGraph) and task.graph.answers is not None
    if settings.selection is Selection.AUC_PR and not has_answers:
        raise SettingsError(
            "selection is auc_pr, but only Countries and geography have the lists of answers that "
            "it needs. Choose mrr or hits@1."
        )


def refuse_ranked_alignment(plan: SearchPlan, task: Task) -> None:
    """Raise where architectures cannot be compared by rank."""
    if plan.shared_score is SharedScore.MRR and not isinstance(task.graph, KnowledgeGraph):
        raise SettingsError(
            "shared_score is mrr, but the metric of an alignment does not see the architecture: "
            "entities are compared by their embeddings alone. Leave it out, for the loss."
        )


@final
class _Watcher:
    """Watches the training of a trial, and says where it is hopeless or out of time."""

    def __init__(
        self, selection: Selection, bar: list[float] | None, seconds_left: float | None
    ) -> None:
        self.stopped: str | None = None
        """`hopeless` or `time`."""
        self._started = time.perf_counter()
        self._selection = selection
        self._bar = bar
        self._seconds_left = seconds_left
        self._curve: list[float] = []
        self._best: EpochReport | None = None
        self._n_epochs = 0

    def on_step(self, n_done: int, n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        pass

    def observe(self, report: EpochReport, *, is_last: bool) -> None:
        """Take note of an epoch; then `stopped` says whether, and why, there should be no more."""
        self._n_epochs = report.epoch
        if report.is_best:
            self._best = report
        if report.valid is not None:
            self._curve.append(report.valid[self._selection])
        if is_last:  # a trial at its end was not stopped, however bad or late it is
            return
        if report.valid is not None and is_hopeless(self._curve, self._bar):
            self.stopped = "hopeless"
        if self._seconds_left is not None and _since(self._started) > self._seconds_left:
            self.stopped = "time"

    def earned(self, failure: str | None) -> Earned:
        """Return what the trial has come to; one that failed has no score."""
        best = None if failure is not None else self._best
        return Earned(
            score=None if best is None or best.valid is None else best.valid[self._selection],
            valid={} if best is None or best.valid is None else best.valid,
            curve=self._curve,
            best_epoch=0 if best is None else best.epoch,
            epochs=self._n_epochs,
            stopped=self.stopped,
            failure=failure,
            seconds=_since(self._started),
        )


def _has_lost_patience(curve: Sequence[float], patience: int) -> bool:
    stopping = EarlyStopping(patience)
    for k, score in enumerate(curve):
        stopping.observe(k, score)
    return stopping.is_over


def _earned_together(member: GroupMember, *, stopped: str | None, seconds: float) -> Earned:
    return Earned(
        score=member.score,
        valid=member.valid,
        curve=member.curve,
        best_epoch=member.best_epoch,
        epochs=member.n_epochs,
        stopped=stopped if member.failure is None else None,
        failure=member.failure,
        seconds=round(seconds, 3),
    )


def _with_time_left(work: Plain, started: float) -> Plain:
    """Return a piece of work with the time that is left now, others having come first."""
    if work.get("seconds_left") is None:
        return work
    return {**work, "seconds_left": work["seconds_left"] - (time.perf_counter() - started)}


@final
class _TimeLimit:
    """Says whether a supernet has used up its share of the time that is left."""

    def __init__(self, seconds_left: float | None, share: float = SUPERNET_SHARE) -> None:
        self.was_over = False
        """Whether it has ever said so."""
        self._end = None if seconds_left is None else time.perf_counter() + share * seconds_left

    def is_over(self) -> bool:
        self.was_over = self._end is not None and time.perf_counter() > self._end
        return self.was_over


def _reason(error: Exception) -> str:
    """Return why a trial failed; what is no fault of the trial is raised again."""
    if isinstance(error, TrainingError) or is_out_of_memory(error):
        return str(error)
    raise error


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)
