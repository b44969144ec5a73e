"""Training with a folder on disk: it can be killed at any moment and goes on where it was.

Checkpoints hold the state after an epoch. Everything random in an epoch is drawn from the
seed and its number, so an epoch done again after a kill is the same epoch.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from interstellar.data.graph import AnyGraph
from interstellar.data.loading import load
from interstellar.device import is_out_of_memory
from interstellar.errors import SettingsError, TrainingError
from interstellar.evaluation.chunks import free_bytes
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.records.safe_files import replacing_file
from interstellar.rivals.notation import model_text, read_model
from interstellar.runs.experiment import Experiment
from interstellar.runs.kept_graph import graph_sha256
from interstellar.runs.run import (
    OpenRun,
    Result,
    facts_of,
    find_run,
    name_device,
    prolong,
    read_beginning,
    refuse_other_data,
    writing,
)
from interstellar.runs.team import gathered, refuse_processes, take_in
from interstellar.runs.trained_run import find_temperature
from interstellar.runs.training_result import read_training_result
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split, held_out, require_validation
from interstellar.tasks.task import (
    Task,
    network_for,
    rows_of,
    task_for,
)
from interstellar.training.checkpoints import (
    Checkpoint,
    load_checkpoint,
    load_latest,
    remove_checkpoints,
    save_checkpoint,
    write_checkpoint,
)
from interstellar.training.exchange import Exchange
from interstellar.training.loop import EpochReport, Observer, Progress, SilentObserver, Training
from interstellar.training.memory import refuse_too_large
from interstellar.training.settings import TrainingSettings
from interstellar.training.state import OneDevice
from interstellar.training.tensor_files import make_header, write_tensors

CHECKPOINT_SECONDS = 60.0
"""Checkpoints are written at most this often, and whenever a run is stopped before its end."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Everything that training needs, on one device, and what it took to get there."""

    experiment: Experiment
    task: Task
    paths: PathTable
    training: Training
    path_seconds: float


def train_run(
    experiment: Experiment,
    out: Path,
    *,
    device: torch.device,
    graph: AnyGraph | None = None,
    initial: Mapping[str, Tensor] | None = None,
    state: Checkpoint | None = None,
    resume: bool = False,
    processes: int = 1,
    observer: Observer | None = None,
) -> Result:
    """Train an experiment in a run folder and return its result.

    A finished run that is resumed with more epochs ends with the weights that so many epochs from
    the start would have given, but for one thing: what was the last epoch has been validated too.

    Args:
        experiment: What to train.
        out: A folder that does not exist yet, or with `resume` the folder of the same run.
        device: Where to train.
        graph: The data of the experiment, if it is read already.
        initial: Parameters by name that the network starts from, instead of a random draw. Who
            goes on gives them again. The best epoch is one that was trained.
        state: How far the very same training came elsewhere, to begin there.
        resume: Go on with a run, perhaps for more epochs; a finished one just gives its result.
        processes: So many of this machine train together (`runs/team.py`), each on a GPU if any.
        observer: Is told of each step and epoch.
    """
    experiment = spell_out(experiment)
    refuse_processes(processes, experiment.settings, device)
    run = find_run(out, experiment, device, resume=resume)
    graph = graph or load_data(experiment)
    if run is not None and run.is_finished and read_beginning(run, experiment) == experiment:
        refuse_other_data(run, {"graph_sha256": graph_sha256(graph)})
        return read_training_result(run, experiment)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with gathered(processes, experiment, device) as exchange:
        with advising_on_memory(experiment.settings):
            # Before a folder is made: it may refuse.
            prepared = prepare(experiment, graph, device, exchange)
        facts = facts_of(graph, prepared.paths)
        facts["initial_sha256"] = None if initial is None else parameters_sha256(initial)
        with writing(run, out, experiment, graph, facts, device) as opened:
            if initial is not None:  # also to go on: it may have been killed before a checkpoint
                prepared.training.begin_from(initial)
            if opened.is_resumed:
                take_up(opened, prepared)
            if state is not None and prepared.training.progress.n_epochs == 0:
                prepared.training.resume(state.tensors, Progress.from_dict(state.metadata))
                for report in prepared.training.progress.reports:
                    opened.journal.append("epoch", **asdict(report))
            if exchange is not None:
                opened.journal.append("processes", n=processes)
            checkpointer = Checkpointer(opened, prepared.training, observer or SilentObserver())
            with advising_on_memory(experiment.settings), checkpointer.saving_at_a_stop():
                prepared.training.run(checkpointer)
                return finish(opened, prepared, device)


def store_run(
    experiment: Experiment,
    out: Path,
    parameters: Mapping[str, Tensor],
    *,
    device: torch.device,
    graph: AnyGraph,
    epochs: int,
) -> Result:
    """Make a finished run of parameters that came about otherwise, and return its result."""
    run = find_run(out, experiment, device, resume=True)
    if run is not None and run.is_finished:
        return run.read_result()
    prepared = prepare(experiment, graph, device)
    with writing(run, out, experiment, graph, facts_of(graph, prepared.paths), device) as opened:
        opened.journal.append("stored", epochs=epochs)  # nothing is trained here
        prepared.training.begin_from(parameters)
        prepared.training.progress = Progress(n_epochs=epochs, is_over=True, best_epoch=epochs)
        return finish(opened, prepared, device)


def spell_out(experiment: Experiment) -> Experiment:
    """Return the experiment with its architecture as an 11-number code, a rival by its name."""
    network = read_model(experiment.architecture)
    return replace(experiment, architecture=model_text(network))


def load_data(experiment: Experiment) -> AnyGraph:
    """Read the data of an experiment."""
    if experiment.continued is not None:
        raise SettingsError(
            f"this experiment went on from {experiment.continued.run} with triplets that "
            f"{experiment.data} does not have, so it cannot be begun from there. "
            "Update that run instead."
        )
    return load(
        experiment.data,
        second=experiment.second,
        pairs=None if experiment.pairs is None else Path(experiment.pairs),
        split=experiment.split,
        seed=experiment.split_seed,
        columns=experiment.columns,
        labels=experiment.labels,
    )


@contextmanager
def advising_on_memory(settings: TrainingSettings) -> Iterator[None]:
    """Say what to do where the memory does not suffice for what is done inside."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        others = "of graph convolutions also the layers"
        if settings.rival is None:
            others = (
                "draw some wrong answers (`negatives`) in place of all entities, let several GPUs "
                "share the table (`processes`)"
            )
        raise TrainingError(
            f"the memory does not hold this training (dimension {settings.dim:,}, batches of "
            f"{settings.batch_size:,} paths). Lower the dimension or the batch size, {others}, or "
            "train on a machine with more memory."
        ) from error


def prepare(
    experiment: Experiment, graph: AnyGraph, device: torch.device, exchange: Exchange | None = None
) -> Prepared:
    """Sample the paths of an experiment and set up its network for training, perhaps by several."""
    require_validation(graph)
    settings = experiment.settings
    task = task_for(graph, settings.measured)
    if exchange is None:  # else each process holds a part
        refuse_too_large(len(graph.all_entities), settings, free_bytes(device))
    started = time.perf_counter()
    paths = sample_paths(WalkGraph.of(graph), settings.walk, seed=experiment.seed, device=device)
    path_seconds = time.perf_counter() - started
    architecture = read_model(experiment.architecture)
    network = network_for(task, architecture, settings)
    rows = torch.from_numpy(rows_of(task, architecture, paths)).to(device)
    training = Training(
        network,
        rows,
        settings,
        seed=experiment.seed,
        measure=lambda trained: task.measure(trained, Split.VALID).as_dict(),
        begin=OneDevice if exchange is None else take_in(exchange, network, task, rows),
    )
    return Prepared(experiment, task, paths, training, path_seconds)


def parameters_sha256(parameters: Mapping[str, Tensor]) -> str:
    """Return the hash of the file of weights that would hold these."""
    with Path(os.devnull).open("wb") as nowhere:
        return write_tensors(nowhere, make_header(parameters), parameters)


def take_up(opened: OpenRun, prepared: Prepared) -> None:
    """Go on from the last state of a finished run or the latest checkpoint, whichever is later."""
    run, training = opened.folder, prepared.training
    latest = load_latest(run.checkpoints_folder)
    for damaged in latest.damaged:
        opened.journal.append("damaged checkpoint", what=damaged)
    checkpoint = latest.checkpoint
    if run.state_file.is_file() and (checkpoint is None or run.is_finished):
        checkpoint = load_checkpoint(run.state_file)
        remove_checkpoints(run.checkpoints_folder)  # older ones, if a kill left any
    if run.is_finished and checkpoint is None:
        raise SettingsError(
            f"{run.path} is finished and has no {run.state_file.name}, which more epochs begin "
            "from: it was trained by version 0.1. It stays as it is. Train anew in another folder "
            "with as many epochs as you want."
        )
    if checkpoint is not None:
        training.resume(checkpoint.tensors, Progress.from_dict(checkpoint.metadata))
    if read_beginning(run, prepared.experiment) != prepared.experiment:
        prolong(opened, prepared.experiment)  # last: nothing is given up that cannot go on


@final
class Checkpointer:
    """Watches training for another, and writes the journal and the checkpoints."""

    def __init__(self, opened: OpenRun, training: Training, observer: Observer) -> None:
        self._opened = opened
        self._training = training
        self._observer = observer
        self._saved_at = time.monotonic()

    @contextmanager
    def saving_at_a_stop(self) -> Iterator[None]:
        """Whatever stops what is done inside, the last finished epoch is saved."""
        try:
            yield
        except BaseException:
            is_begun = self._training.progress.n_epochs and self._training.can_be_saved
            if is_begun and not self._opened.folder.is_finished:
                self.save()
            raise

    def on_step(self, n_done: int, n_steps: int) -> None:
        self._observer.on_step(n_done, n_steps)

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        self._opened.journal.append("epoch", **asdict(report))
        self._observer.on_epoch(report, training)
        is_due = time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS
        if is_due and not training.progress.is_over:
            self.save()

    def save(self) -> None:
        """Write a checkpoint of the last finished epoch."""
        save_checkpoint(self._opened.folder.checkpoints_folder, checkpoint_of(self._training))
        self._saved_at = time.monotonic()


def checkpoint_of(training: Training) -> Checkpoint:
    """Return the state after the last finished epoch."""
    return Checkpoint(
        epoch=training.progress.n_epochs,
        tensors={
            name: tensor.cpu() if isinstance(tensor, Tensor) else tensor
            for name, tensor in training.saved_tensors().items()
        },
        metadata=training.progress.as_dict(),
    )


def finish(opened: OpenRun, prepared: Prepared, device: torch.device) -> Result:
    """Measure the best network, store its weights and the result; then fit its temperature."""
    training, task, run = prepared.training, prepared.task, opened.folder
    started = time.perf_counter()
    metrics = {
        split.value: task.measure(training.network, split).as_dict()
        if len(held_out(task.graph, split))
        else None
        for split in Split
    }
    evaluation_seconds = time.perf_counter() - started
    weights = training.best_parameters()
    with replacing_file(run.weights_file) as file:
        weights_sha256 = write_tensors(file, make_header(weights), weights)
    write_checkpoint(run.state_file, checkpoint_of(training))
    progress = training.progress
    result: Result = {
        "metrics": metrics,
        "best_epoch": progress.best_epoch,
        "epochs": progress.n_epochs,
        "seconds": round(progress.seconds + evaluation_seconds, 3),
        "step_ms": round(progress.step_ms, 4),
        "device": name_device(device),
        "architecture": prepared.experiment.architecture,
        "setup_seconds": round(training.setup_seconds, 3),
        "path_seconds": round(prepared.path_seconds, 3),
        "evaluation_seconds": round(evaluation_seconds, 3),
        "peak_bytes": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
        "paths_sha256": prepared.paths.sha256,
        "weights_sha256": weights_sha256,
        "seed": prepared.experiment.seed,
    }
    result = opened.finish(result, best_epoch=progress.best_epoch, epochs=progress.n_epochs)
    remove_checkpoints(run.checkpoints_folder)
    if isinstance(task, LinkPrediction):  # last: a run killed here is whole, and fits it at need
        find_temperature(run.path, task, training.network)
    return result
