"""Where the ranks of a network come from: its relations, their kinds, and distance.

Kinds are those of Bordes et al. 2013: of a relation, how many subjects an object has on average,
and how many objects a subject, over all triplets of the data set; below 1.5 counts as 1, all else
as N. Distance is that of subject and object in the training graph (`data/statistics.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.statistics import HOPS, measure_hops
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets, with_inverses
from interstellar.device import find_device
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.ranks import rank_objects
from interstellar.rivals.network import Network
from interstellar.runs.trained_run import open_run
from interstellar.tasks.link_prediction import LinkPrediction

MANY = 1.5
"""From this average on a side of a relation is N."""
BINS = ((1, "1"), (3, "2–3"), (10, "4–10"), (30, "11–30"), (100, "31–100"), (1000, "101–1000"))
"""Of ranks: the highest in each, and its name; what is above is `BEYOND`."""
BEYOND = "> 1000"

Floats = npt.NDArray[np.float64]


class RelationKind(StrEnum):
    """How many subjects an object has, and how many objects a subject."""

    ONE_TO_ONE = "1-1"
    ONE_TO_MANY = "1-N"
    MANY_TO_ONE = "N-1"
    MANY_TO_MANY = "N-N"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedGroup:
    """The ranks of some test triplets, asked both ways."""

    name: str
    kind: str
    both: Metrics
    objects: Metrics
    """Where the object was asked for."""
    subjects: Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStudy:
    """The ranks of a network on the test split."""

    shares: tuple[tuple[str, float], ...]
    """Of ranks in each bin."""
    counts: tuple[int, ...]
    by_relation: tuple[RankedGroup, ...]
    """The most frequent first."""
    by_kind: tuple[RankedGroup, ...]
    by_hops: tuple[RankedGroup, ...]


def study_run(folder: Path, device: str) -> RankStudy | None:
    """Return the study of a finished run; None: it aligns entities, or has no test triplets."""
    trained = open_run(folder, find_device(device))
    task = trained.task
    if not isinstance(task, LinkPrediction) or len(task.graph.test) == 0:
        return None
    return study_ranks(task, trained.network)


def study_ranks(task: LinkPrediction, network: Network) -> RankStudy:
    """Return where the ranks of a network on the test split come from."""
    graph = task.graph
    ranks = rank_objects(
        network.logits,
        with_inverses(graph.test, len(graph.relations)),
        task.known,
        n_entities=len(graph.entities),
        device=network.device,
    ).numpy()
    relations = graph.test[:, RELATION]
    kinds = relation_kinds(graph)
    kind_of_triplet = np.array([kinds[int(relation)] for relation in relations])
    hops = measure_hops(graph.train, graph.test, n_entities=len(graph.entities))
    counts = count_ranks(ranks)
    names = [*(name for _, name in BINS), BEYOND]
    numbers, n_triplets = np.unique(relations, return_counts=True)
    frequent = numbers[np.argsort(-n_triplets, kind="stable")]
    return RankStudy(
        shares=tuple(zip(names, (n / len(ranks) for n in counts), strict=True)),
        counts=counts,
        by_relation=tuple(
            _group(graph.relations.label(r), ranks, relations == r, kinds[int(r)]) for r in frequent
        ),
        by_kind=tuple(
            _group(kind, ranks, kind_of_triplet == kind, kind)
            for kind in RelationKind
            if (kind_of_triplet == kind).any()
        ),
        by_hops=tuple(_by_hops(ranks, hops)),
    )


def relation_kinds(graph: KnowledgeGraph) -> list[RelationKind]:
    """Return the kind of each relation, over the triplets of all splits."""
    triplets = np.concatenate([graph.train, graph.valid, graph.test])
    n = len(graph.relations)
    n_triplets = np.bincount(triplets[:, RELATION], minlength=n)
    per_subject = n_triplets / _count_pairs(triplets, SUBJECT, n)
    per_object = n_triplets / _count_pairs(triplets, OBJECT, n)
    return [
        _kind(has_many_subjects=subjects >= MANY, has_many_objects=objects >= MANY)
        for subjects, objects in zip(per_object.tolist(), per_subject.tolist(), strict=True)
    ]


def count_ranks(ranks: Floats) -> tuple[int, ...]:
    """Return how many ranks each bin holds; half places count as the next whole one."""
    bounds = [highest for highest, _ in BINS]
    places = np.searchsorted(bounds, np.ceil(ranks))
    return tuple(np.bincount(places, minlength=len(BINS) + 1).tolist())


def _count_pairs(triplets: Triplets, side: int, n_relations: int) -> Floats:
    """Return of each relation how many entities stand on a side; at least 1."""
    pairs = np.unique(triplets[:, [RELATION, side]], axis=0)
    return np.maximum(1, np.bincount(pairs[:, 0], minlength=n_relations)).astype(np.float64)


def _kind(*, has_many_subjects: bool, has_many_objects: bool) -> RelationKind:
    match has_many_subjects, has_many_objects:
        case False, False:
            return RelationKind.ONE_TO_ONE
        case False, True:
            return RelationKind.ONE_TO_MANY
        case True, False:
            return RelationKind.MANY_TO_ONE
        case _:
            return RelationKind.MANY_TO_MANY


def _by_hops(ranks: Floats, hops: npt.NDArray[np.int64]) -> Iterator[RankedGroup]:
    for distance, name in enumerate(HOPS, 1):
        if (hops == distance).any():
            yield _group(name, ranks, hops == distance, "")


def _group(name: str, ranks: Floats, is_in: npt.NDArray[np.bool_], kind: str) -> RankedGroup:
    """Return the metrics of some test triplets; ranks of objects stand before those of subjects."""
    objects, subjects = (torch.from_numpy(half[is_in]) for half in np.split(ranks, 2))
    return RankedGroup(
        name=name,
        kind=str(kind),
        both=Metrics.of(torch.cat([objects, subjects])),
        objects=Metrics.of(objects),
        subjects=Metrics.of(subjects),
    )
