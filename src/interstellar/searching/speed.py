"""How long a training takes here, by a few steps and a validation of a part."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from interstellar.architecture.literature import COMPLEX, PTRANSE_MUL, RSN
from interstellar.data.graph import AnyGraph
from interstellar.model.path_network import NetworkSize
from interstellar.paths.walk_graph import WalkGraph
from interstellar.rivals.network import Network
from interstellar.tasks.splits import Split
from interstellar.tasks.task import network_for, network_size, task_for
from interstellar.training.loop import SilentObserver, Training
from interstellar.training.settings import TrainingSettings

MOST_VALIDATED = 300
"""Triplets or pairs on which the time of a validation is measured."""
N_MEASURED_STEPS = 3
QUICK_SECONDS = 0.5
"""Steps that together take less are measured again: the first ones are slower than others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How long a training takes here: the mean of a simple and a recurrent architecture."""

    epoch_seconds: float
    valid_seconds: float
    n_steps: int = 1
    """Of an epoch."""
    n_ranked: int = 1
    """Triplets or pairs of a validation."""

    def per_epoch(self, settings: TrainingSettings) -> float:
        """Return the seconds of an epoch with its share of the validations."""
        return self.epoch_seconds + self.valid_seconds / settings.validate_every

    def of_one_with(self, seconds: float, settings: TrainingSettings) -> "Speed":
        """Return the speed of a network of which such an epoch has taken so many seconds."""
        ratio = seconds / self.per_epoch(settings)
        epoch, valid = ratio * self.epoch_seconds, ratio * self.valid_seconds
        return replace(self, epoch_seconds=epoch, valid_seconds=valid)


def measure_speed(graph: AnyGraph, settings: TrainingSettings, device: torch.device) -> Speed:
    """Train a few steps and validate on a part of the split, with paths that lead nowhere."""
    part = replace(graph, valid=graph.valid[:MOST_VALIDATED])
    task = task_for(part)
    paths = idle_paths(network_size(task, settings.dim), settings).to(device)
    short = replace(settings, max_epochs=2, validate_every=1, patience=0)

    def measure(network: Network) -> dict[str, float]:
        return {settings.metric: 0.0} | task.measure(network, Split.VALID).as_dict()

    reports = []
    simple = COMPLEX if settings.propagation is None else PTRANSE_MUL
    for architecture in (simple, RSN):
        network = network_for(task, architecture, settings)
        training = Training(network, paths, short, seed=0, measure=measure)
        report = training.run_epoch(SilentObserver())
        if report.train_seconds < QUICK_SECONDS:
            report = training.run_epoch(SilentObserver())
        reports.append(report)
    n_paths = WalkGraph.of(graph).n_triplets * settings.walk.paths_per_triplet
    an_epoch = settings.paths_per_epoch
    if settings.propagation is not None:
        an_epoch = settings.propagation.queries_per_epoch
    n_paths = min(n_paths, an_epoch or n_paths)
    n_steps = math.ceil(n_paths / settings.batch_size)
    step_seconds = sum(report.step_ms for report in reports) / 2000
    valid_seconds = sum(report.valid_seconds for report in reports) / 2
    n_ranked = min(len(graph.valid), settings.measured or len(graph.valid))
    return Speed(
        epoch_seconds=n_steps * step_seconds,
        valid_seconds=valid_seconds * n_ranked / max(1, len(part.valid)),
        n_steps=n_steps,
        n_ranked=n_ranked,
    )


def idle_paths(size: NetworkSize, settings: TrainingSettings) -> Tensor:
    """Return paths for a few steps, of the right shape and without a meaning."""
    shape = (N_MEASURED_STEPS * settings.batch_size, 2 * settings.walk.length + 1)
    generator = torch.Generator().manual_seed(0)
    paths = torch.randint(size.n_entities, shape, generator=generator, dtype=torch.int32)
    paths[:, 1::2] %= 2 * size.n_relations
    return paths
