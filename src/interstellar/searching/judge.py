"""The judge: trains what was proposed, on one device, and says what came of it."""

import gc
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from interstellar.data.graph import AnyGraph, KnowledgeGraph
from interstellar.device import find_device, is_out_of_memory
from interstellar.engine.engine import OnProgress, Plain, Workbench, ignore
from interstellar.errors import DataError, InterstellarError, SettingsError, TrainingError
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_settings import WalkSettings
from interstellar.randomness import spawn
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.network import Network
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.kept_graph import load_graph
from interstellar.runs.search_plan import SharedScore
from interstellar.runs.training_run import checkpoint_of, load_data
from interstellar.searching.rungs import REDUCTION, Rungs
from interstellar.searching.search_journal import tuned_architecture
from interstellar.searching.supernet import Reading, Supernet, run_relaxed, run_shared_round
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.time_limits import TimeLimit, Watch
from interstellar.searching.trial import Proposal, Stop, TrialResult
from interstellar.tasks.splits import Split, require_validation
from interstellar.tasks.task import Task, network_for, rows_of, task_for
from interstellar.training.checkpoints import Checkpoint, load_checkpoint, write_checkpoint
from interstellar.training.loop import Progress, Training
from interstellar.training.ready_step import uses_mixed_precision
from interstellar.training.settings import Metric
from interstellar.training.settings_changes import replace_settings

TRIALS = "trials"
"""The folder, within that of a search, where its trials leave off."""
SUPERNET_SHARE = 0.8
"""Of the time that is left, at most so much is a supernet's: its winner is to be trained yet."""
WRITTEN_BYTES = 200e6
"""A second: to fetch, hash and write a checkpoint, and to read it again."""
MOST_IDLE = 0.1
"""Of a card's memory may stay with a worker between two trials."""


def build_workbench(told: Plain, device: str) -> Workbench:
    """Return the workbench of a worker, told the folder of a search that has begun."""
    run = RunFolder.open(Path(told["run"]))
    experiment, graph = read_experiment(run.experiment_file), load_graph(run)
    return Judge(experiment, find_device(device), graph, checkpoints=run.path / TRIALS).do


@final
class Judge:
    """Holds a data set and its paths, and judges one proposal after the other on them."""

    def __init__(
        self,
        experiment: Experiment,
        device: torch.device,
        graph: AnyGraph | None = None,
        *,
        checkpoints: Path | None = None,
    ) -> None:
        """Sample the paths; the graph is read from the experiment's source where none is given.

        Trials that stop before their end go on from the folder `checkpoints`, if there is one.
        """
        assert experiment.plan is not None, "it is the experiment of a search"
        graph = graph or load_data(experiment)
        self.task: Task = task_for(graph, experiment.settings.measured)
        refuse_unsuitable(experiment, self.task, device)
        self.space = experiment.plan.space
        self.seed = experiment.seed
        self.settings = experiment.settings
        self.device = device
        self.paths: PathTable = self._sample_paths(self.settings.walk, self.seed)
        self._checkpoints = checkpoints
        self._first_rung = Rungs.of(self.settings, prune=experiment.plan.prune).first
        self._shared_score = experiment.plan.shared_score
        self._tuned = tuned_architecture(experiment)
        self._path_tensor = self._rows_of(self.paths)

    def do(self, work: Plain, on_progress: OnProgress = ignore) -> Plain:
        """Do a proposal as plain values, with `seconds_left`, and return its result likewise."""
        result = self.judge(Proposal.from_plain(work), work.get("seconds_left"), on_progress)
        return result.as_plain()

    def judge(
        self,
        proposal: Proposal,
        seconds_left: float | None = None,
        on_progress: OnProgress = ignore,
    ) -> TrialResult:
        """Train what is proposed and return what came of it; memory is given back.

        Meanwhile `on_progress` is told how many epochs a trial has had, and has at most.
        """
        try:
            if proposal.supernet is None:
                return self._train(proposal, Watch(proposal.number, seconds_left, on_progress))
            return self._train_supernet(proposal, proposal.supernet, seconds_left)
        finally:
            self._give_memory_back()

    def _train(self, proposal: Proposal, watch: "Watch") -> TrialResult:
        """Train until the next rung or the end, unless the time is over before."""
        started, seconds_before = time.perf_counter(), 0.0
        stopped, failure, progress = None, None, Progress()
        try:
            training = self._begin(proposal)
            progress, seconds_before = training.progress, training.progress.seconds
            while not (progress.is_over or stopped or progress.n_epochs == proposal.epochs):
                stopped = watch.run_epoch(training)
                progress = training.progress
            if progress.is_over:  # a trial at its end was not stopped, however late it is
                stopped = None
            elif progress.n_epochs == proposal.epochs:
                stopped = Stop.RUNG
            self._leave_off(proposal, training)
        except Exception as error:
            failure = _reason(error)
        seconds = round(seconds_before + _since(started), 3)
        return _result_of(progress, self.settings.metric, stopped, failure, seconds)

    def _begin(self, proposal: Proposal) -> Training:
        """Return a trial where it left off, or from the start."""
        assert proposal.architecture is not None
        settings = replace_settings(self.settings, proposal.changes)
        network = network_for(self.task, proposal.architecture, settings)
        paths, seed = self._path_tensor, self.seed if proposal.seed is None else proposal.seed
        if (seed, settings.walk) != (self.seed, self.settings.walk):
            paths = self._rows_of(self._sample_paths(settings.walk, seed))
        training = Training(network, paths, settings, seed=seed, measure=self._measure)
        checkpoint = self._find_checkpoint(proposal)
        if checkpoint is not None:
            training.resume(checkpoint.tensors, Progress.from_dict(checkpoint.metadata))
        return training

    def _find_checkpoint(self, proposal: Proposal) -> Checkpoint | None:
        """Return where a trial left off, if that is whole and not further than it is to go.

        The latter is so where a search was killed after the checkpoint and before the journal.
        """
        if self._checkpoints is None:
            return None
        try:
            found = load_checkpoint(checkpoint_file(self._checkpoints, proposal.number))
        except DataError:
            return None
        is_of_it = found.metadata.get("trial") == _text_of(proposal)
        is_too_far = found.epoch > (proposal.epochs or self.settings.max_epochs)
        return without_trial(found) if is_of_it and not is_too_far else None

    def _leave_off(self, proposal: Proposal, training: Training) -> None:
        """Write down where a trial stands; it is just trained again where there is no room."""
        if self._checkpoints is None or training.progress.n_epochs == 0:
            return
        if proposal.epochs == self._first_rung and not is_worth_writing(training):
            return
        state = checkpoint_of(training)
        state = replace(state, metadata={**state.metadata, "trial": _text_of(proposal)})
        with suppress(OSError, InterstellarError):
            self._checkpoints.mkdir(exist_ok=True)
            write_checkpoint(checkpoint_file(self._checkpoints, proposal.number), state)

    def _rows_of(self, paths: PathTable) -> Tensor:
        """Return what is learnt, a row at a time, on the device."""
        tuned = self._tuned
        rows = paths.array if tuned is None else rows_of(self.task, tuned, paths)
        return torch.from_numpy(rows).to(self.device)

    def _sample_paths(self, walk: WalkSettings, seed: int) -> PathTable:
        return sample_paths(WalkGraph.of(self.task.graph), walk, seed=seed, device=self.device)

    def _train_supernet(
        self, proposal: Proposal, asked: SupernetRound, seconds_left: float | None
    ) -> TrialResult:
        """Learn from a supernet; a round of hybrid search that is out of time is left undone."""
        started, is_round = time.perf_counter(), asked.macro is not None
        limit = TimeLimit(seconds_left, share=1.0 if is_round else SUPERNET_SHARE)
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

    def _measure(self, network: Network) -> dict[str, float]:
        return self.task.measure(network, Split.VALID).as_dict()

    def _give_memory_back(self) -> None:
        """Let go of what a trial has left on a card, once it is much: to look for it takes long."""
        if self.device.type != "cuda":
            return
        free, total = torch.cuda.mem_get_info(self.device)
        if torch.cuda.memory_reserved(self.device) > MOST_IDLE * total or free < MOST_IDLE * total:
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


def is_worth_writing(training: Training) -> bool:
    """Return whether to train again, if need be, would take longer than to write it all down.

    One of so many goes on from its first rung; large tables take longer to write than to train.
    """
    n_bytes = sum(tensor.nbytes for tensor in training.saved_tensors().values())
    is_dear = training.progress.seconds / REDUCTION > n_bytes / WRITTEN_BYTES
    return is_dear or training.progress.is_over


def checkpoint_file(folder: Path, number: int) -> Path:
    """Return where the trial of a number leaves off."""
    return folder / f"{number}.safetensors"


def without_trial(checkpoint: Checkpoint) -> Checkpoint:
    """Return a trial's checkpoint as that of any training."""
    progress = {name: v for name, v in checkpoint.metadata.items() if name != "trial"}
    return replace(checkpoint, metadata=progress)


def _text_of(proposal: Proposal) -> str:
    """Return what the checkpoint of a trial is recognised by."""
    return repr({**proposal.as_plain(), "epochs": None})


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


def _reason(error: Exception) -> str:
    """Return why a trial failed; what is no fault of the trial is raised again."""
    if isinstance(error, TrainingError) or is_out_of_memory(error):
        return str(error)
    raise error


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)
