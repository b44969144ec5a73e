"""Whole alignments of two lists of entities: the nearest of each, or one partner for each.

Where the truth is known, it is chosen from which similarity on a pair is believed.

Entities are shuffled first. Published pairs are numbered alike on both sides, so whatever breaks
ties by number, or fills up what is left in order, would invent hits.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import fit_chunk_size, free_host_bytes
from interstellar.evaluation.ranks import FLOAT_BYTES
from interstellar.evaluation.similarity import Decoding, Similarity, find_nearest
from interstellar.evaluation.sinkhorn import SinkhornSettings, balance

NOBODY = -1
LIST_LENGTH = 32
DOUBLE_BYTES = 8
PRICING = SinkhornSettings(temperature=0.01, n_rounds=100)


def list_nearest(similarity: Similarity, k: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Return similarities and columns, (n_sources, k) on the CPU, of the k nearest of each."""
    n_sources, n_targets = similarity.shape
    everyone = torch.arange(n_sources, device=similarity.device)
    order = _draw_order(n_targets, rng, similarity.device)
    values, columns = find_nearest(similarity.take(everyone, order), k)
    return values.cpu(), order[columns].cpu()


def match_one_to_one(
    similarity: Similarity,
    decoding: Decoding,
    rng: np.random.Generator,
    *,
    memory_bytes: int | None = None,
) -> Tensor:
    """Return the column of each row's partner, `NOBODY` where it has none: int64 on the CPU.

    Similarities that are rescored, as those of Sinkhorn, are matched stably. `rng` breaks ties;
    `memory_bytes` is what the Hungarian method may take, None for what is free.
    """
    n_sources, n_targets = similarity.shape
    rows = _draw_order(n_sources, rng, similarity.device)
    columns = _draw_order(n_targets, rng, similarity.device)
    shuffled = similarity.take(rows, columns)
    if decoding is Decoding.HUNGARIAN:
        found = match_optimally(shuffled, memory_bytes=memory_bytes)
    else:
        found = match_stably(shuffled)
    found, rows, columns = found.cpu(), rows.cpu(), columns.cpu()
    is_matched = found != NOBODY
    partner = torch.full_like(found, NOBODY)
    partner[rows[is_matched]] = columns[found[is_matched]]
    return partner


def match_stably(similarity: Similarity, *, list_length: int = LIST_LENGTH) -> Tensor:
    """Return a matching in which no two are more alike than each is to the partner it got.

    The column of each row's partner, `NOBODY` where it has none: int64 (n_sources,).

    Deferred acceptance (Gale & Shapley 1962): sources propose to the nearest target that would
    still accept them, and a target keeps the more similar. All that are free propose at once.
    Each has a short list of the nearest; one whose list is used up gets a new one, of those that
    would accept it now. What a target holds only ever improves, so whoever would refuse now always
    will, and the short lists give the very matching that full ones would.

    Among equals the order is arbitrary, and may follow the numbers of entities: shuffle them
    before. A NaN is never accepted.
    """
    n_sources, n_targets = similarity.shape
    device = similarity.device
    values, columns = find_nearest(similarity, list_length)
    held = torch.full((n_targets,), -torch.inf, device=device)
    holder = torch.full((n_targets,), NOBODY, device=device)
    free = torch.arange(n_sources if n_targets else 0, device=device)
    while len(free):
        would_accept = values[free] > held[columns[free]]  # (n_free, list_length)
        is_used_up = ~would_accept.any(dim=1)
        if is_used_up.any():
            _renew_lists(similarity, free[is_used_up], held, values, columns)
            still_asking = ~is_used_up | (values[free] > held[columns[free]]).any(dim=1)
            free = free[still_asking]
            continue
        place = would_accept.int().argmax(dim=1, keepdim=True)  # the first that is true
        asked = columns[free].gather(1, place).squeeze(1)
        offered = values[free].gather(1, place).squeeze(1)
        is_accepted = _best_of_each(asked, offered, n_targets)
        displaced = holder[asked[is_accepted]]
        holder[asked[is_accepted]] = free[is_accepted]
        held[asked[is_accepted]] = offered[is_accepted]
        free = torch.cat([free[~is_accepted], displaced[displaced != NOBODY]])
    partner = torch.full((n_sources,), NOBODY, device=device)
    is_held = holder != NOBODY
    partner[holder[is_held]] = torch.arange(n_targets, device=device)[is_held]
    return partner


def _renew_lists(
    similarity: Similarity, rows: Tensor, held: Tensor, values: Tensor, columns: Tensor
) -> None:
    """Give rows, in place, the nearest of those that would accept them."""
    for part in torch.split(rows, fit_chunk_size(FLOAT_BYTES * len(held), rows.device)):
        found = similarity.rows(part)
        found[~(found > held)] = -torch.inf
        values[part], columns[part] = found.topk(values.shape[1], dim=1)


def _best_of_each(asked: Tensor, offered: Tensor, n_targets: int) -> Tensor:
    """Return which proposals are the best that a column gets now, one for each column."""
    best = torch.full((n_targets,), -torch.inf, device=asked.device, dtype=offered.dtype)
    best.scatter_reduce_(0, asked, offered, "amax")
    numbers = torch.arange(len(asked), device=asked.device)
    first = torch.full((n_targets,), len(asked), device=asked.device)
    is_best = offered == best[asked]
    first.scatter_reduce_(0, asked[is_best], numbers[is_best], "amin")
    return numbers == first[asked]


def match_optimally(cosine: Similarity, *, memory_bytes: int | None = None) -> Tensor:
    """Return the matching with the highest sum of cosines, as `match_stably` does.

    Among equals the order is arbitrary, and may follow the numbers of entities: shuffle them
    before. A NaN counts as the lowest cosine. The costs may take `memory_bytes`, None for three
    quarters of what is free on the host.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 (a quarter of a second)

    n_sources, n_targets = cosine.shape
    refuse_too_large(n_sources, n_targets, memory_bytes)
    if n_sources > n_targets:  # SciPy would make a copy
        partner_of_column = match_optimally(cosine.turned(), memory_bytes=memory_bytes)
        partner = torch.full((n_sources,), NOBODY)
        partner[partner_of_column] = torch.arange(n_targets)
        return partner
    _, columns = linear_sum_assignment(_costs(cosine, memory_bytes))
    return torch.from_numpy(columns.astype(np.int64))


def refuse_too_large(n_sources: int, n_targets: int, memory_bytes: int | None = None) -> None:
    """Raise if the costs of all pairs do not fit the memory."""
    needed = DOUBLE_BYTES * n_sources * n_targets
    allowed = free_host_bytes() // 4 * 3 if memory_bytes is None else memory_bytes
    if needed > allowed:
        raise SettingsError(
            f"the Hungarian method keeps the costs of all pairs: {n_sources:,} × {n_targets:,} "
            f"take {needed / 2**30:.3g} GiB, and {allowed / 2**30:.3g} GiB may be used. "
            "Choose stable or sinkhorn, which need little memory."
        )


def _costs(cosine: Similarity, memory_bytes: int | None) -> npt.NDArray[np.float64]:
    """Return costs (n_sources, n_targets) whose best assignment is that of the cosines.

    Where all columns are assigned, a price on each changes no assignment's place among the others.
    Those of Sinkhorn are so near to the dual solution that SciPy is done in a fraction of the
    time.
    """
    n_sources, n_targets = cosine.shape
    prices: tuple[Tensor, Tensor] | None = None
    if n_sources == n_targets:
        log_u, log_v = balance(cosine, PRICING, memory_bytes=memory_bytes)
        prices = PRICING.temperature * log_u.double(), PRICING.temperature * log_v.double()
    costs = np.empty((n_sources, n_targets))
    size = fit_chunk_size(FLOAT_BYTES * max(1, n_targets), cosine.device)
    for rows in (slice(start, start + size) for start in range(0, n_sources, size)):
        values = cosine.rows(rows).double()
        if prices is not None:
            values.add_(prices[0][rows].unsqueeze(1)).add_(prices[1])
        costs[rows] = values.neg_().nan_to_num_(nan=2.0).cpu().numpy()
    return costs


def _draw_order(n: int, rng: np.random.Generator, device: torch.device) -> Tensor:
    return torch.from_numpy(rng.permutation(n)).to(device)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well an alignment finds pairs that are known to be true."""

    precision: float
    """Share of the partners given that are the true ones; 1 where none were given."""
    recall: float
    """Share of the true pairs that were found."""
    f1: float
    """Their harmonic mean."""
    n: int
    """How many true pairs there are."""

    @classmethod
    def of(cls, *, n_right: int, n_given: int, n_true: int) -> "Quality":
        """Sum up counts."""
        return cls(
            precision=n_right / n_given if n_given else 1.0,
            recall=n_right / n_true if n_true else 1.0,
            f1=2 * n_right / (n_given + n_true) if n_given + n_true else 1.0,
            n=n_true,
        )

    def as_dict(self) -> dict[str, float | int]:
        """Return the numbers by name."""
        return asdict(self)


def choose_threshold(
    similarities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_], *, n_true: int
) -> float:
    """Return the threshold with the highest F1: partners less similar are left out.

    One of the similarities given, the lowest of those that are as good; -inf where there are none.
    Entities without a partner count in `n_true`, the number of true pairs, alone.
    """
    falling, n_right, n_given, is_possible = _count_from_the_top(similarities, is_right)
    f1 = np.where(is_possible, 2 * n_right / (n_given + n_true), -1.0)
    if len(f1) == 0:
        return -np.inf
    return float(falling[np.flatnonzero(f1 == f1.max())[-1]])


def choose_precise_threshold(
    similarities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_], *, precision: float
) -> float:
    """Return the lowest threshold at which at least this share of the partners given is right.

    One of the similarities given; inf where none is precise enough.
    """
    falling, n_right, n_given, is_possible = _count_from_the_top(similarities, is_right)
    is_precise = is_possible & (n_right >= precision * n_given)
    return float(falling[is_precise][-1]) if is_precise.any() else np.inf


def _count_from_the_top(
    similarities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return falling similarities, how many partners are right and given down to each of them.

    And whether it can be a threshold: of equal similarities only the last can.
    """
    order = np.argsort(-similarities, kind="stable")
    falling = similarities[order]
    is_last_of_equals = np.append(falling[1:] < falling[:-1], True)[: len(falling)]
    return falling, np.cumsum(is_right[order]), np.arange(1, len(falling) + 1), is_last_of_equals
