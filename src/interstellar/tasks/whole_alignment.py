"""The whole alignment of two graphs: pairs for all entities, not only for those of a test list.

Seeds are taken as given, with the similarity 1. All other entities of both graphs are decoded with
each other: who has a known partner is nobody else's.

A partner is believed if it is similar enough. The threshold is the one with the highest F1 on the
validation pairs, or the lowest that is precise enough there. Their entities all have a partner:
where many entities of a graph have none in the other, a higher one is right.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.graph import GraphPair, Pairs
from interstellar.errors import SettingsError
from interstellar.evaluation.hungarian import refuse_too_large
from interstellar.evaluation.matching import list_nearest, match_one_to_one
from interstellar.evaluation.rescoring import rescore
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.evaluation.stable_matching import NOBODY
from interstellar.evaluation.threshold import (
    Quality,
    choose_precise_threshold,
    choose_threshold,
)
from interstellar.randomness import spawn

FIRST, SECOND = 0, 1
KNOWN_SIMILARITY = 1.0
KEEP_ALL = -np.inf
"""The threshold that leaves no pair out."""


class Asking(StrEnum):
    """Whose entities look for partners."""

    FIRST = "first"
    """Those of the first graph."""
    SECOND = "second"
    BOTH = "both"
    """Those of either; a pair counts where both name each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentSettings:
    """What kind of alignment is wanted."""

    decoding: Decoding = Decoding.SINKHORN
    top_k: int | None = None
    """Partners listed for each entity that asks; None for its best one."""
    is_one_to_one: bool = False
    """Give no entity two partners. Similarities that are not one-to-one are matched stably."""
    asking: Asking = Asking.FIRST
    """Without effect where the alignment is one-to-one."""
    threshold: float | None = None
    """Pairs less similar are left out; `KEEP_ALL` for none, None for the best on validation."""
    least_precision: float | None = None
    """What is the best on validation: the lowest threshold that is so precise; None: highest F1."""

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k < 1:
            raise SettingsError(
                f"top_k is {self.top_k}, but an entity's list has at least one partner. "
                "Choose 1 or more."
            )
        if self.top_k is not None and self.is_one_to_one:
            raise SettingsError(
                "both a list of partners and a single one were asked for. "
                "Choose --top-k or --one-to-one."
            )
        if self.top_k is not None and self.decoding.is_one_to_one:
            raise SettingsError(
                f"{self.decoding} gives each entity one partner, so there is no list. "
                "Leave --top-k out, or choose cosine, csls or sinkhorn."
            )
        if self.threshold is not None and np.isnan(self.threshold):
            raise SettingsError(
                "the threshold is not a number. Choose auto, none or a number such as 0.5."
            )
        if self.least_precision is not None and not 0 < self.least_precision <= 1:
            raise SettingsError(
                f"least_precision is {self.least_precision}, but it is a share of right pairs. "
                "Choose a number above 0 and at most 1, such as 0.9."
            )

    @property
    def is_matched(self) -> bool:
        """Whether no entity has two partners."""
        return self.is_one_to_one or self.decoding.is_one_to_one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeAlignment:
    """Pairs of entities that are taken to mean the same; seeds first."""

    pairs: Pairs
    similarities: npt.NDArray[np.float64]
    """(n,): cosine or CSLS; of Sinkhorn the share of the plan; of seeds 1."""
    is_known: npt.NDArray[np.bool_]
    """(n,): whether the pair is a seed."""
    unmatched_first: npt.NDArray[np.int32]
    """Entities of the first graph in no pair."""
    unmatched_second: npt.NDArray[np.int32]
    asking: Asking
    threshold: float
    """That the similarities of all pairs but seeds reach; `KEEP_ALL` where there is none."""
    valid: Quality
    """How well the pairs of the validation split were found, by the best partner of each."""
    test: Quality

    @property
    def unmatched(self) -> npt.NDArray[np.int32]:
        """Entities of the graph that asks, the first where both do, in no pair."""
        return self.unmatched_second if self.asking is Asking.SECOND else self.unmatched_first


def align(
    graph: GraphPair,
    first: Tensor,
    second: Tensor,
    settings: AlignmentSettings,
    *,
    seed: int = 0,
    memory_bytes: int | None = None,
) -> WholeAlignment:
    """Return the whole alignment of two graphs.

    Args:
        graph: The pair, with its seeds.
        first: Embeddings (n_entities, dim) of the first graph's entities.
        second: Those of the second's, on the same device.
        settings: What kind of alignment.
        seed: Breaks ties.
        memory_bytes: What a decoding may keep; None for part of what is free.

    Raises:
        SettingsError: There is no validation to choose a threshold on, or the decoding does not
            fit the memory.
    """
    if settings.threshold is None and len(graph.valid) == 0:
        raise SettingsError(
            f"{graph.name} has no validation pairs to choose a threshold on. "
            "Give one (--threshold 0.5), or keep all pairs (--threshold none)."
        )
    found = _decode_open(graph, first, second, settings, seed, memory_bytes)
    threshold = settings.threshold
    if threshold is None:
        threshold = _choose_on_validation(found, graph.valid, settings)
    found = found.take(found.similarities >= threshold)
    pairs = np.concatenate([graph.seeds, found.pairs])
    n_seeds = len(graph.seeds)
    return WholeAlignment(
        pairs=pairs,
        similarities=np.append(np.full(n_seeds, KNOWN_SIMILARITY), found.similarities),
        is_known=np.arange(len(pairs)) < n_seeds,
        unmatched_first=_others(pairs[:, FIRST], len(graph.first.entities)),
        unmatched_second=_others(pairs[:, SECOND], len(graph.second.entities)),
        asking=settings.asking,
        threshold=threshold,
        valid=_quality(found, graph.valid, settings.asking),
        test=_quality(found, graph.test, settings.asking),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Pairs and how similar they are."""

    pairs: Pairs
    similarities: npt.NDArray[np.float64]

    def take(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "_Found":
        return _Found(self.pairs[chosen], self.similarities[chosen])


def _decode_open(
    graph: GraphPair,
    first: Tensor,
    second: Tensor,
    settings: AlignmentSettings,
    seed: int,
    memory_bytes: int | None,
) -> _Found:
    """Return the pairs of the entities that have no known partner, by id."""
    open_first = _others(graph.seeds[:, FIRST], len(first))
    open_second = _others(graph.seeds[:, SECOND], len(second))
    if settings.decoding is Decoding.HUNGARIAN:
        refuse_too_large(len(open_first), len(open_second), memory_bytes)
    similarity = rescore(
        first[torch.from_numpy(open_first).long().to(first.device)],
        second[torch.from_numpy(open_second).long().to(second.device)],
        settings.decoding,
        memory_bytes=memory_bytes,
    )
    rng = spawn(seed, "ties between partners")
    if settings.is_matched:
        found = _match(similarity, settings.decoding, rng, memory_bytes)
    else:
        found = _list(similarity, settings.asking, settings.top_k or 1, rng)
    ids = np.stack([open_first[found.pairs[:, FIRST]], open_second[found.pairs[:, SECOND]]], axis=1)
    is_share = settings.decoding is Decoding.SINKHORN
    return _Found(ids, np.exp(found.similarities) if is_share else found.similarities)


def _match(
    similarity: Similarity,
    decoding: Decoding,
    rng: np.random.Generator,
    memory_bytes: int | None,
) -> _Found:
    partner = match_one_to_one(similarity, decoding, rng, memory_bytes=memory_bytes)
    rows = torch.nonzero(partner != NOBODY).squeeze(1)
    columns = partner[rows]
    values = similarity.of_pairs(rows.to(similarity.device), columns.to(similarity.device))
    return _Found(torch.stack([rows, columns], dim=1).numpy(), _as_doubles(values))


def _list(similarity: Similarity, asking: Asking, k: int, rng: np.random.Generator) -> _Found:
    """Return the lists of who asks as pairs, in the order of who asks, the best partner first."""
    match asking:
        case Asking.FIRST:
            return _pairs_of_lists(*list_nearest(similarity, k, rng))
        case Asking.SECOND:
            found = _pairs_of_lists(*list_nearest(similarity.turned(), k, rng))
            return _Found(found.pairs[:, ::-1], found.similarities)
        case Asking.BOTH:
            forwards = _list(similarity, Asking.FIRST, k, rng)
            backwards = _list(similarity, Asking.SECOND, k, rng)
            n_second = similarity.shape[1]
            keys, others = (x.pairs @ [max(1, n_second), 1] for x in (forwards, backwards))
            return forwards.take(np.isin(keys, others))
        case _:
            assert_never(asking)


def _pairs_of_lists(values: Tensor, columns: Tensor) -> _Found:
    n_asking, k = columns.shape
    rows = torch.arange(n_asking).repeat_interleave(k)
    return _Found(torch.stack([rows, columns.flatten()], dim=1).numpy(), _as_doubles(values))


def _choose_on_validation(found: _Found, valid: Pairs, settings: AlignmentSettings) -> float:
    best, is_right = _best_partners(found, valid, settings.asking)
    if settings.least_precision is None:
        return choose_threshold(best.similarities, is_right, n_true=len(valid))
    return choose_precise_threshold(best.similarities, is_right, precision=settings.least_precision)


def _best_partners(
    found: _Found, truth: Pairs, asking: Asking
) -> tuple[_Found, npt.NDArray[np.bool_]]:
    """Return the best pair of each entity that asks and is in the truth, and whether it is true."""
    side = SECOND if asking is Asking.SECOND else FIRST
    best_first = found.take(np.argsort(-found.similarities, kind="stable"))
    asked, place = np.unique(best_first.pairs[:, side], return_index=True)
    best = best_first.take(place[np.isin(asked, truth[:, side])])
    true_pairs = {(a, b) for a, b in truth.tolist()}
    is_right = np.array([(a, b) in true_pairs for a, b in best.pairs.tolist()], dtype=np.bool_)
    return best, is_right


def _quality(found: _Found, truth: Pairs, asking: Asking) -> Quality:
    best, is_right = _best_partners(found, truth, asking)
    return Quality.of(n_right=int(is_right.sum()), n_given=len(best.pairs), n_true=len(truth))


def _others(ids: npt.NDArray[np.int32], n: int) -> npt.NDArray[np.int32]:
    """Return which of 0 … n - 1 are not among some ids, ascending."""
    return np.setdiff1d(np.arange(n, dtype=np.int32), ids)


def _as_doubles(values: Tensor) -> npt.NDArray[np.float64]:
    doubles: npt.NDArray[np.float64] = values.flatten().double().cpu().numpy()
    return doubles
