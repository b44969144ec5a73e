"""Runs that were never trained, whose graphs have names of the tests' choice."""

from collections.abc import Sequence
from pathlib import Path

import torch

from interstellar.architecture.notation import read_architecture
from interstellar.data.graph import AnyGraph
from interstellar.data.loading import load
from interstellar.runs.experiment import Experiment
from interstellar.runs.trained_run import TrainedRun
from interstellar.tasks.task import build_network, task_for
from interstellar.training.presets import ALIGNMENT, LINK_PREDICTION
from interstellar.training.settings import TrainingSettings
from tests.tiny_graphs import ring, write_rows

ODD_NAMES = (
    "plain",
    "two words",
    "tab\there",
    "line\nbreak",
    "100%",
    "%20",
    "back\\slash",
    "Île",
    "I\u0302le",
    "ideographic\u3000space",
    '"quoted"',
    "x" * 10_000,
)


def linked_run(names: Sequence[str] = ODD_NAMES, *, dim: int = 4) -> TrainedRun:
    """Return a run on a ring of entities with two relations."""
    n = len(names)
    rows = [(names[i], "next", names[(i + 1) % n]) for i in range(n)]
    rows += [(names[i], "next but one", names[(i + 2) % n]) for i in range(n)]
    return initialised_run(load(rows), LINK_PREDICTION, dim)


def aligned_run(folder: Path, *, dim: int = 4) -> TrainedRun:
    """Return a run on two rings; the second graph shares some names with the first."""
    first, second = ring(10), [*ring(6), *ring(4, prefix="other ", relation="after")]
    pairs = [(f"e{i}", f"e{i}") for i in range(6)]
    graph = load(first, second=second, pairs=write_rows(folder / "pairs.tsv", pairs))
    return initialised_run(graph, ALIGNMENT, dim)


def initialised_run(graph: AnyGraph, settings: TrainingSettings, dim: int) -> TrainedRun:
    """Return a network with random weights as if it had been trained."""
    task = task_for(graph)
    network = build_network(task, read_architecture("ComplEx"), dim=dim, dropout=0.0)
    network.initialise(torch.Generator().manual_seed(0))
    experiment = Experiment(data="names", architecture="ComplEx", seed=0, settings=settings)
    return TrainedRun(experiment, task, network)
