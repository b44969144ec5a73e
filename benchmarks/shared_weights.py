"""Where one architecture stands among random micro variants of its macro level, by shared weights.

The shared weights of that macro level are trained with variants drawn uniformly; after some epochs
the architecture and 30 random variants are compared on the validation triplets: by the loss, as the
micro level of hybrid search compares its two, and by the mean reciprocal rank.

    python benchmarks/shared_weights.py WN18RR "[0,0,2,0,0,0,0,0,0,0,0]" --device cuda
    python benchmarks/shared_weights.py geography-S3 PTransE-add --device cpu --epochs 1 3
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

import interstellar
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.graph import KnowledgeGraph, task_of
from interstellar.device import find_device
from interstellar.evaluation.ranks import double_ranks
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.searching.supernet import Supernet, queries_of, train_uniformly
from interstellar.tasks.task import task_for
from interstellar.training.presets import search_settings

N_VARIANTS, AT_ONCE = 30, 512


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
    graph = supernet.task.graph
    if not isinstance(graph, KnowledgeGraph):
        parser.error("two graphs have no triplets to validate")
    queries = queries_of(graph).to(supernet.step.paths.device)
    started = time.perf_counter()
    for epoch in range(1, max(arguments.epochs) + 1):
        train_uniformly(supernet, n_epochs=1, rng=rng)
        if epoch in arguments.epochs:
            seconds = time.perf_counter() - started
            print(
                f"epoch {epoch:2} {seconds:4.0f} s  {stand(supernet, rivals, queries)}", flush=True
            )


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


def stand(supernet: Supernet, rivals: Sequence[Architecture], queries: Tensor) -> str:
    """Return the place of the first among all, by loss and by mean reciprocal rank."""
    measured = [measure(supernet, rival, queries) for rival in rivals]
    loss, mrr = (np.array(values) for values in zip(*measured, strict=True))
    by_loss = f"by loss place {place_of_first(loss):2} ({loss[0]:.3f}, best {loss.min():.3f}"
    by_rank = f"by rank place {place_of_first(-mrr):2} ({mrr[0]:.4f}, best {mrr.max():.4f}"
    return (
        f"of {len(rivals)}: {by_loss}, median {np.median(loss):.3f}); "
        f"{by_rank}, median {np.median(mrr):.4f})"
    )


@torch.no_grad()
def measure(supernet: Supernet, architecture: Architecture, queries: Tensor) -> tuple[float, float]:
    supernet.set(architecture)
    losses, reciprocal_ranks = 0.0, 0.0
    for start in range(0, len(queries), AT_ONCE):
        part = queries[start : start + AT_ONCE]
        v = supernet.network.outputs(part[:, 0:-1:2], part[:, 1::2], None)
        true = part[:, 2].long()
        logits = v @ supernet.network.entities.T
        losses += float(functional.cross_entropy(logits, true, reduction="sum"))
        reciprocal_ranks += float((2 / double_ranks(logits, true)).sum())
    return losses / len(queries), reciprocal_ranks / len(queries)


def place_of_first(values: "np.ndarray[Any, Any]") -> int:
    """Return how many are smaller than the first, and one."""
    return 1 + int((values < values[0]).sum())


if __name__ == "__main__":
    main()
