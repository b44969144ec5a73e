"""The judge: trains what was proposed, on one device, and says what came of it."""

import gc
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import torch

from interstellar.architecture.architecture import Architecture
from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.device import find_device, is_out_of_memory
from interstellar.engine.engine import OnProgress, Plain, Workbench, ignore
from interstellar.errors import SettingsError, TrainingError
from interstellar.model.path_network import PathNetwork
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.randomness import spawn
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.search_plan import SharedScore
from interstellar.runs.training_run import load_data
from interstellar.searching.supernet import Reading, Supernet, run_relaxed, run_shared_round
from interstellar.searching.trial import Proposal, Stop, SupernetRound, TrialResult
from interstellar.searching.trials import should_prune
from interstellar.tasks.splits import Split, require_validation
from interstellar.tasks.task import Task, build_network, network_size, task_for
from interstellar.training.group_training import can_train_together, train_together
from interstellar.training.loop import EarlyStopping, Progress, SilentObserver, Training
from interstellar.training.ready_step import uses_mixed_precision
from interstellar.training.settings import Metric, TrainingSettings

SUPERNET_SHARE = 0.8
"""Of the time that is left, at most so much is a supernet's: its winner is to be trained yet."""


def build_workbench(told: Plain, device: str) -> Workbench:
    """Return the workbench of a worker, told the folder of a search that has begun."""
    run = RunFolder.open(Path(told["run"]))
    return Judge(read_experiment(run.experiment_file), find_device(device), load_graph(run)).do


@final
class Judge:
    """Holds a data set and its paths, and judges one proposal after the other on them."""

    def __init__(
        self, experiment: Experiment, device: torch.device, graph: AnyGraph | None = None
    ) -> None:
        """Sample the paths; the graph is read from the experiment's source where none is given."""
        assert experiment.plan is not None, "it is the experiment of a search"
        self.task: Task = task_for(graph or load_data(experiment))
        refuse_unsuitable(experiment, self.task, device)
        self.space = experiment.plan.space
        self.seed = experiment.seed
        self.settings = experiment.settings
        self.device = device
        self.paths: PathTable = sample_paths(
            WalkGraph.of(self.task.graph), self.settings.walk, seed=self.seed, device=device
        )
        self._shared_score = experiment.plan.shared_score
        self._path_tensor = torch.from_numpy(self.paths.array).to(device)

    def do(self, works: Sequence[Plain], on_progress: OnProgress = ignore) -> list[Plain]:
        """Do proposals as plain values, each with `seconds_left`; together where that is quicker.

        A proposal of several that come one after another finds the time spent by those before.
        """
        started = time.perf_counter()
        limits: list[float | None] = [work.get("seconds_left") for work in works]
        proposals = [Proposal.from_plain(work) for work in works]
        results: dict[int, TrialResult] = {}  # of those trained together, if there was room
        grouped = [p for p in proposals if p.architecture is not None and not p.changes]
        if len(grouped) > 1 and self.can_train_together():
            results = self._judge_together(grouped, limits[proposals.index(grouped[0])])
        for proposal, limit in zip(proposals, limits, strict=True):
            if proposal.number not in results:
                left = None if limit is None else limit - _since(started)
                results[proposal.number] = self.judge(proposal, left, on_progress)
        return [results[proposal.number].as_plain() for proposal in proposals]

    def judge(
        self,
        proposal: Proposal,
        seconds_left: float | None = None,
        on_progress: OnProgress = ignore,
    ) -> TrialResult:
        """Train what is proposed and return what came of it; memory is given back.

        After each epoch of a trial, `on_progress` is told how many it has had, and has at most.
        """
        try:
            if proposal.supernet is None:
                return self._train(proposal, seconds_left, on_progress)
            return self._train_supernet(proposal, proposal.supernet, seconds_left)
        finally:
            self._give_memory_back()

    def can_train_together(self) -> bool:
        """Return whether several trials gain from one batched program."""
        size = network_size(self.task, self.settings.dim)
        return can_train_together(self.settings, self.task.form, size)

    def _train(
        self, proposal: Proposal, seconds_left: float | None, on_progress: OnProgress
    ) -> TrialResult:
        """Train from scratch, and stop where it can no longer win or is out of time."""
        assert proposal.architecture is not None
        started = time.perf_counter()
        changes: dict[str, Any] = dict(proposal.changes)
        progress, stopped, failure = Progress(), None, None
        try:
            settings = replace(self.settings, **changes)
            network = self._network(proposal.architecture, settings)
            training = Training(
                network, self._path_tensor, settings, seed=self.seed, measure=self._measure
            )
            while not training.progress.is_over and stopped is None:
                training.run_epoch(SilentObserver())
                progress = training.progress
                on_progress(proposal.number, progress.n_epochs, settings.max_epochs)
                if seconds_left is not None and _since(started) > seconds_left:
                    stopped = Stop.TIME
                elif should_prune(_curve(progress, settings.metric), proposal.prune_below):
                    stopped = Stop.PRUNED
            if progress.is_over:  # a trial at its end was not stopped, however bad or late it is
                stopped = None
        except Exception as error:
            failure = _reason(error)
        return _result_of(progress, self.settings.metric, stopped, failure, _since(started))

    def _train_supernet(
        self, proposal: Proposal, asked: SupernetRound, seconds_left: float | None
    ) -> TrialResult:
        """Learn from a supernet; a round of hybrid search that is out of time is left undone."""
        started, is_round = time.perf_counter(), asked.macro is not None
        limit = _TimeLimit(seconds_left, share=1.0 if is_round else SUPERNET_SHARE)
        try:
            supernet = self._build_supernet(proposal.number, asked)
            if asked.controller is None:
                weights = run_relaxed(supernet, n_epochs=asked.n_epochs, is_over=limit.is_over)
                return TrialResult(weights=weights, seconds=_since(started))
            learnt = run_shared_round(
                supernet,
                asked.controller,
                n_epochs=asked.n_epochs,
                rng=spawn(self.seed, f"shared round {proposal.number}"),
                is_over=limit.is_over,
            )
        except Exception as error:
            return TrialResult(failure=_reason(error), seconds=_since(started))
        if is_round and limit.was_over:
            return TrialResult(stopped=Stop.TIME, seconds=_since(started))
        return TrialResult(controller=learnt, seconds=_since(started))

    def _build_supernet(self, number: int, asked: SupernetRound) -> Supernet:
        reading = Reading.MRR if self._shared_score is SharedScore.MRR else Reading.LOSS
        return Supernet(
            self.task,
            self.space,
            asked.macro,
            self.settings,
            self._path_tensor,
            seed=self.seed,
            round_number=number,
            reading=Reading.GRADIENT if asked.controller is None else reading,
        )

    def _judge_together(
        self, proposals: Sequence[Proposal], seconds_left: float | None
    ) -> dict[int, TrialResult]:
        started = time.perf_counter()
        reasons: dict[int, Stop] = {}

        def should_stop(k: int, curve: list[float]) -> bool:
            if _has_lost_patience(curve, self.settings.patience):
                return True  # it has come to its end by itself
            if seconds_left is not None and _since(started) > seconds_left:
                reasons[k] = Stop.TIME
            elif should_prune(curve, proposals[k].prune_below):
                reasons[k] = Stop.PRUNED
            return k in reasons

        try:
            members = train_together(
                [p.architecture for p in proposals if p.architecture is not None],
                self._path_tensor,
                self.settings,
                build=lambda architecture: self._network(architecture, self.settings),
                seed=self.seed,
                measure=self._measure,
                should_stop=should_stop,
            )
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                return {}
            raise
        finally:
            self._give_memory_back()
        seconds = round(_since(started) / len(proposals), 3)
        results = {}
        for k, (proposal, member) in enumerate(zip(proposals, members, strict=True)):
            is_cut = member.failure is None and member.n_epochs < self.settings.max_epochs
            results[proposal.number] = TrialResult(
                score=member.score,
                valid=member.valid,
                curve=member.curve,
                best_epoch=member.best_epoch,
                epochs=member.n_epochs,
                stopped=reasons.get(k) if is_cut else None,
                failure=member.failure,
                seconds=seconds,
            )
        return results

    def _network(self, architecture: Architecture, settings: TrainingSettings) -> PathNetwork:
        return build_network(self.task, architecture, dim=settings.dim, dropout=settings.dropout)

    def _measure(self, network: PathNetwork) -> dict[str, float]:
        return self.task.measure(network, Split.VALID).as_dict()

    def _give_memory_back(self) -> None:
        if self.device.type == "cuda":
            gc.collect()
            torch.cuda.empty_cache()


def refuse_unsuitable(experiment: Experiment, task: Task, device: torch.device) -> None:
    """Raise for what no trial could be trained with, before any is."""
    uses_mixed_precision(experiment.settings.precision, device)
    require_validation(task.graph)
    has_answers = isinstance(task.graph, KnowledgeGraph) and task.graph.answers is not None
    if experiment.settings.metric is Metric.AUC_PR and not has_answers:
        raise SettingsError(
            "metric is auc_pr, but only Countries and geography have the lists of answers that "
            "it needs. Choose mrr or hits@1."
        )
    is_ranked = experiment.plan is not None and experiment.plan.shared_score is SharedScore.MRR
    if is_ranked and not isinstance(task.graph, KnowledgeGraph):
        raise SettingsError(
            "shared_score is mrr, but the metric of an alignment does not see the architecture: "
            "entities are compared by their embeddings alone. Leave it out, for the loss."
        )


@final
class _TimeLimit:
    """Says whether a supernet has used up its share of the time that is left."""

    def __init__(self, seconds_left: float | None, share: float) -> None:
        self.was_over = False
        """Whether it has ever said so."""
        self._end = None if seconds_left is None else time.perf_counter() + share * seconds_left

    def is_over(self) -> bool:
        self.was_over = self._end is not None and time.perf_counter() > self._end
        return self.was_over


def _curve(progress: Progress, metric: Metric) -> list[float]:
    return [report.valid[metric] for report in progress.reports if report.valid is not None]


def _result_of(
    progress: Progress, metric: Metric, stopped: Stop | None, failure: str | None, seconds: float
) -> TrialResult:
    """Return what a training has come to; one that failed has no score."""
    reports = () if failure is not None else progress.reports
    best = next((r for r in reversed(reports) if r.is_best and r.valid is not None), None)
    valid = {} if best is None or best.valid is None else best.valid
    return TrialResult(
        score=valid.get(metric),
        valid=valid,
        curve=_curve(progress, metric),
        best_epoch=0 if best is None else best.epoch,
        epochs=progress.n_epochs,
        stopped=stopped,
        failure=failure,
        seconds=seconds,
    )


def _has_lost_patience(curve: Sequence[float], patience: int) -> bool:
    stopping = EarlyStopping(patience)
    for k, score in enumerate(curve):
        stopping.observe(k, score)
    return stopping.is_over


def _reason(error: Exception) -> str:
    """Return why a trial failed; what is no fault of the trial is raised again."""
    if isinstance(error, TrainingError) or is_out_of_memory(error):
        return str(error)
    raise error


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)
