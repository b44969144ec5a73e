"""The plan of a search that has a limit of time: how long its trials may be, and when it ends.

Three tenths of the time are for the finalists, which are repeated with other seeds; the rest is for
trials, of which about thirty should find room even with one worker: as few are trained to their
end, a training may take a fifth of the time. Where the usual one takes longer, it has fewer epochs,
and where these would be too few, the networks are smaller. Before that, a propagation's epochs are
of fewer queries: it learns much from the first thousands.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import torch
from torch import Tensor

from interstellar.architecture.literature import COMPLEX, PTRANSE_MUL, RSN
from interstellar.data.graph import AnyGraph
from interstellar.errors import SettingsError
from interstellar.model.path_network import NetworkSize
from interstellar.paths.walk_graph import WalkGraph
from interstellar.rivals.network import Network
from interstellar.searching.rungs import REDUCTION, Rungs
from interstellar.tasks.splits import Split
from interstellar.tasks.task import network_for, network_size, task_for
from interstellar.training.loop import SilentObserver, Training
from interstellar.training.settings import TrainingSettings

SEARCH_SHARE = 0.7
"""Of the time that a search has, where finalists follow."""
TRAINING_SHARE = 0.2
FEWEST_TRAININGS = 4
"""There must be time for so many epochs."""
ENOUGH_EPOCHS = 27
"""With fewer, networks are made smaller first, as far as this dimension."""
LEAST_DIM, LEAST_STATE = 64, 16
"""Of networks on walks, and of propagations."""
HALVED_SHARE = 0.7
"""With half the dimension an epoch must take at most so much: on a card it may take as long."""
PROPAGATION_EPOCHS, LEAST_STEPS = 9, 32
"""A propagation is compared after its first, third and ninth epoch, of at least so many steps:
fewer teach it next to nothing."""
FEW_EPOCHS = 4
"""Where there is no time even for these, whatever saves some is welcome."""
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

    def per_epoch(self, settings: TrainingSettings) -> float:
        """Return the seconds of an epoch with its share of the validations."""
        return self.epoch_seconds + self.valid_seconds / settings.validate_every


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
    share = n_ranked / max(1, len(part.valid))
    return Speed(
        epoch_seconds=n_steps * step_seconds, valid_seconds=valid_seconds * share, n_steps=n_steps
    )


def idle_paths(size: NetworkSize, settings: TrainingSettings) -> Tensor:
    """Return paths for a few steps, of the right shape and without a meaning."""
    shape = (N_MEASURED_STEPS * settings.batch_size, 2 * settings.walk.length + 1)
    generator = torch.Generator().manual_seed(0)
    paths = torch.randint(size.n_entities, shape, generator=generator, dtype=torch.int32)
    paths[:, 1::2] %= 2 * size.n_relations
    return paths


def fit_to_time(
    settings: TrainingSettings,
    measure: Callable[[TrainingSettings], Speed],
    seconds: float,
    *,
    keeps_dim: bool,
) -> tuple[TrainingSettings, Speed]:
    """Return the settings with which there is time for a search, and how long they take."""
    enough, speed = min(ENOUGH_EPOCHS, settings.max_epochs), measure(settings)
    least = LEAST_DIM
    if settings.propagation is not None:
        wanted = TRAINING_SHARE * seconds / PROPAGATION_EPOCHS
        settings, speed = shorten_epochs(settings, speed, wanted)
        enough, least = min(FEW_EPOCHS, enough), LEAST_STATE
    while not keeps_dim and settings.dim >= 2 * least:
        n_epochs = count_epochs(settings, speed, seconds)
        if n_epochs >= enough:
            break
        n_halvings = math.ceil(math.log2(enough / max(1, n_epochs)))  # as if time went with it
        dim = max(least, settings.dim >> n_halvings)
        smaller = replace(settings, dim=dim - dim % 2)
        faster = measure(smaller)
        worthwhile = HALVED_SHARE ** math.log2(settings.dim / smaller.dim)
        saves_little = faster.per_epoch(smaller) > worthwhile * speed.per_epoch(settings)
        if saves_little and n_epochs >= FEW_EPOCHS:
            break
        settings, speed = smaller, faster
    refuse_too_short(settings, speed, seconds)
    return with_epochs(settings, max(1, count_epochs(settings, speed, seconds))), speed


def shorten_epochs(
    settings: TrainingSettings, speed: Speed, seconds: float
) -> tuple[TrainingSettings, Speed]:
    """Return a propagation's settings with epochs that take so long, or as long as a validation."""
    assert settings.propagation is not None
    wanted = max(seconds - speed.valid_seconds, speed.valid_seconds)
    share = wanted / speed.epoch_seconds
    if share >= 1:
        return settings, speed
    n_steps = max(min(LEAST_STEPS, speed.n_steps), int(share * speed.n_steps))
    fewer = replace(settings.propagation, queries_per_epoch=n_steps * settings.batch_size)
    epoch_seconds = speed.epoch_seconds * n_steps / speed.n_steps
    faster = replace(speed, epoch_seconds=epoch_seconds, n_steps=n_steps)
    return replace(settings, propagation=fewer), faster


def count_epochs(settings: TrainingSettings, speed: Speed, seconds: float) -> int:
    """Return how many epochs a training may have, at most those of the settings."""
    n_epochs = int(TRAINING_SHARE * seconds / speed.per_epoch(settings))
    return max(0, min(settings.max_epochs, n_epochs))


def refuse_too_short(
    settings: TrainingSettings, speed: Speed, seconds: float, spent: float = 0.0
) -> None:
    """Raise where there is no time for a few epochs, or after what was spent for a single one."""
    epoch_seconds = speed.per_epoch(settings)
    if epoch_seconds * FEWEST_TRAININGS > seconds or epoch_seconds > seconds - spent:
        begun = f" and {spent:.2g} s were needed to begin" if spent else ""
        raise SettingsError(
            f"the time is {seconds:.3g} s{begun}, but one epoch on this graph takes about "
            f"{epoch_seconds:.2g} s here, so hardly a network could be trained. Give at least "
            f"{math.ceil(20 * epoch_seconds / 60)}m, or a smaller dimension."
        )


def with_epochs(settings: TrainingSettings, n_epochs: int) -> TrainingSettings:
    """Return the settings with fewer epochs, validated often enough for rungs to differ."""
    often = max(1, n_epochs // 9)
    every = min(settings.validate_every, often)
    return replace(settings, max_epochs=n_epochs, validate_every=every)


def describe_plan(
    settings: TrainingSettings,
    speed: Speed,
    seconds: float,
    n_workers: int,
    *,
    has_finalists: bool,
    prune: bool,
    now: Callable[[], datetime] = datetime.now,
) -> str:
    """Return in one sentence what a search is going to do, and when it ends."""
    rungs = Rungs.of(settings, prune=prune).epochs
    share = SEARCH_SHARE if has_finalists else 1.0
    cost = speed.per_epoch(settings) * cost_of_trial(rungs)
    n_trials = max(1, round(share * seconds * n_workers / cost))
    ends = now() + timedelta(seconds=seconds)
    compared = f", compared after {', '.join(map(str, rungs[:-1]))}" if len(rungs) > 1 else ""
    finalists = "then the finalists with more seeds, " if has_finalists else ""
    epochs = "1 epoch" if rungs[-1] == 1 else f"{rungs[-1]} epochs"
    return (
        f"plan: about {n_trials} trials of up to {epochs}{compared}; {finalists}"
        f"done at {ends:%H:%M:%S}"
    )


def cost_of_trial(rungs: tuple[int, ...]) -> float:
    """Return the epochs of a trial on average, where one of so many is promoted at each rung."""
    steps = (after - before for before, after in zip((0, *rungs), rungs, strict=False))
    return sum((n / float(REDUCTION**k) for k, n in enumerate(steps)), 0.0)
