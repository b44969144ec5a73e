"""One training of the study of defaults (`defaults.py`): the grid, the work, what is noted down."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
import torch
from torch import Tensor

import interstellar
from interstellar.architecture.notation import read_architecture
from interstellar.data.catalogue import data_root
from interstellar.data.graph import AnyGraph, GraphPair, Task, task_of
from interstellar.device import find_device, is_out_of_memory
from interstellar.errors import TrainingError
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_settings import WalkSettings
from interstellar.randomness import spawn
from interstellar.rivals.network import Network
from interstellar.runs.run import name_device
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task as TrainedTask
from interstellar.tasks.task import build_network, task_for
from interstellar.training.loop import EpochReport, Training
from interstellar.training.settings import Metric, Optimizer, TrainingSettings
from interstellar.workflow.given import count_triplets, final_settings

Line: TypeAlias = dict[str, Any]
"""One training, as it stands in a file."""
Flat: TypeAlias = dict[str, Any]
"""Settings by name, those of the walk beside the others."""
Changed = TypeVar("Changed", TrainingSettings, WalkSettings)

ENDLESS = 10**6
STUDIED = TrainingSettings(
    dim=256,
    batch_size=512,
    learning_rate=0.001,
    weight_decay=0.0,
    dropout=0.0,
    lr_decay=1.0,
    max_epochs=ENDLESS,
    validate_every=ENDLESS,
    patience=0,
    metric=Metric.MRR,
    gradient_norm=None,
    walk=WalkSettings.link_prediction(),
)
ALIGNMENT_DECAY = 0.0014
"""About the middle of the published values."""
GROWTH = 1.4
"""From one validated epoch to the next."""
LOOK_UP_STEPS = 16
"""Steps after which a training waits for the device and looks at the clock."""


def draw_settings(task: Task, rng: np.random.Generator, *, is_narrow: bool = False) -> Flat:
    """Draw a point of the grid, or of the part of it that the first study found good."""

    def choose(*options: Any) -> Any:
        return options[rng.integers(len(options))]

    def between(least: float, most: float) -> float:
        return float(f"{np.exp(rng.uniform(np.log(least), np.log(most))):.3g}")

    if task is Task.ENTITY_ALIGNMENT:
        return {
            "dim": choose(128, 256),
            "batch_size": choose(128, 512, 2048),
            "learning_rate": between(3e-5, 1e-2),
            "gradient_norm": choose(5.0, None),
            "weight_decay": ALIGNMENT_DECAY * choose(0, 1, 10),
            "dropout": choose(0.1, 0.3, 0.5),
            "lr_decay": choose(0.9, 0.97, 0.99),
            "length": choose(5, 7, 15),
            "paths_per_triplet": choose(2, 4),
        }
    if is_narrow:
        return {
            "dim": choose(128, 256, 512),
            "batch_size": choose(256, 512, 1024),
            "optimizer": Optimizer.ADAGRAD,
            "learning_rate": between(0.015, 0.2),
            "n3": choose(0.0, between(3e-4, 0.3), between(3e-4, 0.3)),
            "dropout": choose(0.0, 0.2, 0.4),
            "label_smoothing": choose(0.0, 0.1),
            "max_norm": None,
            "lr_decay": choose(1.0, 0.99, 0.97),
            "length": 1,
            "paths_per_triplet": 1,
        }
    optimizer = choose(*Optimizer)
    is_adam = optimizer is Optimizer.ADAM
    length, paths_per_triplet = choose((1, 1), (3, 2))
    return {
        "dim": choose(32, 64, 128, 256, 512),
        "batch_size": choose(128, 512, 2048),
        "optimizer": optimizer,
        "learning_rate": between(3e-4, 1e-2) if is_adam else between(0.02, 0.5),
        "n3": choose(0.0, between(1e-4, 0.3)),
        "dropout": choose(0.0, 0.2, 0.4),
        "label_smoothing": choose(0.0, 0.1),
        "max_norm": choose(1.0, None),
        "lr_decay": choose(1.0, 0.99, 0.97),
        "length": length,
        "paths_per_triplet": paths_per_triplet,
    }


def with_flat(settings: TrainingSettings, flat: Flat) -> TrainingSettings:
    """Return the settings with those changed that are given, the walk's among them."""
    names = {field.name for field in fields(settings.walk)}
    of_walk = {name: flat[name] for name in flat if name in names}
    others = {name: flat[name] for name in flat if name not in names}
    return change(replace(settings, walk=change(settings.walk, of_walk)), others)


def change(settings: Changed, given: Flat) -> Changed:
    """Return settings with values of a JSON file, where choices are text."""

    def take(name: str) -> Any:
        before = getattr(settings, name)
        return type(before)(given[name]) if isinstance(before, StrEnum) else given[name]

    return replace(settings, **{name: take(name) for name in given})


def flatten(settings: TrainingSettings) -> Flat:
    values = asdict(settings)
    of_walk: Flat = values.pop("walk")
    return values | of_walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one process is to train."""

    graph: str
    architecture: str
    device: str
    seed: int
    point: int | None = None
    """Which point of the seed is trained; None: what the rule says."""
    is_narrow: bool = False
    rule: Flat
    """What differs from the package's own rule."""
    rows: float = math.inf
    """A point is trained on so many, or for `train_seconds`."""
    train_seconds: float = math.inf
    ends_at: float
    """When everything is to be over, as `time.time` counts."""


def do(piece: Piece) -> Line:
    """Train a piece, and return its line."""
    started, device, task = time.perf_counter(), find_device(piece.device), load_task(piece.graph)
    settings, watch, test, failure = choose_settings(piece, task.graph), Watch(piece), None, None
    try:
        with suppress(EnoughError):  # out of time; a point ends by itself
            test = train(piece, task, settings, watch, device)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        if not isinstance(error, TrainingError) and not is_out_of_memory(error):
            time.sleep(5)  # a broken card fails at once, again and again
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return {
        "graph": piece.graph,
        "facts": describe_graph(task.graph),
        "architecture": piece.architecture,
        "seed": piece.seed,
        "point": piece.point,
        "settings": flatten(settings),
        **watch.as_dict(settings.metric),
        "test": test,
        "failure": failure,
        "seconds": round(time.perf_counter() - started, 2),
        "device": name_device(device),
    }


@cache
def load_task(graph: str) -> TrainedTask:
    folder = data_root() / "extra" / graph
    return task_for(interstellar.load(folder if folder.is_dir() else graph))


@cache
def load_paths(graph: str, walk: WalkSettings, seed: int, device: torch.device) -> Tensor:
    paths = sample_paths(WalkGraph.of(load_task(graph).graph), walk, seed=seed, device=device)
    return torch.from_numpy(paths.array).to(device)


def choose_settings(piece: Piece, graph: AnyGraph) -> TrainingSettings:
    if piece.point is None:
        return with_flat(final_settings(graph), piece.rule)
    is_pair = isinstance(graph, GraphPair)
    walk = WalkSettings.alignment() if is_pair else WalkSettings.link_prediction()
    rng = spawn(piece.seed, f"point {piece.point}")
    point = draw_settings(task_of(graph), rng, is_narrow=piece.is_narrow)
    return with_flat(replace(STUDIED, walk=walk), point)


def describe_graph(graph: AnyGraph) -> dict[str, Any]:
    n_entities, n_train = len(graph.all_entities), count_triplets(graph)
    return {
        "task": task_of(graph),
        "n_entities": n_entities,
        "n_relations": len(graph.all_relations),
        "n_train": n_train,
        "n_seeds": len(graph.train) if isinstance(graph, GraphPair) else 0,
        "n_valid": len(graph.valid),
        "mean_degree": round(2 * n_train / n_entities, 2),
    }


def train(
    piece: Piece,
    task: TrainedTask,
    settings: TrainingSettings,
    watch: "Watch",
    device: torch.device,
) -> dict[str, float] | None:
    """Train a network; return the test metrics of one that the rule has made."""

    def measure(network: Network, split: Split = Split.VALID) -> dict[str, float]:
        return task.measure(network, split).as_dict()

    paths = load_paths(piece.graph, settings.walk, piece.seed, device)
    architecture = read_architecture(piece.architecture)
    network = build_network(task, architecture, dim=settings.dim, dropout=settings.dropout)
    training = Training(network, paths, settings, seed=piece.seed, measure=measure)
    watch.begin(settings, paths)
    if piece.point is None:
        training.run(watch)
        return measure(network, Split.TEST)
    due = 1
    while not watch.is_over:
        with suppress(EnoughError):
            training.run_epoch(watch)
        if watch.epoch >= due or watch.is_over:
            with watch.pausing():
                valid = measure(network)
            watch.note(valid)
            due = max(due + 1, math.ceil(GROWTH * due))
    return None


class EnoughError(Exception):
    """A training has had its rows or its time."""


@final
class Watch:
    """Counts the work of a training, notes down its validations, and ends it when it is time."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._started, self._seconds_beside = time.perf_counter(), 0.0
        self._n_steps, self._steps_in_epoch, self._rows_in_step = 0, 1, 1
        self._is_on_card = False
        self._curve: list[dict[str, float]] = []

    def begin(self, settings: TrainingSettings, paths: Tensor) -> None:
        """Start the clock, when all is ready."""
        batch_size = min(settings.batch_size, len(paths))
        self._steps_in_epoch = -(-len(paths) // batch_size)
        self._rows_in_step = batch_size * settings.walk.length
        self._is_on_card = paths.is_cuda
        self._started = time.perf_counter()

    @property
    def epoch(self) -> float:
        return self._n_steps / self._steps_in_epoch

    @property
    def rows(self) -> int:
        return self._n_steps * self._rows_in_step

    @property
    def seconds(self) -> float:
        """Time spent in training alone."""
        return time.perf_counter() - self._started - self._seconds_beside

    @property
    def is_full(self) -> bool:
        return self.rows >= self._piece.rows or self.seconds >= self._piece.train_seconds

    @property
    def is_over(self) -> bool:
        return self.is_full or time.time() > self._piece.ends_at

    def on_step(self, n_done: int, n_steps: int) -> None:
        self._n_steps += 1
        if n_done % LOOK_UP_STEPS == 0 and n_done < n_steps:
            if self._is_on_card:
                torch.cuda.synchronize()
            if self.is_over:
                raise EnoughError

    def on_epoch(self, report: EpochReport, training: Training) -> None:  # noqa: ARG002
        self._seconds_beside += report.valid_seconds
        if report.valid is not None:
            self.note(report.valid)

    @contextmanager
    def pausing(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._seconds_beside += time.perf_counter() - started

    def note(self, valid: Mapping[str, float]) -> None:
        work = {"epoch": round(self.epoch, 3), "rows": self.rows, "seconds": round(self.seconds, 3)}
        self._curve.append(work | {key: round(valid[key], 5) for key in Metric if key in valid})

    def as_dict(self, metric: Metric) -> Line:
        best = max(self._curve, key=lambda noted: noted[metric], default=None)
        step_ms = round(1000 * self.seconds / max(1, self._n_steps), 3)
        is_cut = not self.is_full and self.is_over
        return {"curve": self._curve, "best": best, "step_ms": step_ms, "cut": is_cut}
