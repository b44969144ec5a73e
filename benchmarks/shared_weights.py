"""Where one architecture stands among random micro variants of its macro level, by shared weights.

The shared weights of that macro level are trained with variants drawn uniformly; after some epochs
the architecture and 30 random variants are compared on the validation triplets: by the loss, as the
micro level of hybrid search compares its two, and by the mean reciprocal rank.

With `--scratch`, all of them are also trained from scratch for so many epochs, under the own
settings of the graph, and what is said is how well the shared weights rank them (Spearman). `any`
instead of an architecture: one supernet for the whole space, and architectures of all of it.

    python benchmarks/shared_weights.py WN18RR "[0,0,2,0,0,0,0,0,0,0,0]" --device cuda
    python benchmarks/shared_weights.py geography-S3 PTransE-add --device cpu --epochs 1 3
    python benchmarks/shared_weights.py umls any --scratch 9 --dim 32 --device cpu --epochs 1 3 9 27
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn import functional

from interstellar import SearchPlan
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form, first_of_each, one_step_form
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.data.graph import KnowledgeGraph, task_of
from interstellar.device import find_device
from interstellar.evaluation.ranks import double_ranks
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.rivals.network import Network
from interstellar.searching.supernet import Supernet, queries_of, train_uniformly
from interstellar.tasks.splits import Split
from interstellar.tasks.task import Task, build_network, task_for
from interstellar.training.loop import SilentObserver, Training
from interstellar.training.presets import search_settings
from interstellar.training.settings_changes import with_changes
from interstellar.workflow.given import trial_settings
from searches import load

Scores: TypeAlias = "np.ndarray[Any, Any]"

N_VARIANTS, AT_ONCE = 30, 512


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("architecture")
    parser.add_argument("--epochs", type=int, nargs="+", default=[1, 3, 6, 12, 20, 30])
    parser.add_argument("--scratch", type=int, help="epochs from scratch to compare with")
    parser.add_argument("--dim", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    is_any = arguments.architecture == "any"
    architecture = None if is_any else read_architecture(arguments.architecture)
    supernet = build_supernet(arguments, architecture)
    rng = np.random.default_rng(arguments.seed)
    rivals = draw_rivals(supernet, architecture)
    graph = supernet.task.graph
    if not isinstance(graph, KnowledgeGraph):
        parser.error("two graphs have no triplets to validate")
    queries = queries_of(graph).to(supernet.step.paths.device)
    scratch = train_all(supernet, rivals, arguments.seed) if arguments.scratch else None
    started = time.perf_counter()
    for epoch in range(1, max(arguments.epochs) + 1):
        train_uniformly(supernet, n_epochs=1, rng=rng)
        if epoch in arguments.epochs:
            seconds, measured = (
                time.perf_counter() - started,
                measure_all(supernet, rivals, queries),
            )
            said = stand(*measured) if scratch is None else correlate(*measured, scratch)
            print(f"epoch {epoch:2} {seconds:4.0f} s  {said}", flush=True)


def build_supernet(arguments: argparse.Namespace, architecture: Architecture | None) -> Supernet:
    graph = load(arguments.data)
    settings = search_settings(task_of(graph), graph.name)
    if arguments.scratch:
        own = trial_settings(graph, SearchPlan())
        settings = replace(own, max_epochs=arguments.scratch, validate_every=1)
    settings = with_changes(settings, dim=arguments.dim)
    device = find_device(arguments.device)
    paths = sample_paths(
        WalkGraph.of(graph), settings.walk, seed=arguments.seed, device=device
    ).array
    return Supernet(
        task_for(graph),
        SearchSpace(),
        None if architecture is None else architecture.macro,
        settings,
        torch.from_numpy(paths).to(device),
        seed=arguments.seed,
    )


def draw_rivals(supernet: Supernet, architecture: Architecture | None) -> list[Architecture]:
    """Return the architecture, if there is one, and variants that differ on single triplets too."""
    rng = np.random.default_rng(7)
    first = [] if architecture is None else [architecture]
    drawn = [supernet.sample(rng) for _ in range(10 * N_VARIANTS)]
    form = one_step_form if supernet.settings.walk.length == 1 else canonical_form
    return first_of_each([*first, *drawn], form)[: N_VARIANTS + len(first)]


def train_all(supernet: Supernet, rivals: Sequence[Architecture], seed: int) -> Scores:
    """Return the best score of each from scratch; say how well its first epoch tells it."""
    task, settings = supernet.task, supernet.settings
    started, curves = time.perf_counter(), []
    for rival in rivals:
        network = build_network(task, rival, dim=settings.dim, dropout=settings.dropout)
        training = Training(
            network, supernet.step.paths, settings, seed=seed, measure=validate(task)
        )
        while not training.progress.is_over:
            training.run_epoch(SilentObserver())
        reports = training.progress.reports
        curves.append([report.valid[settings.metric] for report in reports if report.valid])
    first, best = (np.array([over(curve) for curve in curves]) for over in (itemgetter(0), max))
    seconds, told = time.perf_counter() - started, spearmanr(first, best).statistic
    spread = f"median {np.median(best):.3f}, best {best.max():.3f}"
    print(
        f"from scratch {seconds:4.0f} s  {spread}; one epoch ranks them by {told:.2f}", flush=True
    )
    return best


def validate(task: Task) -> Callable[[Network], dict[str, float]]:
    return lambda network: task.measure(network, Split.VALID).as_dict()


def correlate(loss: Scores, mrr: Scores, scratch: Scores) -> str:
    by_loss, by_rank = (spearmanr(shared, scratch).statistic for shared in (-loss, mrr))
    return f"of {len(loss)}: by loss {by_loss:.2f}, by rank {by_rank:.2f}"


def stand(loss: Scores, mrr: Scores) -> str:
    """Return the place of the first among all, by loss and by mean reciprocal rank."""
    by_loss = f"by loss place {place_of_first(loss):2} ({loss[0]:.3f}, best {loss.min():.3f}"
    by_rank = f"by rank place {place_of_first(-mrr):2} ({mrr[0]:.4f}, best {mrr.max():.4f}"
    return (
        f"of {len(loss)}: {by_loss}, median {np.median(loss):.3f}); "
        f"{by_rank}, median {np.median(mrr):.4f})"
    )


def measure_all(
    supernet: Supernet, rivals: Sequence[Architecture], queries: Tensor
) -> tuple[Scores, Scores]:
    measured = [measure(supernet, rival, queries) for rival in rivals]
    loss, mrr = (np.array(values) for values in zip(*measured, strict=True))
    return loss, mrr


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


def place_of_first(values: Scores) -> int:
    """Return how many are smaller than the first, and one."""
    return 1 + int((values < values[0]).sum())


if __name__ == "__main__":
    main()
