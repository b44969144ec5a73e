"""Time of a training step.

On CUDA: the paper's setting of a set (DBP-WD: batch 512 × 7 steps, d 256, 30,000 entities), set-up
of a new architecture, milliseconds a step with optimiser, peak memory, and with `--profile` where
the time goes. On the CPU: an epoch of a small graph against the plain eager formulation of the
same network in the same run.

    python benchmarks/step.py --device cuda --data DBP-WD [--profile] [--json FILE]
    python benchmarks/step.py --device cpu --data geography-S3
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity
from torch.profiler import profile as profiling

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import from_code, read_architecture, to_formula
from interstellar.model.path_network import PathNetwork
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.loop import Training
from interstellar.training.presets import COUNTRIES, paper_preset
from interstellar.training.settings import TrainingSettings
from interstellar.training.step import TrainingStep
from plain_training import PlainNetwork, train_plain_epoch
from report import print_figures

Figures = dict[str, float | int | str]
N_EPOCHS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="DBP-WD")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--architecture", help="instead of the published one")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = measure_cuda(arguments) if arguments.device == "cuda" else measure_cpu(arguments)
    print_figures(figures, arguments.json)


def measure_cuda(arguments: argparse.Namespace) -> Figures:
    task = task_for(interstellar.load(arguments.data))
    preset = paper_preset(arguments.data)
    architecture = read_architecture(arguments.architecture or preset.architecture)
    paths = sample(task, preset.settings, torch.device("cuda"))
    set_up(task, architecture, preset.settings, paths)  # loads libraries, compiles kernels once
    other = from_code([0, 8, 10, 2, 1, 1, 1, 1, 1, 1, 1])
    started = time.perf_counter()
    set_up(task, other, preset.settings, paths)
    setup_seconds = time.perf_counter() - started
    torch.cuda.reset_peak_memory_stats()
    training = set_up(task, architecture, preset.settings, paths)
    figures: Figures = {
        "data": arguments.data,
        "architecture": to_formula(architecture),
        "device": torch.cuda.get_device_name(),
        "batch": preset.settings.batch_size,
        "setup_of_a_new_architecture_s": round(setup_seconds, 3),
        "step_ms": round(time_steps(training, arguments.steps), 4),
        "steps_an_epoch": training._state.step.n_steps,
        "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 3),
    }
    if arguments.profile:
        assert isinstance(training._state.step, TrainingStep)
        profile(training._state.step)
    return figures


def measure_cpu(arguments: argparse.Namespace) -> Figures:
    """Time epochs of both formulations in turn; the fastest of each counts."""
    torch.set_num_threads(arguments.threads)
    task = task_for(interstellar.load(arguments.data))
    settings = COUNTRIES  # those of small graphs
    architecture = read_architecture(arguments.architecture or "PTransE-add")
    paths = sample(task, settings, torch.device("cpu"))
    training = set_up(task, architecture, settings, paths)
    assert isinstance(training.network, PathNetwork)
    plain = PlainNetwork(architecture, training.network.size)
    optimiser = torch.optim.Adam(plain.parameters(), lr=settings.learning_rate)
    ours, theirs = [], []
    for _ in range(N_EPOCHS):
        training._state.step.begin_epoch(torch.randperm(len(paths)), 1e-3, 0)
        ours.append(measure(lambda: take_steps(training)))
        theirs.append(measure(lambda: train_plain_epoch(plain, optimiser, paths.long(), settings)))
    return {
        "data": arguments.data,
        "architecture": to_formula(architecture),
        "threads": arguments.threads,
        "epoch_ms": round(1000 * min(ours), 2),
        "plain_epoch_ms": round(1000 * min(theirs), 2),
        "ratio": round(min(theirs) / min(ours), 2),
        "target": "ratio >= 3",
    }


def take_steps(training: Training) -> None:
    for _ in range(training._state.step.n_steps):
        training._state.compute()


def measure(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def sample(task: Task, settings: TrainingSettings, device: torch.device) -> torch.Tensor:
    table = sample_paths(WalkGraph.of(task.graph), settings.walk, seed=0, device=device)
    return torch.from_numpy(table.array).to(device)


def set_up(
    task: Task, architecture: Architecture, settings: TrainingSettings, paths: torch.Tensor
) -> Training:
    network = build_network(task, architecture, dim=settings.dim, dropout=settings.dropout)
    training = Training(network, paths, settings, seed=0, measure=lambda _: {})
    if paths.is_cuda:
        torch.cuda.synchronize()
    return training


def time_steps(training: Training, n_steps: int) -> float:
    """Return the milliseconds of a step, the best of five runs."""
    step, compute = training._state.step, training._state.compute
    best = float("inf")
    for _ in range(5):
        step.begin_epoch(torch.randperm(len(step.paths)), 1e-4, 0)
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(min(n_steps, step.n_steps)):
            compute()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - started) / min(n_steps, step.n_steps))
    return 1000 * best


def profile(step: TrainingStep) -> None:
    step.begin_epoch(torch.randperm(len(step.paths)), 1e-4, 0)
    with profiling(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(10):
            step.compute()
        torch.cuda.synchronize()
    print(profiler.key_averages().table(sort_by="cuda_time_total", row_limit=70))


if __name__ == "__main__":
    main()
