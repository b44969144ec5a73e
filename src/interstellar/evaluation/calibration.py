"""From logits to probabilities that mean what they say: one temperature, fitted on validation.

The probability of an entity is softmax(logit / T) over the candidates: all entities but those
known to answer. It holds under the premise that exactly one answer is missing and that it is
among the entities; whether anything is missing at all, no ranking can tell. In measuring, the
true answer stays a candidate and the other known answers do not, as in filtered ranks.

T minimises the negative log-likelihood of held-out answers in both directions (Guo et al. 2017,
On calibration of modern neural networks). In β = 1/T this is convex, so Newton's steps on its
slope, kept within a bracket, find the one minimum.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.errors import DataError
from interstellar.evaluation.chunks import exact_products, fit_chunk_size, spread_chunks
from interstellar.evaluation.ranks import FLOAT_BYTES, ComputeLogits

Queries: TypeAlias = npt.NDArray[np.int64]
"""Shape (n, 3), the true answers last."""
Result = TypeVar("Result")

MOST_QUERIES, FEWEST_QUERIES = 1000, 50
"""Queries that the temperature is fitted on: a thousand leave it uncertain by a few percent."""
MOST_LOGITS = 2**28
"""Of all these queries: with more than a quarter of a million entities, fewer are asked."""
KEPT_BYTES = 2**30
"""Of logits kept between the steps of the fit; those of larger graphs are computed anew."""
TEMPERATURES = (1e-3, 1e3)
"""A network that is always right, or never better than chance, ends at one of these."""
N_BINS = 10

_MOST_STEPS = 40
_CLOSE_ENOUGH = 1e-5
_LEFT_OUT = -1e15  # of a logit: its weight is 0 at any temperature, and its square is finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Queries whose top answers the network is about equally sure of."""

    confidence: float
    """Mean probability of the top answer."""
    accuracy: float
    """Share of queries whose top answer is the true one."""
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How far probabilities can be taken at their word."""

    temperature: float
    ece: float
    """Expected calibration error of the top answer: mean of |accuracy − confidence| over bins."""
    ece_uncalibrated: float
    """The same with T = 1."""
    nll: float
    """Mean negative log-likelihood of the true answers, in nats."""
    nll_uncalibrated: float
    n: int
    bins: tuple[Bin, ...]
    """Of equally many queries each, from the least sure to the surest."""

    def as_dict(self) -> dict[str, object]:
        """Return all of it as JSON holds it."""
        return asdict(self) | {"bins": [asdict(of_bin) for of_bin in self.bins]}


def draw_queries(queries: Triplets, n_entities: int, rng: np.random.Generator) -> Triplets:
    """Return some of the queries to fit the temperature on, in their order."""
    most = min(MOST_QUERIES, max(FEWEST_QUERIES, MOST_LOGITS // n_entities))
    if len(queries) <= most:
        return queries
    return queries[np.sort(rng.choice(len(queries), most, replace=False))]


def fit_temperature(
    compute_logits: ComputeLogits,
    queries: Triplets,
    known: KnownAnswers,
    *,
    device: torch.device,
    chunk_size: int | None = None,
) -> float:
    """Return the T that makes the objects of the queries most likely.

    Arguments as for `rank_objects`; the queries hold inverses for both directions.
    """
    held_out = _HeldOut(compute_logits, queries, known, device, chunk_size, kept_bytes=KEPT_BYTES)

    def add_slopes(beta: float) -> tuple[float, float]:
        slopes = list(held_out.map(lambda part: _slopes(part, beta)))
        return sum(first for first, _ in slopes), sum(second for _, second in slopes)

    return 1 / _find_root(add_slopes)


def measure_reliability(
    compute_logits: ComputeLogits,
    queries: Triplets,
    known: KnownAnswers,
    *,
    temperature: float,
    device: torch.device,
    chunk_size: int | None = None,
) -> Reliability:
    """Return how well probabilities at a temperature hold for queries with known objects."""
    held_out = _HeldOut(compute_logits, queries, known, device, chunk_size, kept_bytes=0)
    judged = np.empty((len(queries), 5))

    def judge(rows: slice) -> bool:
        judged[rows] = _judge(held_out.part(rows), temperature)
        return True

    for _ in held_out.spread(judge, 0, len(queries)):
        pass
    is_right, confidence, nll, confidence_uncalibrated, nll_uncalibrated = judged.T
    bins = equal_bins(confidence, is_right)
    return Reliability(
        temperature=temperature,
        ece=expected_error(bins),
        ece_uncalibrated=expected_error(equal_bins(confidence_uncalibrated, is_right)),
        nll=float(nll.mean()),
        nll_uncalibrated=float(nll_uncalibrated.mean()),
        n=len(queries),
        bins=bins,
    )


def equal_bins(
    confidence: npt.NDArray[np.float64], is_right: npt.NDArray[np.float64]
) -> tuple[Bin, ...]:
    """Put queries into bins of equal size, by how sure the network is."""
    order = np.argsort(confidence, kind="stable")
    return tuple(
        Bin(
            confidence=float(confidence[rows].mean()),
            accuracy=float(is_right[rows].mean()),
            n=len(rows),
        )
        for rows in np.array_split(order, min(N_BINS, len(order)))
    )


def expected_error(bins: Sequence[Bin]) -> float:
    """Return the mean of |accuracy − confidence| over all queries' bins."""
    return sum(b.n * abs(b.accuracy - b.confidence) for b in bins) / sum(b.n for b in bins)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some queries: logits less the highest of their row, and that of the true answer."""

    logits: Tensor
    """(batch, n_entities), 0 for the highest candidate; `_LEFT_OUT` for no candidate."""
    true: Tensor
    """(batch,)"""


@final
class _HeldOut:
    """Held-out queries with the logits of their candidates, as many kept as `kept_bytes` hold."""

    def __init__(
        self,
        compute_logits: ComputeLogits,
        queries: Triplets,
        known: KnownAnswers,
        device: torch.device,
        chunk_size: int | None,
        *,
        kept_bytes: int,
    ) -> None:
        if len(queries) == 0:
            raise DataError(
                "there are no held-out triplets, so nothing says how sure the network may be. "
                "Give a graph with a validation split."
            )
        self._compute_logits = compute_logits
        self._queries: Queries = queries.astype(np.int64)
        self._known = known
        self._device = device
        row_bytes = FLOAT_BYTES * known.n_entities
        self._chunk_size = chunk_size or fit_chunk_size(row_bytes, device)
        self._n_kept = min(len(queries), kept_bytes // row_bytes)
        self._kept: list[_Part] = []

    def map(self, compute: Callable[[_Part], Result]) -> Iterator[Result]:
        """Yield what `compute` gives for all queries, part by part."""
        if self._n_kept and not self._kept:
            self._kept.extend(self.spread(self.part, 0, self._n_kept))
        n_kept, n, device = len(self._kept), len(self._queries), self._device
        yield from spread_chunks(
            lambda place: compute(self._kept[place.start]), n_kept, chunk_size=1, device=device
        )
        yield from self.spread(lambda rows: compute(self.part(rows)), self._n_kept, n)

    def spread(self, compute: Callable[[slice], Result], start: int, stop: int) -> Iterator[Result]:
        """Yield what `compute` gives for the queries from `start` on, chunk by chunk."""
        with exact_products(self._device):
            yield from spread_chunks(
                lambda rows: compute(slice(start + rows.start, start + rows.stop)),
                stop - start,
                chunk_size=self._chunk_size,
                device=self._device,
            )

    @torch.no_grad()
    def part(self, rows: slice) -> _Part:
        """Return the logits of some queries."""
        queries = self._queries[rows]
        subjects, relations, objects = torch.from_numpy(queries).to(self._device).T.contiguous()
        logits = self._compute_logits(subjects, relations)
        askers, answers = self._known.look_up(queries[:, SUBJECT], queries[:, RELATION])
        is_rival = answers != queries[askers, OBJECT]
        places = (askers[is_rival], answers[is_rival].astype(np.int64))
        logits[tuple(torch.from_numpy(ids).to(self._device) for ids in places)] = -torch.inf
        logits.sub_(logits.amax(dim=1, keepdim=True)).clamp_(min=_LEFT_OUT)
        if logits.isnan().any():
            raise DataError(
                "the network's logits are not numbers, so they have no probabilities: training "
                "diverged. Train anew with a smaller learning rate."
            )
        return _Part(logits, logits.gather(1, objects.unsqueeze(1)).squeeze(1))


def _slopes(part: _Part, beta: float) -> tuple[float, float]:
    """Return the first and second derivative of the negative log-likelihood in β = 1/T.

    They are E[x] − x_true and Var[x], summed over the queries, x being a candidate's logit
    and its weight softmax(β x).
    """
    weights = part.logits.mul(beta).exp_()
    total = weights.sum(dim=1)
    mean = torch.linalg.vecdot(weights, part.logits) / total
    square = torch.linalg.vecdot(weights.mul_(part.logits), part.logits) / total
    first = (mean - part.true).double().sum().item()
    return first, (square - mean.square()).double().sum().item()


def _find_root(slopes: Callable[[float], tuple[float, float]]) -> float:
    """Return the β within bounds at which the ascending slope is 0, or the bound nearest to it."""
    low, high = 1 / TEMPERATURES[1], 1 / TEMPERATURES[0]
    beta = 1.0
    for _ in range(_MOST_STEPS):
        first, second = slopes(beta)
        low, high = (beta, high) if first < 0 else (low, beta)
        step = beta - first / second if second > 0 else math.nan
        following = step if low < step < high else math.sqrt(low * high)
        if abs(following - beta) <= _CLOSE_ENOUGH * beta:
            return following
        beta = following
    return beta


def _judge(part: _Part, temperature: float) -> npt.NDArray[np.float64]:
    """Return for each query whether its top answer is true, then its confidence and NLL.

    The two once at T, once at 1: (batch, 5). Among level top answers the true one counts in part.
    """
    is_top = part.logits == 0
    columns = [(part.true == 0) / is_top.sum(dim=1)]
    for T in (temperature, 1.0):
        total = part.logits.div(T).exp_().sum(dim=1)
        columns += [1 / total, total.log() - part.true / T]
    return torch.stack(columns, dim=1).double().cpu().numpy()
