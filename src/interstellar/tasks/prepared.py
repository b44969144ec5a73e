"""An experiment made ready to train: graph, task, paths and network on one device."""

import time
from dataclasses import dataclass
from pathlib import Path

import torch

from interstellar.architecture.notation import read_architecture
from interstellar.data.graph import AnyGraph
from interstellar.data.loading import load
from interstellar.errors import SettingsError
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.tasks.splits import Split, require_validation
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.experiment import Experiment
from interstellar.training.loop import Training


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """Everything that training needs, and what it took to get there."""

    experiment: Experiment
    task: Task
    paths: PathTable
    training: Training
    load_seconds: float
    path_seconds: float


def load_data(experiment: Experiment) -> AnyGraph:
    """Read the data of an experiment."""
    if experiment.continued is not None:
        raise SettingsError(
            f"this experiment went on from {experiment.continued.run} with triplets that "
            f"{experiment.data} does not have, so it cannot be begun from there. "
            "Use `interstellar update` with that run."
        )
    return load(
        experiment.data,
        second=experiment.second,
        pairs=None if experiment.pairs is None else Path(experiment.pairs),
        split=experiment.split,
        seed=experiment.split_seed,
    )


def prepare(experiment: Experiment, graph: AnyGraph, device: torch.device) -> Prepared:
    """Sample the paths of an experiment and set up its network for training."""
    require_validation(graph)
    started = time.perf_counter()
    task = task_for(graph)
    settings = experiment.settings
    loaded = time.perf_counter()
    paths = sample_paths(WalkGraph.of(graph), settings.walk, seed=experiment.seed, device=device)
    sampled = time.perf_counter()
    network = build_network(
        task,
        read_architecture(experiment.architecture),
        dim=settings.dim,
        dropout=settings.dropout,
    )
    training = Training(
        network,
        torch.from_numpy(paths.array).to(device),
        settings,
        seed=experiment.seed,
        measure=lambda trained: task.measure(trained, Split.VALID).as_dict(),
    )
    return Prepared(
        experiment=experiment,
        task=task,
        paths=paths,
        training=training,
        load_seconds=loaded - started,
        path_seconds=sampled - loaded,
    )
