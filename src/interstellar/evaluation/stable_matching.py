"""Stable matching: no two entities are more alike than each is to the partner it got.

Deferred acceptance (Gale & Shapley 1962): those who ask propose to the nearest who would still
accept them; who is asked keeps the more similar. All who are free propose at once. Each has a
short list of the nearest; one whose list is used up gets a new one, of those that would accept it
now. What a column holds only ever improves, so whoever would refuse now always will, and the short
lists give the very matching that full ones would.
"""

import torch
from torch import Tensor

from interstellar.evaluation.chunks import fit_chunk_size
from interstellar.evaluation.nearest import find_nearest
from interstellar.evaluation.ranks import FLOAT_BYTES
from interstellar.evaluation.similarity import Similarity

LIST_LENGTH = 32
NOBODY = -1


def match_stably(similarity: Similarity, *, list_length: int = LIST_LENGTH) -> Tensor:
    """Return the column of each row's partner, `NOBODY` where it has none: int64 (n_asking,).

    Among equals the order is arbitrary, and may follow the numbers of entities: shuffle them
    before. A NaN is never accepted.
    """
    n_asking, n_answering = similarity.shape
    device = similarity.device
    values, columns = find_nearest(similarity, list_length)
    held = torch.full((n_answering,), -torch.inf, device=device)
    holder = torch.full((n_answering,), NOBODY, device=device)
    free = torch.arange(n_asking if n_answering else 0, device=device)
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
        is_accepted = _best_of_each(asked, offered, n_answering)
        displaced = holder[asked[is_accepted]]
        holder[asked[is_accepted]] = free[is_accepted]
        held[asked[is_accepted]] = offered[is_accepted]
        free = torch.cat([free[~is_accepted], displaced[displaced != NOBODY]])
    partner = torch.full((n_asking,), NOBODY, device=device)
    is_held = holder != NOBODY
    partner[holder[is_held]] = torch.arange(n_answering, device=device)[is_held]
    return partner


def _renew_lists(
    similarity: Similarity, rows: Tensor, held: Tensor, values: Tensor, columns: Tensor
) -> None:
    """Give rows, in place, the nearest of those that would accept them."""
    for part in torch.split(rows, fit_chunk_size(FLOAT_BYTES * len(held), rows.device)):
        found = similarity.rows(part)
        found[~(found > held)] = -torch.inf
        values[part], columns[part] = found.topk(values.shape[1], dim=1)


def _best_of_each(asked: Tensor, offered: Tensor, n_answering: int) -> Tensor:
    """Return which proposals are the best that a column gets now, one for each column."""
    best = torch.full((n_answering,), -torch.inf, device=asked.device, dtype=offered.dtype)
    best.scatter_reduce_(0, asked, offered, "amax")
    numbers = torch.arange(len(asked), device=asked.device)
    first = torch.full((n_answering,), len(asked), device=asked.device)
    is_best = offered == best[asked]
    first.scatter_reduce_(0, asked[is_best], numbers[is_best], "amin")
    return numbers == first[asked]
