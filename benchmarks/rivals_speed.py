"""An epoch of rivals beside PyKEEN's counterparts: same graph, batch, dimension and device.

    python benchmarks/rivals_speed.py fb237_v1 --device cpu --out RESULTS.jsonl

Both train in turn in one process, with inverse relations, Adam, and as many wrong answers for each
triplet: all entities (softmax), or some (PyKEEN draws them for each triplet, we for a batch). The
median of some epochs counts, without the first. PyKEEN's R-GCN makes inverse triplets by itself and
learns objects alone, so that an epoch of it has half as many rows.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pykeen.losses import CrossEntropyLoss, NSSALoss
from pykeen.models import RGCN, ComplEx, Model, RotatE, TransE
from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop
from pykeen.triples import CoreTriplesFactory

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.device import find_device
from interstellar.paths.biased_walk import sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.rivals.notation import read_model
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.runs.run import name_device
from interstellar.tasks.task import network_for, task_for
from interstellar.training.loop import SilentObserver, Training
from interstellar.training.settings import Optimizer
from interstellar.training.settings_changes import with_changes
from interstellar.workflow.given import final_settings
from propagations import find


@dataclass(frozen=True, slots=True)
class Pair:
    """A model of ours and of PyKEEN, which are the same."""

    ours: str
    theirs: Callable[..., Model]
    n_negatives: int | None
    """None: all entities, by softmax."""


PAIRS = (
    Pair("TransE-distance", TransE, None),
    Pair("ComplEx", ComplEx, None),
    Pair("RotatE", RotatE, 64),
    Pair("R-GCN", RGCN, 64),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph")
    parser.add_argument("--models", nargs="+", default=[pair.ours for pair in PAIRS])
    parser.add_argument("--dim", type=int, default=64, help="numbers of an entity")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    graph = interstellar.load(find(arguments.graph))
    assert isinstance(graph, KnowledgeGraph)
    for pair in (each for each in PAIRS if each.ours in arguments.models):
        line = compare(pair, graph, arguments)
        print(json.dumps(line), flush=True)
        if arguments.out is not None:
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def compare(pair: Pair, graph: KnowledgeGraph, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of an epoch on both sides."""
    device = find_device(arguments.device)
    ours = time_epochs(our_epoch(pair, graph, arguments, device), arguments.epochs)
    theirs = time_epochs(their_epoch(pair, graph, arguments, device), arguments.epochs)
    return {
        "graph": graph.name,
        "model": pair.ours,
        "negatives": pair.n_negatives or "all",
        "dim": arguments.dim,
        "batch": arguments.batch,
        "threads": arguments.threads,
        "device": name_device(device),
        "seconds": round(ours, 3),
        "pykeen_seconds": round(theirs, 3),
        "ratio": round(ours / theirs, 3),
    }


def time_epochs(epoch: Callable[[], object], n_epochs: int) -> float:
    """Return the median seconds, without the first epoch."""
    seconds = []
    for _ in range(n_epochs + 1):
        started = time.perf_counter()
        epoch()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:])


def our_epoch(
    pair: Pair, graph: KnowledgeGraph, arguments: argparse.Namespace, device: torch.device
) -> Callable[[], object]:
    settings = with_changes(
        final_settings(graph, pair.ours),
        dim=arguments.dim,
        batch_size=arguments.batch,
        optimizer=Optimizer.ADAM,
        learning_rate=0.001,
        n3=0.0,
        dropout=0.0,
        label_smoothing=0.0,
    )
    loss = RivalLoss.SOFTMAX if pair.n_negatives is None else RivalLoss.SELF_ADVERSARIAL
    settings = replace(
        settings,
        rival=None if settings.rival is None else replace(settings.rival, loss=loss),
        n_negatives=pair.n_negatives,
        max_epochs=10**6,
        validate_every=10**6,
    )
    task = task_for(graph)
    paths = sample_paths(WalkGraph.of(graph), settings.walk, seed=0, device=device)
    training = Training(
        network_for(task, read_model(pair.ours), settings),
        torch.from_numpy(paths.array).to(device),
        settings,
        seed=0,
        measure=lambda _: {},
    )
    return lambda: training.run_epoch(SilentObserver())


def their_epoch(
    pair: Pair, graph: KnowledgeGraph, arguments: argparse.Namespace, device: torch.device
) -> Callable[[], object]:
    factory = CoreTriplesFactory.create(
        mapped_triples=torch.from_numpy(graph.train.astype(np.int64)),
        num_entities=len(graph.entities),
        num_relations=len(graph.relations),
        create_inverse_triples=pair.theirs is not RGCN,
    )
    # Their complex vectors have `embedding_dim` pairs of numbers.
    dim = arguments.dim // 2 if pair.theirs in (ComplEx, RotatE) else arguments.dim
    loss = CrossEntropyLoss() if pair.n_negatives is None else NSSALoss()
    model = pair.theirs(triples_factory=factory, embedding_dim=dim, loss=loss, random_seed=0)
    model = model.to(device)
    optimizer = torch.optim.Adam(model.parameters())
    given: dict[str, Any] = {"model": model, "triples_factory": factory, "optimizer": optimizer}
    if pair.n_negatives is None:
        loop: Any = LCWATrainingLoop(**given)
    else:
        drawn = {"num_negs_per_pos": pair.n_negatives}
        loop = SLCWATrainingLoop(**given, negative_sampler_kwargs=drawn)
    return lambda: loop.train(
        factory, num_epochs=1, batch_size=arguments.batch, use_tqdm=False, only_size_probing=False
    )


if __name__ == "__main__":
    main()
