"""Training with a folder on disk: it can be killed at any moment and goes on where it was.

Checkpoints hold the state after an epoch. Everything random in an epoch is drawn from the
seed and its number, so an epoch done again after a kill is the same epoch.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, final

import torch
from safetensors.torch import save
from torch import Tensor

from interstellar.architecture.notation import code_text, read_architecture
from interstellar.data.graph import AnyGraph
from interstellar.data.statistics import count
from interstellar.errors import SettingsError
from interstellar.paths.path_table import PathTable
from interstellar.records.environment import describe_environment
from interstellar.records.journal import Journal
from interstellar.records.run_folder import RunFolder, refuse_existing
from interstellar.records.safe_files import replacing_file
from interstellar.tasks.kept_graph import graph_sha256, save_graph
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.prepared import Prepared, load_data, prepare
from interstellar.tasks.run_calibration import find_temperature
from interstellar.tasks.splits import Split, count_held_out
from interstellar.training.checkpoints import Checkpoint, load_latest, save_checkpoint
from interstellar.training.experiment import Experiment, experiment_text, parse_experiment
from interstellar.training.loop import EpochReport, Progress, Training

CHECKPOINT_SECONDS = 60.0
"""Checkpoints are written at most this often, and whenever a run is stopped before its end."""

Result: TypeAlias = dict[str, Any]

OnStep: TypeAlias = Callable[[int, int], None]
OnEpoch: TypeAlias = Callable[[EpochReport], None]


def train_run(
    experiment: Experiment,
    out: Path,
    *,
    device: torch.device,
    graph: AnyGraph | None = None,
    initial: Mapping[str, Tensor] | None = None,
    is_resumed: bool = False,
    on_step: OnStep | None = None,
    on_epoch: OnEpoch | None = None,
) -> Result:
    """Train an experiment in a run folder and return its result.

    Args:
        experiment: What to train.
        out: A folder that does not exist yet, or with `is_resumed` the folder of the same run.
        device: Where to train.
        graph: The data of the experiment, if it is read already.
        initial: Parameters by name that the network starts from, instead of a random draw. To
            go on with a run, give those that it was begun with. They are not validated
            themselves: the best epoch is one that was trained.
        is_resumed: Whether to go on with a run; a finished one just gives its result.
        on_step: Is told steps done and steps an epoch.
        on_epoch: Is told of each epoch.
    """
    if not is_resumed:
        refuse_existing(out)
    experiment = spell_out(experiment)
    graph = graph or load_data(experiment)
    run = find_run(experiment, out, device) if is_resumed else None
    if run is not None and run.is_finished:
        for event in run.read_events():
            if event["event"] == "started":
                refuse_other_data(run, event, {"graph_sha256": graph_sha256(graph)})
        return run.read_result()
    prepared = prepare(experiment, graph, device)  # before a folder is made: it may refuse
    if run is None:
        environment = describe_environment(name_device(device))
        run = RunFolder.create(out, experiment=experiment_text(experiment), environment=environment)
    with run.writing() as journal:
        begin(run, journal, prepared, graph, initial)
        keeper = Keeper(run, journal, prepared, on_step, on_epoch)
        with keeper.saving_at_a_stop():
            prepared.training.run(keeper)
            return finish(run, journal, prepared, device)


def spell_out(experiment: Experiment) -> Experiment:
    """Return the experiment with its architecture as an 11-number code."""
    code = code_text(read_architecture(experiment.architecture))
    return replace(experiment, architecture=code)


def find_run(experiment: Experiment, out: Path, device: torch.device) -> RunFolder | None:
    """Return the run to go on with, if there is one; refuse another experiment's."""
    if not out.exists():
        return None
    run = RunFolder.open(out)
    before = run.experiment_file.read_text(encoding="utf-8")
    now = experiment_text(experiment)
    if parse_experiment(before, str(run.experiment_file)) != experiment:
        raise SettingsError(
            f"{out} is the run of another experiment: {first_difference(before, now)}. "
            "Resume with the settings it was begun with, or choose a new --out."
        )
    trained_on = run.read_environment().get("device")
    if trained_on != name_device(device):
        raise SettingsError(
            f"{out} was begun on {trained_on}, and this is {name_device(device)}. Their results "
            "differ in rounding, so a run stays on one kind of device: give --device."
        )
    return run


def first_difference(before: str, now: str) -> str:
    """Return the first line that differs, in words."""
    for old, new in zip(before.splitlines(), now.splitlines(), strict=False):
        if old != new:
            return f"it has `{old}`, and now `{new}` is asked for"
    return "one of them has more lines"


def begin(
    run: RunFolder,
    journal: Journal,
    prepared: Prepared,
    graph: AnyGraph,
    initial: Mapping[str, Tensor] | None = None,
) -> None:
    """Note the start, and go on from the latest checkpoint if there is one."""
    facts = facts_of(graph, prepared.paths)
    facts["initial_sha256"] = None if initial is None else parameters_sha256(initial)
    if initial is not None:  # also to go on: the run may have been killed before a checkpoint
        prepared.training.begin_from(initial)
    started = [event for event in run.read_events() if event["event"] == "started"]
    if started:
        refuse_other_data(run, started[0], facts)
        latest = load_latest(run.checkpoints_folder)
        for damaged in latest.damaged:
            journal.append("damaged checkpoint", what=damaged)
        if latest.checkpoint is not None:
            progress = Progress.from_dict(latest.checkpoint.metadata)
            prepared.training.resume(latest.checkpoint.tensors, progress)
        journal.append("resumed", epoch=prepared.training.progress.n_epochs)
        return
    save_graph(run, graph)
    journal.append("started", **{key: fact for key, fact in facts.items() if fact is not None})


def facts_of(graph: AnyGraph, paths: PathTable) -> dict[str, Any]:
    """Return what a run must find unchanged when it goes on."""
    return {
        "data": count(graph),
        "graph_sha256": graph_sha256(graph),
        "paths_sha256": paths.sha256,
    }


def parameters_sha256(parameters: Mapping[str, Tensor]) -> str:
    """Return the hash of the file of weights that would hold these."""
    content = save({name: t.detach().cpu().clone() for name, t in parameters.items()})
    return hashlib.sha256(content).hexdigest()


def refuse_other_data(run: RunFolder, started: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Raise if the data or the paths are not those that the run was begun with."""
    for key, value in facts.items():
        if started.get(key) != value:
            raise SettingsError(
                f"{run.path} was begun with other data: {key} was {started.get(key)} and is now "
                f"{value}. Bring the data back as it was, or choose a new --out."
            )


@final
class Keeper:
    """Watches training, writes the journal and the checkpoints."""

    def __init__(
        self,
        run: RunFolder,
        journal: Journal,
        prepared: Prepared,
        on_step: OnStep | None,
        on_epoch: OnEpoch | None,
    ) -> None:
        self._run = run
        self._journal = journal
        self._training = prepared.training
        self._on_step = on_step
        self._on_epoch = on_epoch
        self._saved_at = time.monotonic()

    @contextmanager
    def saving_at_a_stop(self) -> Iterator[None]:
        """Whatever stops what is done inside, the last finished epoch is saved."""
        try:
            yield
        except BaseException as error:
            if self._training.progress.n_epochs:
                self.save()
            self._journal.append("stopped", why=f"{type(error).__name__}: {error}")
            raise

    def on_step(self, n_done: int, n_steps: int) -> None:
        if self._on_step is not None:
            self._on_step(n_done, n_steps)

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        self._journal.append("epoch", **{key: getattr(report, key) for key in report.__slots__})
        if self._on_epoch is not None:
            self._on_epoch(report)
        is_due = time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS
        if is_due and not training.progress.is_over:
            self.save()

    def save(self) -> None:
        """Write a checkpoint of the last finished epoch."""
        progress = self._training.progress
        checkpoint = Checkpoint(
            epoch=progress.n_epochs,
            tensors={name: t.cpu() for name, t in self._training.saved_tensors().items()},
            metadata=progress.as_dict(),
        )
        save_checkpoint(self._run.checkpoints_folder, checkpoint)
        self._saved_at = time.monotonic()


def finish(run: RunFolder, journal: Journal, prepared: Prepared, device: torch.device) -> Result:
    """Measure the best network, store its weights and the result; then fit its temperature."""
    training, task = prepared.training, prepared.task
    started = time.perf_counter()
    metrics = {
        split.value: task.measure(training.network, split).as_dict()
        if count_held_out(task.graph, split)
        else None
        for split in Split
    }
    evaluation_seconds = time.perf_counter() - started
    weights = save({name: t.cpu().contiguous() for name, t in training.best_parameters().items()})
    with replacing_file(run.weights_file) as file:
        file.write(weights)
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
        "paths_sha256": prepared.paths.sha256,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "seed": prepared.experiment.seed,
    }
    journal.append("finished", best_epoch=progress.best_epoch, epochs=progress.n_epochs)
    run.write_result(result)
    if isinstance(task, LinkPrediction):  # last: a run killed here is whole, and fits it at need
        find_temperature(run.path, task, training.network)
    return run.read_result()


def name_device(device: torch.device) -> str:
    """Return what a run's record calls a device: `cpu`, or the name of the card."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
