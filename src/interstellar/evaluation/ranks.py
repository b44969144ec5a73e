"""Ranks: the place of the true answer among all candidates, ties at the mean of their places.

rank = 1 + #(logit > true) + ½ · #(other candidates with logit = true)

The true logit is gathered from the product that holds its rivals: computed apart, it differs in
the last bits, and first places turn into second ones. A NaN never wins: as a rival it stands
before the true answer, as the true answer it stands last. So a network that has diverged earns
the worst metrics, and a search goes on.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import fit_chunk_size, map_chunks
from interstellar.evaluation.precision import exact_products
from interstellar.evaluation.query_groups import QueryGroups

ComputeLogits: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Takes subjects (batch,) and relations (batch,), returns logits (batch, n_entities).

Relations from n_relations on are inverses. Entities unseen in training have logits as all have.
"""

FLOAT_BYTES = 4


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

    Raises:
        SettingsError: The logits are not (batch, n_entities), or one row does not fit the memory.
    """
    if chunk_size is None:
        chunk_size = fit_chunk_size(FLOAT_BYTES * n_entities, device)
    groups = _group(queries, chunk_size, device)
    queries = queries[groups.order]
    on_device = torch.from_numpy(queries.astype(np.int64)).to(device)
    asked = on_device[torch.from_numpy(groups.starts[:-1]).to(device)]

    def compute(chunk: slice) -> Tensor:
        members, rows = groups.members(chunk), _send(groups.rows(chunk), device)
        subjects, relations, _ = asked[chunk].T.contiguous()
        logits = compute_logits(subjects, relations)
        _check_shape(logits, (len(subjects), n_entities))
        true = on_device[members, OBJECT].contiguous()
        ranks = double_ranks(logits, true, rows)
        if known is None:
            return ranks
        return ranks.sub_(_known(logits, true, rows, queries[members], known))

    with torch.no_grad(), exact_products(device):
        ranks = map_chunks(compute, len(groups), chunk_size=chunk_size, device=device)
    in_order = torch.empty(len(queries), dtype=torch.float64)
    in_order[torch.from_numpy(groups.order)] = ranks.cpu().double().div_(2)
    return in_order


def _group(queries: Triplets, chunk_size: int, device: torch.device) -> QueryGroups:
    """Put equal queries together where this saves time.

    It does not where all are one chunk, nor on CUDA, where counting, done for each answer by
    itself, takes longer than the product.
    """
    if device.type == "cpu" and len(queries) > chunk_size:
        return QueryGroups.of(queries)
    return QueryGroups.of_one_each(len(queries))


def double_ranks(logits: Tensor, true: Tensor, rows: Tensor | None = None) -> Tensor:
    """Return twice the rank of candidate `true[i]` in row `rows[i]` of the logits: int64 (n,).

    Twice, so that means of places stay whole numbers. Rows ascend; None for one each.
    """
    if rows is None:
        rows = torch.arange(len(true), device=true.device)
    true_logits = logits[rows, true].unsqueeze(1)
    if logits.device.type == "cpu":
        n_at_most, n_below = _count_by_row(logits, true_logits, rows)
    else:
        several = logits if len(rows) == len(logits) else logits[rows]
        n_at_most, n_below = _count_at_once(several, true_logits)
    n_at_most = n_at_most.clamp(min=1)  # 0 where the true logit is NaN, unequal even to itself
    n_ahead = logits.shape[1] - n_at_most
    n_level = n_at_most - n_below - 1
    return 2 + 2 * n_ahead + n_level


def _count_at_once(logits: Tensor, true_logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each row how many logits are at most the true one, and how many below it."""
    # torch copies a mask to the type of its sum: int32 takes half the memory of the default.
    n_at_most = (logits <= true_logits).sum(dim=1, dtype=torch.int32)
    n_below = (logits < true_logits).sum(dim=1, dtype=torch.int32)
    return n_at_most.long(), n_below.long()


def _count_by_row(
    logits: Tensor, true_logits: Tensor, rows: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Count as `_count_at_once` does, at a tenth of its time on a CPU: row and mask stay cached."""
    values, thresholds = _as_numpy(logits), _as_numpy(true_logits)
    places = range(len(values)) if rows is None else rows.tolist()
    counts = np.empty((2, len(thresholds)), dtype=np.int64)
    mask = np.empty(logits.shape[1], dtype=np.bool_)
    for i, (place, threshold) in enumerate(zip(places, thresholds, strict=True)):
        counts[0, i] = np.count_nonzero(np.less_equal(values[place], threshold, out=mask))
        counts[1, i] = np.count_nonzero(np.less(values[place], threshold, out=mask))
    n_at_most, n_below = torch.from_numpy(counts)
    return n_at_most, n_below


def _as_numpy(logits: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.floating]]:
    """Return the values as they are; those of half precision as float32, since NumPy is slow."""
    is_half = logits.dtype in {torch.float16, torch.bfloat16}
    values: np.ndarray[tuple[int, ...], np.dtype[np.floating]] = (
        logits.float() if is_half else logits
    ).numpy()
    return values


def _known(
    logits: Tensor, true: Tensor, rows: Tensor, queries: Triplets, known: KnownAnswers
) -> Tensor:
    """Return what the other known answers add to `double_ranks`, int64 (n,).

    Few of a row's logits are known, so taking these out again is cheaper than masking them, and
    right even where the true logit is -inf.
    """
    found = known.look_up(queries[:, SUBJECT], queries[:, RELATION])
    places, objects = (_send(ids, logits.device) for ids in found)
    rivals, true_logits = logits[rows[places], objects], logits[rows, true][places]
    added = (rivals <= true_logits).logical_not_().long().mul_(2)
    added += rivals == true_logits
    added *= objects != true[places]
    return torch.zeros_like(true).index_add_(0, places, added)


def _send(ids: np.ndarray[tuple[int, ...], np.dtype[np.integer]], device: torch.device) -> Tensor:
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
