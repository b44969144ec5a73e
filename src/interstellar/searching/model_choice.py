"""Walks or a propagation? Each is trained for a moment, and validation says which to search.

ComplEx stands for networks along walks, NBFNet's message for propagations, both with the graph's
own settings and a small share of the time. Walks stay where they are clearly ahead: of two that are
level a propagation gains more by the rest of the time (benchmarks/NOTES.md). A propagation that
could not take steps enough to be judged is given up to twice as long; where that is not enough,
nothing is compared.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import torch

from interstellar.architecture.literature import COMPLEX, PTRANSE_MUL
from interstellar.data.graph import KnowledgeGraph
from interstellar.device import is_out_of_memory
from interstellar.errors import TrainingError
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.randomness import spawn
from interstellar.rivals.network import Network
from interstellar.runs.experiment import Experiment
from interstellar.searching.time_plan import LEAST_STEPS, n_affordable
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, network_for, task_for
from interstellar.training.defaults import falling_rate
from interstellar.training.loop import EpochReport, Measure, Training
from interstellar.training.settings import MAX_COUNT, ModelKind, TrainingSettings

HEAT_SHARE, MOST_SHARE = 0.08, 0.16
"""Of the time of a search, for each of the two; and for a propagation that needs more than that."""
MOST_ASKED = 200
"""Triplets that a heat is validated on."""
NANOSECONDS, CARD_SPEED = 5.0, 2000.0
"""What a query costs for each number of its states and messages on a core, by
`benchmarks/propagate.py` on UMLS and WN18RR; and how much faster an H200 is."""
KEPT_NODES, KEPT_SHARE = 100, 0.1
"""Of each query a propagation on a CPU keeps so many, where that is at most such a share of all."""
LIGHT_DIM = 128
"""Of walks on a CPU, where a step has some wrong answers for all."""
LEAD = 0.03
"""By which walks must be ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """What a kind of model came to in its share of the time."""

    model: ModelKind
    score: float
    n_ranks: float
    """Of which the score is the mean."""
    seconds: float


def compare_models(
    graph: KnowledgeGraph, experiments: Sequence[Experiment], seconds: float, device: torch.device
) -> list[Heat]:
    """Return what both kinds came to, the one to be searched first; [] where that is not tried.

    The experiments are searches of `seconds`, the first along walks, the other of propagations.
    """
    needed, usual = estimate_seconds(graph, experiments[1].settings, device), HEAT_SHARE * seconds
    if needed > MOST_SHARE * seconds:
        return []
    walks = run_heat(graph, experiments[0], usual, device)
    propagation = run_heat(graph, experiments[1], max(usual, needed), device)
    if walks is None or propagation is None:
        return []
    is_ahead = walks.score > propagation.score + LEAD
    return [walks, propagation] if is_ahead else [propagation, walks]


def lighten(
    graph: KnowledgeGraph, settings: TrainingSettings, device: torch.device
) -> TrainingSettings:
    """Return the settings with which either model costs as little as the device asks for."""
    if settings.propagation is None:
        n_sampled = n_affordable(settings, len(graph.entities), device)
        if n_sampled is None:
            return settings
        return replace(settings, n_negatives=n_sampled, dim=min(settings.dim, LIGHT_DIM))
    is_dear = device.type == "cpu" and KEPT_SHARE * len(graph.entities) >= KEPT_NODES
    if not is_dear:
        return settings
    return replace(settings, propagation=replace(settings.propagation, nodes=KEPT_NODES))


def estimate_seconds(
    graph: KnowledgeGraph, settings: TrainingSettings, device: torch.device
) -> float:
    """Return about how long a propagation takes for the fewest steps that tell what it is worth."""
    assert settings.propagation is not None
    n_all, n_edges, n_kept = len(graph.entities), 2 * len(graph.train), settings.propagation.nodes
    share = 1.0 if n_kept is None else min(1.0, n_kept / n_all)
    n_nodes = min(n_all, share * (n_all + n_edges))  # those kept, and those that they reach
    dim, depth = settings.dim, settings.propagation.depth
    n_numbers = depth * dim * (share * n_edges + n_nodes * dim)
    n_queries = min(2 * LEAST_STEPS * settings.batch_size, 2 * n_edges)
    on_core = 1e-9 * NANOSECONDS * n_numbers * n_queries
    return on_core / CARD_SPEED if device.type == "cuda" else on_core


def run_heat(
    graph: KnowledgeGraph, experiment: Experiment, seconds: float, device: torch.device
) -> Heat | None:
    """Train what stands for a kind of model for so long, and validate it on a part of the split.

    None: it does not fit into the memory, or its loss is no number.
    """
    rng = spawn(experiment.seed, "validation of a heat")
    n_asked = min(MOST_ASKED, len(graph.valid))
    task = task_for(replace(graph, valid=rng.permutation(graph.valid)[:n_asked]))
    settings, clock = experiment.settings, Clock(seconds)

    def measure(network: Network) -> dict[str, float]:
        return task.measure(network, Split.VALID).as_dict()

    try:
        training = begin(task, settings, experiment.seed, device, measure)
        with suppress(TimeoutError):
            if settings.propagation is not None:
                let_rate_fall(training, clock)
            training.run(clock)
        valid = measure(training.network)
    except (RuntimeError, MemoryError, TrainingError) as error:
        if isinstance(error, TrainingError) or is_out_of_memory(error):
            return None
        raise
    scores = [valid, *(r.valid for r in training.progress.reports if r.valid is not None)]
    return Heat(
        model=settings.model,
        score=max(score[settings.metric] for score in scores),
        n_ranks=valid["n"],
        seconds=clock.seconds,
    )


def begin(
    task: Task, settings: TrainingSettings, seed: int, device: torch.device, measure: Measure
) -> Training:
    """Return the training of what stands for a kind of model, in short epochs if it propagates."""
    paths = sample_paths(WalkGraph.of(task.graph), settings.walk, seed=seed, device=device)
    architecture, propagation = COMPLEX, settings.propagation
    if propagation is not None:
        n_queries = LEAST_STEPS * settings.batch_size
        short = replace(propagation, queries_per_epoch=n_queries)
        settings = replace(settings, propagation=short, lr_decay=1.0, max_epochs=MAX_COUNT)
        settings, architecture = replace(settings, validate_every=MAX_COUNT), PTRANSE_MUL
    network = network_for(task, architecture, settings)
    rows = torch.from_numpy(paths.array).to(device)
    return Training(network, rows, settings, seed=seed, measure=measure)


def let_rate_fall(training: Training, clock: "Clock") -> None:
    """Train an epoch of a propagation; let the rate fall in those that there is time for after it.

    It does in a whole training, and a propagation gains much by that.
    """
    epoch_seconds = training.run_epoch(clock).train_seconds
    n_more = int(clock.seconds_left / epoch_seconds)
    training.settings = replace(training.settings, lr_decay=falling_rate(1 + n_more))


@final
class Clock:
    """Stops a training when its time is over, also within an epoch."""

    def __init__(self, seconds: float) -> None:
        self._started = time.perf_counter()
        self._limit = seconds

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.perf_counter() - self._started

    @property
    def seconds_left(self) -> float:
        """Time until the end, and not less than none."""
        return max(0.0, self._limit - self.seconds)

    def on_step(self, n_done: int, n_steps: int) -> None:
        del n_done, n_steps
        if not self.seconds_left:
            raise TimeoutError

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        pass
