"""Updating a run against training from nothing: quality on old and new facts, and time.

    python benchmarks/update.py [SET] [ARCHITECTURE] [--dim N] [--epochs N] [--seed N]

A tenth of the entities is taken out of the graph with all their triplets, and a network is trained
on the rest. Then most of these triplets are added, by updates of several lengths and by training
from nothing. MRR is filtered, in both directions, on what the network never saw: test triplets
between old entities, and triplets of new ones.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets, with_inverses
from interstellar.data.vocabulary import Vocabulary
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.ranks import rank_objects
from interstellar.runs.experiment import Experiment
from interstellar.runs.trained_run import open_run
from interstellar.runs.training_run import train_run
from interstellar.runs.update_run import plan_update, update_run
from interstellar.training.settings_changes import with_changes
from interstellar.workflow.given import final_settings

CPU = torch.device("cpu")
EPOCHS = (2, 5, 10, 20)
SHARES = (1.0, 0.3)
"""Of the learning rate that the run began with."""

Row = tuple[str, str, str]


@dataclass(frozen=True)
class Cut:
    """A graph without some entities, and their triplets by name: most to add, some to find."""

    graph: KnowledgeGraph
    added: list[Row]
    unseen: list[Row]


def main() -> None:
    given = read_arguments()
    torch.set_num_threads(1)
    cut = cut_out(load(given.data), np.random.default_rng(given.seed))
    settings = with_changes(final_settings(cut.graph), dim=given.dim, epochs=given.epochs)
    experiment = Experiment(
        data=given.data, architecture=given.architecture, seed=given.seed, settings=settings
    )
    n_old, n_unseen = len(cut.graph.test), len(cut.unseen)
    print(f"{given.data}, {given.architecture}: {len(cut.graph.train):,} triplets, then ", end="")
    print(f"{len(cut.added):,} more; MRR on {n_old} old and {n_unseen} new ones")
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        train = partial(train_run, experiment, device=CPU)
        show("before", old, cut, clock(partial(train, old, graph=cut.graph)))
        whole = plan_update(old, cut.added).graph
        new = Path(folder) / "from nothing"
        show("from nothing", new, cut, clock(partial(train, new, graph=whole)))
        for share, epochs in itertools.product(SHARES, EPOCHS):
            rate = share * settings.learning_rate
            out = Path(folder) / f"{share} {epochs}"
            seconds = clock(partial(update, old, cut, out, epochs, rate))
            show(f"update, {epochs} epochs at {share:g} of the rate", out, cut, seconds)


def update(old: Path, cut: Cut, out: Path, epochs: int, rate: float) -> None:
    planned = plan_update(old, cut.added, epochs=epochs, learning_rate=rate)
    update_run(planned, out, device=CPU)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What an update costs and gives.")
    parser.add_argument("data", nargs="?", default="geography-S1")
    parser.add_argument("architecture", nargs="?", default="ComplEx")
    parser.add_argument("--dim", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def load(data: str) -> KnowledgeGraph:
    graph = interstellar.load(data)
    assert isinstance(graph, KnowledgeGraph)
    return graph


def cut_out(graph: KnowledgeGraph, rng: np.random.Generator) -> Cut:
    """Take a tenth of the entities out, but none that queries choose among."""
    n = len(graph.entities)
    free = np.setdiff1d(np.arange(n), [] if graph.answers is None else graph.answers)
    is_new = np.zeros(n, dtype=bool)
    is_new[rng.choice(free, round(n / 10), replace=False)] = True
    names_new = {
        split: is_new[graph.split(split)[:, [0, 2]]].any(axis=1)
        for split in ("train", "valid", "test")
    }
    kept = {split: graph.split(split)[~is_named] for split, is_named in names_new.items()}
    added, unseen = hold_out(graph.train[names_new["train"]], n, rng)
    held_out = [graph.split(split)[names_new[split]] for split in ("valid", "test")]
    return Cut(
        without(graph, ~is_new, kept),
        name(graph, added),
        name(graph, np.concatenate([unseen, *held_out])),
    )


def hold_out(
    triplets: Triplets, n_entities: int, rng: np.random.Generator
) -> tuple[Triplets, Triplets]:
    """Hold about 15 % out; whatever they name is named at least twice by the others."""
    degrees = np.bincount(triplets[:, [0, 2]].ravel(), minlength=n_entities)
    is_unseen = np.zeros(len(triplets), dtype=bool)
    for row in rng.permutation(len(triplets)):
        ends = triplets[row, [0, 2]]
        if is_unseen.mean() < 0.15 and (degrees[ends] > 2).all():
            is_unseen[row] = True
            degrees[ends] -= 1
    return triplets[~is_unseen], triplets[is_unseen]


def without(
    graph: KnowledgeGraph, is_kept: npt.NDArray[np.bool_], kept: dict[str, Triplets]
) -> KnowledgeGraph:
    """Number the entities that are left anew."""
    ids = (np.cumsum(is_kept) - 1).astype(np.int32)
    names = [graph.entities.name(i) for i in np.flatnonzero(is_kept).tolist()]
    parts = {}
    for split, triplets in kept.items():
        parts[split] = triplets.copy()
        parts[split][:, [0, 2]] = ids[triplets[:, [0, 2]]]
    answers = None if graph.answers is None else ids[graph.answers]
    return replace(
        graph,
        entities=Vocabulary(names),
        answers=answers,
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
    )


def name(graph: KnowledgeGraph, triplets: Triplets) -> list[Row]:
    entities, relations = graph.entities, graph.relations
    return [
        (entities.name(s), relations.name(r), entities.name(o)) for s, r, o in triplets.tolist()
    ]


def clock(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def show(title: str, run: Path, cut: Cut, seconds: float) -> None:
    trained = open_run(run, CPU)
    graph = trained.task.graph
    assert isinstance(graph, KnowledgeGraph)
    entities, relations = graph.entities, graph.relations
    rows = [(entities.id(s), relations.id(r), entities.id(o)) for s, r, o in cut.unseen]
    unseen = np.array(rows, dtype=np.int32)
    unseen = unseen[(unseen >= 0).all(axis=1)]
    known = KnownAnswers.of(replace(graph, test=np.concatenate([graph.test, unseen])))

    def mrr(triplets: Triplets) -> str:
        if len(triplets) == 0:
            return "    -"
        ranks = rank_objects(
            trained.network.logits,
            with_inverses(triplets, len(relations)),
            known,
            n_entities=len(entities),
            device=CPU,
        )
        return f"{Metrics.of(ranks).mrr:.3f}"

    print(f"{title:<36} old {mrr(graph.test)}  new {mrr(unseen)}  {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
