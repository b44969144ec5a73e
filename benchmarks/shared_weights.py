"""Where one architecture stands among random micro variants of its macro level, by shared weights.

The shared weights of that macro level are trained with variants drawn uniformly; after some epochs
the architecture and 30 random variants are compared by the loss of four mini-batches, as the micro
level of hybrid search compares its two.

    python benchmarks/shared_weights.py WN18RR "[0,0,2,0,0,0,0,0,0,0,0]" --device cuda
    python benchmarks/shared_weights.py geography-S3 PTransE-add --device cpu --epochs 1 3
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np
import torch

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import code_text, read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.statistics import task_of
from interstellar.device import find_device
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.searching.supernet import Supernet, train_uniformly
from interstellar.tasks.task import task_for
from interstellar.training.presets import search_settings

N_VARIANTS, N_BATCHES = 30, 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("architecture")
    parser.add_argument("--epochs", type=int, nargs="+", default=[1, 3, 6, 12, 20, 30])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    architecture = read_architecture(arguments.architecture)
    supernet = build_supernet(arguments, architecture)
    rng = np.random.default_rng(arguments.seed)
    rivals = draw_rivals(supernet, architecture)
    started = time.perf_counter()
    for epoch in range(1, max(arguments.epochs) + 1):
        train_uniformly(supernet, n_epochs=1, rng=rng)
        if epoch in arguments.epochs:
            seconds = time.perf_counter() - started
            print(f"epoch {epoch:2} {seconds:4.0f} s  {stand(supernet, rivals)}", flush=True)


def build_supernet(arguments: argparse.Namespace, architecture: Architecture) -> Supernet:
    graph = interstellar.load(arguments.data)
    settings = search_settings(task_of(graph), graph.name)
    device = find_device(arguments.device)
    paths = sample_paths(
        WalkGraph.of(graph), settings.walk, seed=arguments.seed, device=device
    ).array
    return Supernet(
        task_for(graph),
        SearchSpace(),
        architecture.macro,
        settings,
        torch.from_numpy(paths).to(device),
        seed=arguments.seed,
    )


def draw_rivals(supernet: Supernet, architecture: Architecture) -> list[Architecture]:
    rng = np.random.default_rng(7)
    return [architecture, *(supernet.sample(rng) for _ in range(N_VARIANTS))]


def stand(supernet: Supernet, rivals: Sequence[Architecture]) -> str:
    """Return the place of the first among all, with the losses of it, the best and the median."""
    batches = [supernet.judge(rivals, np.random.default_rng(k)) for k in range(N_BATCHES)]
    losses = -np.mean(batches, axis=0)
    order = np.argsort(losses, kind="stable")
    place = 1 + int(np.flatnonzero(order == 0)[0])
    best = rivals[int(order[0])]
    return (
        f"place {place:2} of {len(rivals)}: loss {losses[0]:.3f}; "
        f"best {losses.min():.3f} {code_text(best)}; median {np.median(losses):.3f}"
    )


if __name__ == "__main__":
    main()
