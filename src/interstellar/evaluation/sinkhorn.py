"""Sinkhorn's plan: how the mass of all sources is shared among all targets.

    K = exp(cos / τ);   u ← 1 / (K v),   v ← 1 / (Kᵀ u),   n times, from v = 1;   P = u K v

(Cuturi 2013; for alignment Mao et al. 2022, LightEA.) An entity near to many has to share its
mass among them, so hubs and copies lose, as they do where every entity has one partner.

Only u and v are the result, as logarithms. Each round reads K once: a block of rows gives its u,
and, while it is in the cache, its part of Kᵀ u. K is kept where the memory allows it; otherwise
its blocks are computed anew from the embeddings in each round, and memory grows with n alone.

Numbers stay in range because K is kept about offsets α and β, K = exp(cos / τ + α + β), at first
those for which no entry exceeds 1 and every row and column has a 1; when u or v stray far from 1
they are moved into the offsets (Schmitzer 2019). The result is that of a loop over logarithms.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.evaluation.chunks import fit_chunk_size, usable_bytes
from interstellar.evaluation.ranks import FLOAT_BYTES
from interstellar.evaluation.similarity import Similarity

log = logging.getLogger(__name__)

LOWEST_EXPONENT = -85.0
"""exp of less has fewer digits in float32, and slows a CPU down."""
FARTHEST = 27.0
"""Of |log u| and |log v|: entries of K cut off at `LOWEST_EXPONENT` are still nothing beside."""
CPU_SWEEP_BYTES = 2**21
"""Rows of K that are read twice: small enough for a core's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkhornSettings:
    """How sharply and how long mass is shared."""

    temperature: float = 0.02
    """τ"""
    n_rounds: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise SettingsError(
                f"temperature is {self.temperature}, but cosines are divided by it. "
                "Choose a number above 0, such as 0.02."
            )
        if self.n_rounds < 1:
            raise SettingsError(
                f"n_rounds is {self.n_rounds}, but the plan takes at least one. Choose 100."
            )


def balance(
    cosine: Similarity, settings: SinkhornSettings, *, memory_bytes: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return log u (n_sources,) and log v (n_targets,) of the plan, float32.

    Columns of the plan sum to 1, rows nearly so, or to n_targets / n_sources. K is kept if it takes
    no more than `memory_bytes`, which is half of what is free where it is None.
    """
    if memory_bytes is None:
        memory_bytes = usable_bytes(cosine.device)
    n_sources, n_targets = cosine.shape
    if n_sources == 0 or n_targets == 0:
        return cosine.source.new_zeros(n_sources), cosine.target.new_zeros(n_targets)
    is_kept = FLOAT_BYTES * n_sources * n_targets <= memory_bytes
    if not is_kept:
        log.info("%d × %d similarities are computed anew in each round", n_sources, n_targets)
    log_u, log_v = _first_offsets(cosine, settings.temperature)
    v = log_v.neg().exp().float()
    kernel = _Kernel(cosine, settings.temperature, is_kept=is_kept)
    kernel.move(log_u, log_v)
    for _ in range(settings.n_rounds):
        u, v = _sweep(kernel, n_sources, v)
        if not is_kept or _is_far(u) or _is_far(v):
            log_u, log_v = log_u + u.double().log(), log_v + v.double().log()
            kernel.move(log_u, log_v)
            u, v = torch.ones_like(u), torch.ones_like(v)
    return (log_u + u.double().log()).float(), (log_v + v.double().log()).float()


def _first_offsets(cosine: Similarity, temperature: float) -> tuple[Tensor, Tensor]:
    """Return α and β for which the highest entry of each row and column is 1."""
    highest_of_row = torch.empty_like(cosine.source[:, 0])
    highest_of_column = torch.full_like(cosine.target[:, 0], -torch.inf)
    for rows in _slices(cosine):
        values = cosine.rows(rows)
        highest_of_row[rows] = values.amax(dim=1)
        values.sub_(highest_of_row[rows].unsqueeze(1))
        torch.maximum(highest_of_column, values.amax(dim=0), out=highest_of_column)
    return highest_of_row.double() / -temperature, highest_of_column.double() / -temperature


@final
class _Kernel:
    """exp(cos / τ + α + β) by blocks of rows."""

    def __init__(self, cosine: Similarity, temperature: float, *, is_kept: bool) -> None:
        self._cosine = cosine
        self._temperature = temperature
        self._values = cosine.source.new_empty(cosine.shape) if is_kept else None
        self._alpha, self._beta = cosine.source[:, 0], cosine.target[:, 0]

    def move(self, alpha: Tensor, beta: Tensor) -> None:
        """Set the offsets."""
        self._alpha, self._beta = alpha.float(), beta.float()
        if self._values is not None:
            for rows in _slices(self._cosine):
                self._values[rows] = self._compute(rows)

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield all rows, block by block."""
        if self._values is None:
            for rows in _slices(self._cosine):
                yield rows, self._compute(rows)
            return
        is_on_cpu = self._cosine.device.type == "cpu"
        for rows in _slices(self._cosine, CPU_SWEEP_BYTES if is_on_cpu else None):
            yield rows, self._values[rows]

    def _compute(self, rows: slice) -> Tensor:
        exponent = self._cosine.rows(rows).mul_(1 / self._temperature)
        exponent.add_(self._beta).add_(self._alpha[rows].unsqueeze(1))
        return exponent.clamp_(min=LOWEST_EXPONENT).exp_()


def _sweep(kernel: _Kernel, n_sources: int, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return u = 1 / (K v) and v = 1 / (Kᵀ u): one round."""
    u = v.new_empty(n_sources)
    sums = torch.zeros_like(v)
    for rows, block in kernel.blocks():
        u[rows] = torch.mv(block, v).reciprocal_()
        sums.addmv_(block.T, u[rows])
    return u, sums.reciprocal_()


def _is_far(factors: Tensor) -> bool:
    return bool(factors.log().abs().amax() > FARTHEST)


def _slices(cosine: Similarity, n_bytes: int | None = None) -> Iterator[slice]:
    """Yield the rows by blocks of `n_bytes`, None for what suits the device."""
    n_sources, n_targets = cosine.shape
    row_bytes = FLOAT_BYTES * n_targets
    size = fit_chunk_size(row_bytes, cosine.device) if n_bytes is None else n_bytes // row_bytes
    for start in range(0, n_sources, max(1, size)):
        yield slice(start, min(start + max(1, size), n_sources))
