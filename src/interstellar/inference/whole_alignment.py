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
from interstellar.evaluation.alignment import rescore
from interstellar.evaluation.approximate import find_nearest_nearly
from interstellar.evaluation.matching import (
    NOBODY,
    Quality,
    choose_precise_threshold,
    choose_threshold,
    list_nearest,
    match_one_to_one,
    refuse_too_large,
)
from interstellar.evaluation.similarity import Decoding, Similarity
from interstellar.randomness import spawn

FIRST, SECOND = 0, 1
KEEP_ALL = -np.inf
"""The threshold that leaves no pair out."""


class Asking(StrEnum):
    """Whose entities look for partners."""

    SOURCE = "source"
    TARGET = "target"
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
    asking: Asking = Asking.SOURCE
    """Without effect where the alignment is one-to-one."""
    threshold: float | None = None
    """Pairs less similar are left out; `KEEP_ALL` for none, None for the best on validation."""
    is_approximate: bool = False
    """Find the nearest by a graph of neighbours: of many entities not all products are taken."""
    least_precision: float | None = None
    """What is the best on validation: the lowest threshold that is so precise; None: highest F1."""

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k < 1:
            raise SettingsError(
                f"`top_k` is {self.top_k}, but an entity's list has at least one partner. "
                "Choose 1 or more."
            )
        if self.top_k is not None and self.is_one_to_one:
            raise SettingsError(
                "both a list of partners and a single one were asked for. "
                "Choose `top_k` or `one_to_one`."
            )
        if self.top_k is not None and self.decoding.is_one_to_one:
            raise SettingsError(
                f"{self.decoding} gives each entity one partner, so there is no list. "
                "Leave `top_k` out, or choose cosine, csls or sinkhorn."
            )
        is_list = self.decoding in {Decoding.COSINE, Decoding.CSLS} and not self.is_one_to_one
        if self.is_approximate and not is_list:
            one_to_one = ", one-to-one" if self.is_one_to_one else ""
            raise SettingsError(
                f"approximate is asked for with {self.decoding}{one_to_one}, but only the nearest "
                "by cosine or csls can be found without all products. Choose one of these, or "
                "leave `approximate` out."
            )
        if self.least_precision is not None and not 0 < self.least_precision <= 1:
            raise SettingsError(
                f"least_precision is {self.least_precision}, but it is a share of right pairs. "
                "Choose a number above 0 and at most 1, such as 0.9."
            )


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
        return self.unmatched_second if self.asking is Asking.TARGET else self.unmatched_first


def align(
    graph: GraphPair, first: Tensor, second: Tensor, settings: AlignmentSettings, *, seed: int = 0
) -> WholeAlignment:
    """Return the whole alignment of two graphs by the embeddings (n_entities, dim) of each."""
    if settings.threshold is None and len(graph.valid) == 0:
        raise SettingsError(
            f"{graph.name} has no validation pairs to choose a threshold on. "
            "Give `threshold` a number such as 0.5, or none to keep all pairs."
        )
    found = _decode_open(graph, first, second, settings, spawn(seed, "ties between partners"))
    threshold = settings.threshold
    if threshold is None:
        threshold = _choose_on_validation(found, graph.valid, settings)
    found = found.take(found.similarities >= threshold)
    pairs = np.concatenate([graph.train, found.pairs])
    n_seeds = len(graph.train)
    return WholeAlignment(
        pairs=pairs,
        similarities=np.append(np.ones(n_seeds), found.similarities),
        is_known=np.arange(len(pairs)) < n_seeds,
        unmatched_first=_others(pairs[:, FIRST], len(graph.source.entities)),
        unmatched_second=_others(pairs[:, SECOND], len(graph.target.entities)),
        asking=settings.asking,
        threshold=threshold,
        valid=_quality(found, graph.valid, settings.asking),
        test=_quality(found, graph.test, settings.asking),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    pairs: Pairs
    similarities: npt.NDArray[np.float64]

    @classmethod
    def of(cls, rows: Tensor, columns: Tensor, values: Tensor) -> "_Found":
        return cls(torch.stack([rows, columns], dim=1).numpy(), values.double().cpu().numpy())

    def take(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "_Found":
        return _Found(self.pairs[chosen], self.similarities[chosen])


def _decode_open(
    graph: GraphPair,
    first: Tensor,
    second: Tensor,
    settings: AlignmentSettings,
    rng: np.random.Generator,
) -> _Found:
    """Return the pairs of the entities that have no known partner, by id."""
    open_first = _others(graph.train[:, FIRST], len(first))
    open_second = _others(graph.train[:, SECOND], len(second))
    if settings.decoding is Decoding.HUNGARIAN:
        refuse_too_large(len(open_first), len(open_second))
    decoding = Decoding.COSINE if settings.is_approximate else settings.decoding
    similarity = rescore(
        first[torch.from_numpy(open_first).long().to(first.device)],
        second[torch.from_numpy(open_second).long().to(second.device)],
        decoding,
    )
    if settings.is_one_to_one or settings.decoding.is_one_to_one:
        found = _match(similarity, settings.decoding, rng)
    else:
        found = _list(similarity, settings, settings.asking, rng)
    ids = np.stack([open_first[found.pairs[:, FIRST]], open_second[found.pairs[:, SECOND]]], axis=1)
    is_share = settings.decoding is Decoding.SINKHORN
    return _Found(ids, np.exp(found.similarities) if is_share else found.similarities)


def _match(similarity: Similarity, decoding: Decoding, rng: np.random.Generator) -> _Found:
    partner = match_one_to_one(similarity, decoding, rng)
    rows = torch.nonzero(partner != NOBODY).squeeze(1)
    columns = partner[rows]
    values = similarity.of_pairs(rows.to(similarity.device), columns.to(similarity.device))
    return _Found.of(rows, columns, values)


def _list(
    similarity: Similarity,
    settings: AlignmentSettings,
    asking: Asking,
    rng: np.random.Generator,
) -> _Found:
    """Return the lists of who asks as pairs, in the order of who asks, the best partner first."""
    match asking:
        case Asking.SOURCE:
            k = settings.top_k or 1
            if settings.is_approximate:
                values, columns = find_nearest_nearly(similarity, settings.decoding, k, rng)
            else:
                values, columns = list_nearest(similarity, k, rng)
            rows = torch.arange(len(columns)).repeat_interleave(columns.shape[1])
            return _Found.of(rows, columns.flatten(), values.flatten())
        case Asking.TARGET:
            found = _list(similarity.turned(), settings, Asking.SOURCE, rng)
            return _Found(found.pairs[:, ::-1], found.similarities)
        case Asking.BOTH:
            forwards = _list(similarity, settings, Asking.SOURCE, rng)
            backwards = _list(similarity, settings, Asking.TARGET, rng)
            n_second = similarity.shape[1]
            keys, others = (x.pairs @ [max(1, n_second), 1] for x in (forwards, backwards))
            return forwards.take(np.isin(keys, others))
        case _:
            assert_never(asking)


def _choose_on_validation(found: _Found, valid: Pairs, settings: AlignmentSettings) -> float:
    best, is_right = _best_partners(found, valid, settings.asking)
    if settings.least_precision is None:
        return choose_threshold(best.similarities, is_right, n_true=len(valid))
    return choose_precise_threshold(best.similarities, is_right, precision=settings.least_precision)


def _best_partners(
    found: _Found, truth: Pairs, asking: Asking
) -> tuple[_Found, npt.NDArray[np.bool_]]:
    """Return the best pair of each entity that asks and is in the truth, and whether it is true."""
    side = SECOND if asking is Asking.TARGET else FIRST
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
