"""Time of training many networks together, against one by one, in one run.

The same random architectures, seed and epochs both ways; the scores must agree. One by one runs
in float32 by default, as the group does, so that differences of scores are rounding alone.

    python benchmarks/group.py --device cuda --data geography-S3 --networks 100 --group 25
    python benchmarks/group.py --device cpu --networks 6 --group 6 --epochs 2
"""

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import TrainingError
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.group_training import GroupMember, train_together
from interstellar.training.loop import Training
from interstellar.training.presets import default_settings
from interstellar.training.settings import Precision, TrainingSettings

Scores = list[float | None]


class Quiet:
    """Watches without a word."""

    def on_step(self, n_done: int, n_steps: int) -> None: ...

    def on_epoch(self, report: object, training: Training) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="geography-S3")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--group", type=int, default=25)
    parser.add_argument("--epochs", type=int, help="instead of those of the settings")
    parser.add_argument("--precision", type=Precision, default=Precision.FLOAT32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    figures = compare(arguments)
    print(json.dumps(figures, indent=1))
    if arguments.json:
        with arguments.json.open("a") as file:
            file.write(json.dumps(figures) + "\n")


def compare(arguments: argparse.Namespace) -> dict[str, object]:
    device = torch.device(arguments.device)
    task = task_for(interstellar.load(arguments.data))
    settings = default_settings("link-prediction", arguments.data)
    settings = replace(settings, precision=arguments.precision)
    if arguments.epochs:
        settings = replace(settings, max_epochs=arguments.epochs)
    table = sample_paths(
        WalkGraph.of(task.graph), settings.walk, seed=arguments.seed, device=device
    )
    paths = torch.from_numpy(table.array).to(device)
    rng = np.random.default_rng(arguments.seed)
    architectures = [SearchSpace().sample(rng) for _ in range(arguments.networks)]
    short = replace(settings, max_epochs=1)  # loads libraries and compiles kernels, once
    train_alone(task, architectures[:2], short, paths)
    train_in_groups(task, architectures[:2], short, paths, group=2)

    started = time.perf_counter()
    members = train_in_groups(task, architectures, settings, paths, group=arguments.group)
    trained_together = time.perf_counter()
    scores = train_alone(task, architectures, settings, paths)
    ended = time.perf_counter()

    together = trained_together - started
    return {
        "data": arguments.data,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "networks": arguments.networks,
        "group": arguments.group,
        "epochs": settings.max_epochs,
        "precision_one_by_one": arguments.precision,
        "one_by_one_s": round(ended - trained_together, 2),
        "together_s": round(together, 2),
        "ratio": round((ended - trained_together) / together, 2),
        **differences(scores, members),
    }


def differences(scores: Scores, members: list[GroupMember]) -> dict[str, object]:
    """Return how far the scores of both ways are apart."""
    pairs = list(zip(scores, [member.score for member in members], strict=True))
    gaps = [abs(one - other) for one, other in pairs if one is not None and other is not None]
    return {
        "failures": [sum(score is None for score in way) for way in zip(*pairs, strict=True)],
        "largest_difference": max(gaps, default=0.0),
        "mean_difference": statistics.mean(gaps) if gaps else 0.0,
        "best": [
            max((s for s in way if s is not None), default=None) for way in zip(*pairs, strict=True)
        ],
    }


def train_alone(
    task: Task, architectures: list[Architecture], settings: TrainingSettings, paths: torch.Tensor
) -> Scores:
    scores: Scores = []
    for architecture in architectures:
        network = build_network(task, architecture, dim=settings.dim, dropout=settings.dropout)
        training = Training(
            network,
            paths,
            settings,
            seed=0,
            measure=lambda trained: task.measure(trained, Split.VALID).as_dict(),
        )
        try:
            training.run(Quiet())
            scores.append(training.progress.best_score)
        except TrainingError:
            scores.append(None)
    return scores


def train_in_groups(
    task: Task,
    architectures: list[Architecture],
    settings: TrainingSettings,
    paths: torch.Tensor,
    *,
    group: int,
) -> list[GroupMember]:
    members: list[GroupMember] = []
    for start in range(0, len(architectures), group):
        members += train_together(
            architectures[start : start + group],
            paths,
            settings,
            build=lambda a: build_network(task, a, dim=settings.dim, dropout=settings.dropout),
            seed=0,
            measure=lambda network: task.measure(network, Split.VALID).as_dict(),
        )
    return members


if __name__ == "__main__":
    main()
