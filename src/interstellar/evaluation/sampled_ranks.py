"""Ranks among a few entities drawn at random: the measure of GraIL (Teru et al. 2020).

There the true answer stands among 50 others, and Hits@10 is told. With so few rivals metrics are
far higher than those among all entities (`ranks`), and not to be compared with them.

Drawn are distinct entities that neither answer the query, as far as is known, nor are the query's
own; all of these where there are fewer. GraIL may draw an entity twice and knows only the answers
that the facts name; we leave out those of every split, as all our metrics do.
"""

import numpy as np
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import exact_products, fit_chunk_size, map_chunks
from interstellar.evaluation.ranks import FLOAT_BYTES, ComputeLogits, Int64s

NOBODY = -1


def rank_among_drawn(
    compute_logits: ComputeLogits,
    queries: Triplets,
    known: KnownAnswers,
    *,
    n_negatives: int,
    rng: np.random.Generator,
    device: torch.device,
) -> Tensor:
    """Return the rank of each query's object among itself and drawn entities, float64 (n,).

    Ties stand at the mean of their places, and a NaN never wins, as in `ranks`.
    """
    asked = torch.from_numpy(queries.astype(np.int64)).to(device)
    drawn = torch.from_numpy(draw_negatives(queries, known, n_negatives, rng)).to(device)

    def compute(chunk: slice) -> Tensor:
        subjects, relations, objects = asked[chunk].T.contiguous()
        logits, rivals = compute_logits(subjects, relations), drawn[chunk]
        true = logits.gather(1, objects.unsqueeze(1))
        others, is_there = logits.gather(1, rivals.clamp(min=0)), rivals != NOBODY
        n_ahead = (is_there & ~(others <= true)).sum(dim=1)
        n_level = (is_there & (others == true)).sum(dim=1)
        return 1 + n_ahead + n_level.double() / 2

    chunk_size = fit_chunk_size(FLOAT_BYTES * known.n_entities, device)
    with torch.no_grad(), exact_products(device):
        return map_chunks(compute, len(asked), chunk_size=chunk_size, device=device).cpu()


def draw_negatives(
    queries: Triplets, known: KnownAnswers, n_negatives: int, rng: np.random.Generator
) -> Int64s:
    """Return distinct wrong answers to each query, (n, n_negatives), `NOBODY` where too few are."""
    if n_negatives < 1:
        raise SettingsError(
            f"`negatives` is {n_negatives}, but the true answer is ranked among at least one "
            "other. Choose 1 or more; 50 is GraIL's number."
        )
    drawn = np.full((len(queries), n_negatives), NOBODY, dtype=np.int64)
    rows, answers = known.look_up(queries[:, SUBJECT], queries[:, RELATION])
    ends = np.searchsorted(rows, np.arange(len(queries) + 1))
    own = queries[:, [SUBJECT, OBJECT]]
    for i in range(len(queries)):
        excluded = np.union1d(answers[ends[i] : ends[i + 1]], own[i])
        n_left = known.n_entities - len(excluded)
        places = rng.choice(n_left, min(n_negatives, n_left), replace=False, shuffle=False)
        # The place-th entity that is not excluded: before it are as many excluded ones as stand,
        # each less those before itself, at or before its place.
        n_before = np.searchsorted(excluded - np.arange(len(excluded)), places, side="right")
        drawn[i, : len(places)] = places + n_before
    return drawn
