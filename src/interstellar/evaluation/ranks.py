"""Ranks: the place of the true answer among all candidates, ties at the mean of their places.

rank = 1 + #(logit > true) + ½ · #(other candidates with logit = true)

The true logit is gathered from the product that holds its rivals: computed apart, it differs in
the last bits, and first places turn into second ones. A NaN never wins: as a rival it stands
before the true answer, as the true answer it stands last. So a network that has diverged earns
the worst metrics, and a search goes on.

The best answers are found exactly too, equal ones in the order of their ids (`find_highest`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import chunk_bytes, exact_products, fit_chunk_size, map_chunks

ComputeLogits: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Takes subjects (batch,) and relations (batch,), returns logits (batch, n_entities).

Relations from n_relations on are inverses. Entities unseen in training have logits as all have.
"""

Int64s: TypeAlias = npt.NDArray[np.int64]

FLOAT_BYTES = 4
KNOWN_BYTES = 96
"""What one known answer takes while a chunk is ranked: its ids, its logit, two sorts."""


def rank_objects(
    compute_logits: ComputeLogits,
    queries: Triplets,
    known: KnownAnswers | None,
    *,
    n_entities: int,
    device: torch.device,
    chunk_size: int | None = None,
) -> Tensor:
    """Return the rank of each query's object among all entities, float64 (n,) on the CPU.

    Subjects are ranked as objects of inverse triplets: for both directions pass
    `data.triplets.with_inverses(test, n_relations)`.

    Args:
        compute_logits: Is called without gradients and in full float32; keeps its tensors.
        queries: Triplets whose objects are the true answers.
        known: Leaves the other known answers out of the rivals (filtered); None keeps them (raw).
        n_entities: How many candidates each query has.
        device: Where `compute_logits` expects queries and leaves logits.
        chunk_size: Queries at once; None for what fits the memory.
    """
    groups = QueryGroups.of(queries) if device.type == "cpu" else QueryGroups.of_one_each(queries)
    if chunk_size is None:
        chunk_size = _fit_chunk_size(groups, known, n_entities, device)
    on_device = torch.from_numpy(queries[groups.order].astype(np.int64)).to(device)
    asked = on_device[torch.from_numpy(groups.starts[:-1]).to(device)]

    def compute(chunk: slice) -> Tensor:
        rows = _send(groups.rows(chunk), device)
        subjects, relations, _ = asked[chunk].T.contiguous()
        logits = compute_logits(subjects, relations)
        _check_shape(logits, (len(subjects), n_entities))
        true = on_device[groups.members(chunk), OBJECT].contiguous()
        ranks = double_ranks(logits, true, rows)
        if known is None:
            return ranks
        found = known.look_up(*groups.asked[chunk].T)
        return ranks.sub_(_double_ranks_of_known(logits, true, rows, found))

    with torch.no_grad(), exact_products(device):
        ranks = map_chunks(compute, len(groups), chunk_size=chunk_size, device=device)
    in_order = torch.empty(len(queries), dtype=torch.float64)
    in_order[torch.from_numpy(groups.order)] = ranks.cpu().double().div_(2)
    return in_order


def _fit_chunk_size(
    groups: "QueryGroups", known: KnownAnswers | None, n_entities: int, device: torch.device
) -> int:
    """Return how many groups to rank at once, sized by their logits and their known answers."""
    chunk_size = fit_chunk_size(FLOAT_BYTES * n_entities, device)
    if known is None or len(groups) == 0:
        return chunk_size
    n_known = known.count(*groups.asked.T)
    most = max(chunk_bytes(device) // KNOWN_BYTES, n_known.max())
    while chunk_size > 1:
        starts = np.arange(0, len(groups), chunk_size)
        if np.add.reduceat(n_known, starts).max() <= most:
            break
        chunk_size //= 2
    return chunk_size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryGroups:
    """Queries in an order in which those that ask the same are neighbours, to be computed once.

    In WN18RR a tenth of the test queries repeats another with a different true answer, in
    FB15k-237 nearly half. On CUDA, where counting, done for each answer by itself, takes longer
    than the product, grouping gains nothing.
    """

    asked: Int64s
    """Subject and relation of each group, (n_groups, 2)."""
    order: Int64s
    """Places of the queries, group after group; groups stand in the order of their first query."""
    starts: Int64s
    """Group i has the places `order[starts[i]:starts[i + 1]]`."""

    @classmethod
    def of(cls, queries: Triplets) -> "QueryGroups":
        """Put equal queries together."""
        asked = queries[:, [SUBJECT, RELATION]].astype(np.int64)
        keys = asked[:, 0] * (asked[:, 1].max(initial=0) + 1) + asked[:, 1]
        _, first_places, key_numbers = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first_places[key_numbers], kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        return cls(asked=asked[order[starts]], order=order, starts=np.append(starts, len(queries)))

    @classmethod
    def of_one_each(cls, queries: Triplets) -> "QueryGroups":
        """Leave every query on its own."""
        asked = queries[:, [SUBJECT, RELATION]].astype(np.int64)
        return cls(asked=asked, order=np.arange(len(asked)), starts=np.arange(len(asked) + 1))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def members(self, groups: slice) -> slice:
        """Return which part of the order some groups are."""
        return slice(int(self.starts[groups.start]), int(self.starts[groups.stop]))

    def rows(self, groups: slice) -> Int64s:
        """Return for each member the number of its group, the first of `groups` being 0."""
        sizes = np.diff(self.starts[groups.start : groups.stop + 1])
        return np.repeat(np.arange(len(sizes)), sizes)


def double_ranks(logits: Tensor, true: Tensor, rows: Tensor | None = None) -> Tensor:
    """Return twice the rank of candidate `true[i]` in row `rows[i]` of the logits: int64 (n,).

    Twice, so that means of places stay whole numbers. Rows ascend; None for one each.
    """
    if rows is None:
        rows = torch.arange(len(true), device=true.device)
    true_logits = logits[rows, true].unsqueeze(1)
    if logits.device.type == "cpu":
        n_at_most, n_below = count_by_row(logits, true_logits, rows)
    else:
        several = logits if len(rows) == len(logits) else logits[rows]
        n_at_most, n_below = count_at_once(several, true_logits)
    n_at_most = n_at_most.clamp(min=1)  # 0 where the true logit is NaN, unequal even to itself
    n_ahead = logits.shape[1] - n_at_most
    n_level = n_at_most - n_below - 1
    return 2 + 2 * n_ahead + n_level


def count_at_once(logits: Tensor, true_logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each row how many logits are at most the true one, and how many below it."""
    # torch copies a mask to the type of its sum: int32 takes half the memory of the default.
    n_at_most = (logits <= true_logits).sum(dim=1, dtype=torch.int32)
    n_below = (logits < true_logits).sum(dim=1, dtype=torch.int32)
    return n_at_most.long(), n_below.long()


def count_by_row(
    logits: Tensor, true_logits: Tensor, rows: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Count as `count_at_once` does, at a tenth of its time on a CPU: row and mask stay cached."""
    values, thresholds = _as_numpy(logits), _as_numpy(true_logits)
    places = range(len(values)) if rows is None else rows.tolist()
    counts = np.empty((2, len(thresholds)), dtype=np.int64)
    mask = np.empty(logits.shape[1], dtype=np.bool_)
    for i, (place, threshold) in enumerate(zip(places, thresholds, strict=True)):
        counts[0, i] = np.count_nonzero(np.less_equal(values[place], threshold, out=mask))
        counts[1, i] = np.count_nonzero(np.less(values[place], threshold, out=mask))
    n_at_most, n_below = torch.from_numpy(counts)
    return n_at_most, n_below


def _as_numpy(logits: Tensor) -> npt.NDArray[np.floating]:
    """Return the values as they are; those of half precision as float32, since NumPy is slow."""
    is_half = logits.dtype in {torch.float16, torch.bfloat16}
    values: npt.NDArray[np.floating] = (logits.float() if is_half else logits).numpy()
    return values


def _double_ranks_of_known(
    logits: Tensor, true: Tensor, rows: Tensor, found: tuple[Int64s, npt.NDArray[np.int32]]
) -> Tensor:
    """Return what the other known answers add to `double_ranks`, int64 (n,).

    Few of a row's logits are known, so taking these out again is cheaper than masking them, and
    right even where the true logit is -inf. They are sorted once a row, and every answer of the
    row finds its place among them: answers times known answers would be too many for a hub.
    `found` is what `KnownAnswers.look_up` gives: rows and objects of the known answers.
    """
    places, objects = (_send(ids, logits.device) for ids in found)
    true_logits = logits[rows, true]
    both = torch.cat([logits[places, objects], true_logits])
    levels, codes = torch.unique(both, return_inverse=True)
    in_order = (places * len(levels) + codes[: len(places)]).sort().values
    own = rows * len(levels) + codes[len(places) :]
    first, last = (torch.searchsorted(places, rows, right=right) for right in (False, True))
    is_nan = true_logits.isnan()
    n_at_most = torch.searchsorted(in_order, own, right=True).where(~is_nan, first)
    n_below = torch.searchsorted(in_order, own).where(~is_nan, first)
    of_itself = _is_among(rows * logits.shape[1] + true, places * logits.shape[1] + objects)
    return 2 * (last - n_at_most) + (n_at_most - n_below) - of_itself * (1 + is_nan.long())


def _is_among(keys: Tensor, ascending: Tensor) -> Tensor:
    """Return which of the keys are among the ascending ones, 1 or 0."""
    places = (torch.searchsorted(ascending, keys, right=True) - 1).clamp_(min=0)
    return (ascending[places] == keys).long() if len(ascending) else torch.zeros_like(keys)


def _send(ids: npt.NDArray[np.integer], device: torch.device) -> Tensor:
    """Copy ids to a device without waiting for it."""
    tensor = torch.from_numpy(ids.astype(np.int64, copy=False))
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def _check_shape(logits: Tensor, shape: tuple[int, int]) -> None:
    if logits.shape != shape:
        raise SettingsError(
            f"the logits of {shape[0]} queries have the shape {tuple(logits.shape)}, but each "
            f"query has {shape[1]} candidates. Return one logit per query and entity."
        )


BLOCK = 64


def find_highest(logits: Tensor, k: int) -> Tensor:
    """Return the ids (rows, k) of the highest float32 logits (rows, n), best first.

    Where a row has a NaN, nothing is promised. A row is cut into blocks, of which only the k with
    the highest maxima are looked into. An entity of another block is behind one entity of each of
    these k: theirs is higher, or level and of a lower id, for of level blocks the first are taken.
    """
    n_rows, n = logits.shape
    n_blocks = n // BLOCK
    if n_blocks <= 2 * k:
        return _order(logits, torch.arange(n, device=logits.device).expand(n_rows, n), k)
    maxima = logits[:, : n_blocks * BLOCK].view(n_rows, n_blocks, BLOCK).amax(dim=2)
    if n % BLOCK:
        last = logits[:, n_blocks * BLOCK :].amax(dim=1, keepdim=True)
        maxima = torch.cat([maxima, last], dim=1)
    numbers = torch.arange(maxima.shape[1], device=logits.device).expand_as(maxima)
    blocks = _order(maxima, numbers, k)
    ids = (blocks.unsqueeze(2) * BLOCK + torch.arange(BLOCK, device=logits.device)).flatten(1)
    values = logits.gather(1, ids.clamp(max=n - 1))
    return _order(values.masked_fill_(ids >= n, -torch.inf), ids, k)


def _order(values: Tensor, ids: Tensor, k: int) -> Tensor:
    """Return the ids of the k highest values, of equal ones the lowest ids first."""
    bits = values.add(0.0).view(torch.int32)  # adding 0 turns -0 into 0, its equal
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    keys = (ordered << 32) - ids  # ids below 2³² decide only between equal values
    places = keys.topk(k, dim=1).indices
    return ids.gather(1, places)
