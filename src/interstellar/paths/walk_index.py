"""The edges of a `WalkGraph` in the order in which a walk looks them up.

One sorted array of 64-bit keys is everything at once: the edges by subject, the edges that the
cross bias favours first within each row, and the answer to "is this an edge?".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.triplets import OBJECT, RELATION, SUBJECT
from interstellar.errors import DataError, SettingsError
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_settings import WalkRule, WalkSettings

BLOCK = 2**16
"""Triplets packed and keys sorted at a time, so that temporaries stay in the cache."""
_MAX_RUN_BITS = 16
"""NumPy sorts whole numbers of up to 16 bits by radix, in a time that does not grow."""

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The bits of an edge's key, from high to low: subject, group, relation, object.

    Group 0 is favoured by the cross bias, group 1 is not.
    """

    entity_bits: int
    relation_bits: int

    @classmethod
    def of(cls, graph: WalkGraph) -> "KeyLayout":
        """Return the narrowest layout that holds the ids of `graph`."""
        layout = cls(
            max(1, (graph.n_entities - 1).bit_length()), (2 * graph.n_relations - 1).bit_length()
        )
        if layout.subject_shift + layout.entity_bits > 63:
            raise DataError(
                f"The graph has {graph.n_entities} entities and {graph.n_relations} relations, "
                "which do not fit keys of 63 bits (twice the bits of an entity, the bits of a "
                "relation and its inverse, and one more). Leave out rare relations or entities."
            )
        return layout

    @property
    def group_bit(self) -> int:
        """The bit that is set in the keys of group 1."""
        return 1 << (self.relation_bits + self.entity_bits)

    @property
    def subject_shift(self) -> int:
        """How far a subject is shifted."""
        return self.relation_bits + self.entity_bits + 1

    def objects(self, keys: Tensor) -> Tensor:
        """Return the object of each key."""
        return keys.bitwise_and(2**self.entity_bits - 1)

    def relations(self, keys: Tensor) -> Tensor:
        """Return the relation of each key."""
        return keys.bitwise_right_shift(self.entity_bits).bitwise_and_(2**self.relation_bits - 1)

    def subjects(self, keys: Tensor) -> Tensor:
        """Return the subject of each key."""
        return keys.bitwise_right_shift(self.subject_shift)

    def with_subjects(self, keys: Tensor, subjects: Tensor) -> Tensor:
        """Return the keys of the same edges leaving `subjects` instead."""
        edges = keys.bitwise_and(2**self.subject_shift - 1)
        return edges.bitwise_or_(subjects << self.subject_shift)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkIndex:
    """Sorted edges, and for each entity where its row is and how it divides."""

    layout: KeyLayout
    keys: Tensor
    """Shape (n_edges,), int64, ascending."""
    bounds: Tensor
    """Shape (n_entities + 1,): entity e has the edges from place bounds[e] up to bounds[e + 1]."""
    middle: Tensor
    """Shape (n_entities,): where the edges of group 1 begin, after those of group 0."""
    twins: Tensor
    """Shape (n_entities,): entities with equal numbers have the same outgoing edges."""
    near: Tensor | None
    """Ascending keys of (entity, itself or a neighbour); only for the paper's rule."""

    @classmethod
    def build(cls, graph: WalkGraph, settings: WalkSettings) -> "WalkIndex":
        """Return the index on the CPU; time and memory grow with the triplets."""
        if settings.cross_bias is not None and graph.seeds is None:
            raise SettingsError(
                f"cross_bias is {settings.cross_bias}, but there is one graph only. "
                "Leave cross_bias out, or give two graphs with seed pairs."
            )
        layout = KeyLayout.of(graph)
        keys, bounds = _sorted_keys(graph, settings, layout)
        middle = bounds[1:]
        if settings.cross_bias is not None:
            rows = np.arange(graph.n_entities, dtype=np.int64) << layout.subject_shift
            middle = np.searchsorted(keys, rows | layout.group_bit)
        is_near_needed = settings.rule is WalkRule.PAPER
        each_alone = np.arange(graph.n_entities, dtype=np.int32)
        return cls(
            layout=layout,
            keys=torch.from_numpy(keys),
            bounds=_compact(bounds),
            middle=_compact(middle),
            twins=torch.from_numpy(each_alone if graph.twins is None else graph.twins),
            near=torch.from_numpy(_near_keys(keys, layout)) if is_near_needed else None,
        )

    def n_edges(self, entities: Tensor) -> Tensor:
        """Return how many edges leave each of the entities."""
        stop = self.bounds.index_select(0, entities + 1)
        return stop.sub_(self.bounds.index_select(0, entities))

    def to(self, device: torch.device) -> "WalkIndex":
        """Return the same index on `device`."""
        tensors = {name: getattr(self, name) for name in ("keys", "bounds", "middle", "twins")}
        moved = {name: tensor.to(device) for name, tensor in tensors.items()}
        return replace(self, **moved, near=None if self.near is None else self.near.to(device))


def _sorted_keys(
    graph: WalkGraph, settings: WalkSettings, layout: KeyLayout
) -> tuple[Int64s, Int64s]:
    """Return the keys, ascending and each once, and where the row of each entity begins.

    They are dealt into runs of neighbouring subjects, and the runs are sorted one by one: in
    the cache, so that the time per key does not grow with the graph.
    """
    # Runs of 2ᵇ subjects that have about `BLOCK` keys, if the keys are even.
    n_runs = max(1, graph.n_triplets // BLOCK)
    most = (graph.n_entities - 1).bit_length()
    run_bits = max(most - min(n_runs.bit_length() - 1, _MAX_RUN_BITS), 0)
    keys, run_bounds = _deal(graph, settings, layout, run_bits)
    bounds = np.empty(graph.n_entities + 1, dtype=np.int64)
    n_kept = 0
    for number, (start, stop) in enumerate(pairwise(run_bounds.tolist())):
        # torch sorts whole numbers by radix, which takes half the time of NumPy's comparisons.
        run = _without_repeats(torch.from_numpy(keys[start:stop]).sort().values.numpy())
        keys[n_kept : n_kept + len(run)] = run
        first = number << run_bits
        last = min(first + (1 << run_bits), graph.n_entities)
        rows = np.arange(first, last, dtype=np.int64) << layout.subject_shift
        bounds[first:last] = n_kept + np.searchsorted(run, rows)
        n_kept += len(run)
    bounds[-1] = n_kept
    return keys[:n_kept], bounds


def _deal(
    graph: WalkGraph, settings: WalkSettings, layout: KeyLayout, run_bits: int
) -> tuple[Int64s, Int64s]:
    """Return the keys, those of each run together in any order, and the bounds of the runs."""
    n_runs = ((graph.n_entities - 1) >> run_bits) + 1
    bounds = np.zeros(n_runs + 1, dtype=np.int64)
    for start in range(0, len(graph.forward), BLOCK):
        ends = graph.forward[start : start + BLOCK, [SUBJECT, OBJECT]] >> run_bits
        bounds[1:] += np.bincount(ends.ravel(), minlength=n_runs)
    np.cumsum(bounds, out=bounds)
    keys = np.empty(graph.n_triplets, dtype=np.int64)
    free = bounds[:-1].copy()
    for block in _packed(graph, settings, layout):
        runs = (block >> (layout.subject_shift + run_bits)).astype(np.uint16)
        counts = np.bincount(runs, minlength=n_runs)
        free += counts
        by_run = np.argsort(runs, kind="stable")
        places = np.repeat(free - counts.cumsum(), counts)
        places += np.arange(len(block))
        keys[places] = block[by_run]
    return keys, bounds


def _packed(graph: WalkGraph, settings: WalkSettings, layout: KeyLayout) -> Iterator[Int64s]:
    for start in range(0, len(graph.forward), BLOCK):
        block = graph.forward[start : start + BLOCK].T.astype(np.int64, order="C")
        s, r, o = block[SUBJECT], block[RELATION], block[OBJECT]
        for subjects, relations, objects in ((s, r, o), (o, r + graph.n_relations, s)):
            keys = subjects << layout.subject_shift
            keys |= relations << layout.entity_bits
            keys |= objects
            if settings.cross_bias is not None:
                keys[~_favoured(graph, settings.rule, subjects, objects)] |= layout.group_bit
            yield keys


def _favoured(
    graph: WalkGraph, rule: WalkRule, subjects: Int64s, objects: Int64s
) -> npt.NDArray[np.bool_]:
    assert graph.seeds is not None
    assert graph.n_first is not None
    match rule:
        case WalkRule.PROGRAM:
            return graph.seeds[objects]
        case WalkRule.PAPER:
            crosses: npt.NDArray[np.bool_] = (subjects < graph.n_first) != (objects < graph.n_first)
            return crosses
        case _:
            assert_never(rule)


def _near_keys(keys: Int64s, layout: KeyLayout) -> Int64s:
    entities = np.arange((int(keys[-1]) >> layout.subject_shift) + 1, dtype=np.int64)
    edges = (keys >> layout.subject_shift) << layout.entity_bits
    edges |= keys & (2**layout.entity_bits - 1)
    return np.unique(np.concatenate([edges, entities << layout.entity_bits | entities]))


def _without_repeats(ascending: Int64s) -> Int64s:
    is_new = ascending[1:] != ascending[:-1]
    return ascending if is_new.all() else ascending[np.concatenate([[True], is_new])]


def _compact(places: Int64s) -> Tensor:
    return torch.from_numpy(places.astype(np.int32 if places[-1] < 2**31 else np.int64))
