"""The biased walk: every triplet begins a few paths, and each next step is drawn by weight.

Exact without computing any row of weights: an edge is drawn by its cross bias in constant time,
and a step that the depth bias does not favour is accepted with probability (1 − α)/α, others
always; the rejected are drawn again.

A random number is computed from its place: path, step and round. The n-th number of SplitMix64
(Steele, Lea and Flood, 2014) needs no other number of the stream. All arithmetic is elementwise,
so that every chunk size, number of threads and device gives the same paths.
"""

from collections.abc import Callable, Iterator
from typing import assert_never, final

import numpy as np
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.paths.path_table import PathTable
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_index import WalkIndex
from interstellar.paths.walk_settings import WalkRule, WalkSettings
from interstellar.randomness import derive_key
from interstellar.watching import say_how_far

Progress = Callable[[int, int], None]
"""Is told how many paths are done, and of how many."""

MAX_ROUNDS = 12
"""Draws of one step before its weights are computed in full."""

CPU_CHUNK = 2**16
"""Paths computed together: with fewer, calls cost more than work; more leave the cache."""
CUDA_CHUNK = 2**21

MAX_EDGES = 2**22
"""Edges looked at together; a single row may have more."""

_STEP_BITS = 16
_ROUND_BITS = 8
MAX_STEP = 2**_STEP_BITS - 1
MAX_ROUND = 2**_ROUND_BITS - 1
_GAMMA = 0x9E3779B97F4A7C15

IsNear = Callable[[Tensor, Tensor], Tensor]
"""Tells of edges (keys) and anchors whether the depth bias disfavours them."""


def sample_paths(
    graph: WalkGraph,
    settings: WalkSettings,
    *,
    seed: int,
    device: torch.device,
    chunk_size: int | None = None,
    progress: Progress | None = None,
) -> PathTable:
    """Return `paths_per_triplet` paths for each triplet, ordered by their first subject.

    Graph, settings and seed decide the paths, nothing else does: neither the device on which they
    are computed nor how many at once (`chunk_size`). The table is on the CPU.
    """
    if chunk_size is None:
        chunk_size = CPU_CHUNK if device.type == "cpu" else CUDA_CHUNK
    if chunk_size < 1:
        raise SettingsError(
            f"chunk_size is {chunk_size}, but a chunk holds at least one path. "
            "Leave it out to have one that suits the device."
        )
    index = WalkIndex.build(graph, settings).to(device)
    walk = BiasedWalk(index, settings, key=derive_key(seed, "paths"))
    return walk.all_paths(chunk_size, progress)


@final
class BiasedWalk:
    """Computes any of the paths that graph, settings and key define."""

    def __init__(self, index: WalkIndex, settings: WalkSettings, *, key: int) -> None:
        self.n_paths = settings.paths_per_triplet * len(index.keys)
        self._index = index
        self._settings = settings
        self._key = key
        self._acceptance = (1 - settings.depth_bias) / settings.depth_bias

    def paths(self, numbers: Tensor) -> Tensor:
        """Return the paths with these numbers, int32 of shape (n, 2 · length + 1)."""
        layout, length = self._index.layout, self._settings.length
        states = path_states(self._key, numbers)
        keys = self._index.keys.index_select(0, numbers // self._settings.paths_per_triplet)
        start = layout.subjects(keys)
        shape = (2 * length + 1, len(numbers))
        columns = torch.empty(shape, dtype=torch.int32, device=numbers.device)
        columns[0] = start
        previous = start
        for step in range(1, length + 1):
            if step > 1:
                current = layout.objects(keys)
                anchor = self._anchor(step, start, previous)
                keys = self._draw(step, states, current, anchor)
                previous = current
            columns[2 * step - 1] = layout.relations(keys)
            columns[2 * step] = layout.objects(keys)
        return columns.T

    def all_paths(self, chunk_size: int, progress: Progress | None = None) -> PathTable:
        """Return every path, computed chunk by chunk."""
        table = np.empty((self.n_paths, 2 * self._settings.length + 1), dtype=np.int32)
        for start in range(0, self.n_paths, chunk_size):
            stop = min(start + chunk_size, self.n_paths)
            numbers = torch.arange(start, stop, device=self._index.keys.device)
            torch.from_numpy(table[start:stop]).copy_(self.paths(numbers))
            say_how_far("sampling paths", stop, self.n_paths, "paths")
            if progress is not None:
                progress(stop, self.n_paths)
        return PathTable(table)

    def _anchor(self, step: int, start: Tensor, previous: Tensor) -> Tensor | None:
        """Return the entities that the depth bias leads away from, if it acts at this step."""
        match self._settings.rule:
            case WalkRule.PROGRAM:
                return start if step > 2 else None
            case WalkRule.PAPER:
                return previous
            case _:
                assert_never(self._settings.rule)

    def _draw(self, step: int, states: Tensor, current: Tensor, anchor: Tensor | None) -> Tensor:
        """Return the key of the edge that each path takes from its current entity."""
        keys, leftover = self._propose(uniform(states, step=step, round=0), current)
        if anchor is None:
            return keys
        rejected = self._rejected(keys, leftover, current, anchor)
        rows = rejected
        for attempt in range(1, MAX_ROUNDS + 1):
            if len(rows) == 0:
                break
            states, current, anchor = (x[rejected] for x in (states, current, anchor))
            u = uniform(states, step=step, round=attempt)
            if attempt == MAX_ROUNDS:
                keys[rows] = draw_by_weight(
                    self._index, self._settings, self._is_near, u=u, current=current, anchor=anchor
                )
                break
            proposed, leftover = self._propose(u, current)
            keys[rows] = proposed
            rejected = self._rejected(proposed, leftover, current, anchor)
            rows = rows[rejected]
        return keys

    def _propose(self, u: Tensor, current: Tensor) -> tuple[Tensor, Tensor]:
        """Draw edges by their cross bias alone.

        One uniform number makes all choices: where it falls decides the edge, and where it falls
        within that edge's share is uniform again (the `leftover`) and decides acceptance.
        """
        index, beta = self._index, self._settings.cross_bias
        start = index.bounds.index_select(0, current)
        stop = index.bounds.index_select(0, current + 1)
        if beta is None:
            place = u.mul_(stop - start)
        else:
            middle = index.middle.index_select(0, current)
            place = _place_by_group(u, middle - start, stop - middle, beta)
        # Rounding must not step over the end of the row.
        offset = torch.minimum(place.long(), stop.sub_(start).sub_(1))
        return index.keys.index_select(0, offset + start), place.sub_(offset)

    def _rejected(self, keys: Tensor, leftover: Tensor, current: Tensor, anchor: Tensor) -> Tensor:
        """Return the rows, ascending, whose edge the depth bias rejects."""
        rejected = self._is_near(keys, anchor).logical_and_(leftover >= self._acceptance)
        rows = rejected.nonzero().squeeze(1)
        return rows[self._may_reject(current[rows], anchor[rows])]

    def _may_reject(self, current: Tensor, anchor: Tensor) -> Tensor:
        """Return False for rows known to weigh all their edges alike: none need be rejected.

        That is a row of one edge, and the row of the anchor or its twin, all of it near.
        """
        index = self._index
        return (index.n_edges(current) > 1).logical_and_(
            index.twins[current] != index.twins[anchor]
        )

    def _is_near(self, keys: Tensor, anchor: Tensor) -> Tensor:
        """Return whether the depth bias gives an edge 1 − α, as what is near the anchor."""
        index = self._index
        if index.near is None:
            return contains(index.keys, index.layout.with_subjects(keys, anchor))
        return contains(index.near, index.layout.objects(keys) | anchor << index.layout.entity_bits)


def _place_by_group(u: Tensor, n_favoured: Tensor, n_others: Tensor, beta: float) -> Tensor:
    """Return a place in a row whose first `n_favoured` edges weigh β and the others 1 − β."""
    favoured_weight = n_favoured.double().mul_(beta)
    place = n_others.double().mul_(1 - beta).add_(favoured_weight).mul_(u)
    beyond = place - favoured_weight
    is_favoured = beyond < 0
    among_others = beyond.div_(1 - beta).add_(n_favoured)
    return torch.where(is_favoured, place.div_(beta), among_others)


def contains(ascending: Tensor, keys: Tensor) -> Tensor:
    """Return which of the keys are among the ascending ones.

    Only those between the least and the largest key are searched: for the paths of a chunk,
    which begin close together, these are few enough for the cache.
    """
    if len(keys) == 0:
        return torch.empty_like(keys, dtype=torch.bool)
    first, last = torch.searchsorted(ascending, torch.stack(keys.aminmax())).tolist()
    ascending = ascending[max(first - 1, 0) : last + 1]
    places = torch.searchsorted(ascending, keys).clamp_(max=len(ascending) - 1)
    return ascending.index_select(0, places) == keys


def draw_by_weight(
    index: WalkIndex,
    settings: WalkSettings,
    is_near: IsNear,
    *,
    u: Tensor,
    current: Tensor,
    anchor: Tensor,
) -> Tensor:
    """Return the key of one edge from each entity in `current`, chosen by uniform numbers `u`.

    The plain way to draw a step, for the few rows that need it: it weighs every edge of the row.
    Where nearly all of a row is disfavoured, drawing again and again would take long. Only whole
    numbers are summed, so that the result does not depend on the order of summation.
    """
    n_edges = index.n_edges(current).long()
    drawn = torch.empty_like(current)
    for rows in _slabs(n_edges):
        n = n_edges[rows]
        begin = n.cumsum(0) - n
        owner = torch.arange(len(n), device=n.device).repeat_interleave(n)
        first = index.bounds.index_select(0, current[rows]) - begin
        keys = index.keys[torch.arange(len(owner), device=n.device) + first[owner]]
        kind = 2 * ((keys & index.layout.group_bit) != 0) + is_near(keys, anchor[rows][owner])
        counts = torch.bincount(4 * owner + kind, minlength=4 * len(n)).view(-1, 4)
        chosen, nth = _choose_kind(counts, _weight_by_kind(settings), u[rows])
        matches = kind == chosen[owner]
        n_matches = matches.cumsum(0)
        n_before = n_matches[begin] - matches[begin].long()
        drawn[rows] = keys[torch.searchsorted(n_matches, n_before + nth + 1)]
    return drawn


def _slabs(n_edges: Tensor) -> Iterator[slice]:
    slab = (n_edges.cumsum(0) - n_edges) // MAX_EDGES
    start = 0
    for n_rows in torch.unique_consecutive(slab, return_counts=True)[1].tolist():
        yield slice(start, start + n_rows)
        start += n_rows


def _weight_by_kind(settings: WalkSettings) -> tuple[float, float, float, float]:
    """Return the weight of an edge by 2 · (not favoured by β) + (near the anchor)."""
    alpha = settings.depth_bias
    beta = 1.0 if settings.cross_bias is None else settings.cross_bias
    return (beta * alpha, beta * (1 - alpha), (1 - beta) * alpha, (1 - beta) * (1 - alpha))


def _choose_kind(
    counts: Tensor, weight_by_kind: tuple[float, float, float, float], u: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a kind for each row of `counts`, (n, 4), and which edge of that kind."""
    weights = torch.tensor(weight_by_kind, dtype=torch.float64, device=counts.device)
    shares = counts * weights
    upper = shares.clone()
    for kind in range(1, 4):
        upper[:, kind] += upper[:, kind - 1]
    place = u * upper[:, 3]
    chosen = (place.unsqueeze(1) >= upper[:, :3]).sum(1)
    column = chosen.unsqueeze(1)
    within = place - (upper - shares).gather(1, column).squeeze(1)
    nth = (within / weights[chosen]).long()
    n_of_kind = counts.gather(1, column).squeeze(1)
    return chosen, torch.minimum(nth.clamp_(min=0), n_of_kind - 1)


def path_states(key: int, paths: Tensor) -> Tensor:
    """Return the state of each path's part of the stream that `key` (64 bits) opens.

    `paths` are path numbers under 2⁴⁰, int64 of any shape.
    """
    return paths * _signed(_GAMMA << (_STEP_BITS + _ROUND_BITS)) + _signed(key)


def uniform(states: Tensor, *, step: int, round: int) -> Tensor:
    """Return one float64 from [0, 1) for each path, a multiple of 2⁻⁵³.

    Tensors of int64 stand for unsigned integers: products wrap around, and shifts are made logical
    by a mask.
    """
    assert 0 <= step <= MAX_STEP
    assert 0 <= round <= MAX_ROUND
    z = states + _signed(_GAMMA * (step << _ROUND_BITS | round))
    shifted = torch.empty_like(z)
    _xor_shift_(z, 30, shifted).mul_(_signed(0xBF58476D1CE4E5B9))
    _xor_shift_(z, 27, shifted).mul_(_signed(0x94D049BB133111EB))
    _xor_shift_(z, 31, shifted)
    torch.bitwise_right_shift(z, 11, out=shifted).bitwise_and_(2**53 - 1)
    return shifted.double().mul_(2.0**-53)


def _xor_shift_(z: Tensor, bits: int, shifted: Tensor) -> Tensor:
    torch.bitwise_right_shift(z, bits, out=shifted).bitwise_and_(2 ** (64 - bits) - 1)
    return z.bitwise_xor_(shifted)


def _signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
