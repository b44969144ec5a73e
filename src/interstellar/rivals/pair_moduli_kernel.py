"""Sums of complex moduli for all pairs of rows as Triton kernels, and their gradient.

A program has a tile of pairs in its registers and goes along the coordinates; in the backward pass
it has rows of one side and some coordinates, and goes along the other side.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from interstellar.rivals.readouts import EPSILON

ROWS, COLUMNS, COORDINATES = 16, 16, 32


def fused_sums(q: Tensor, o: Tensor) -> Tensor:
    """Return Σ_k |q_nk − o_mk| for all pairs of rows, (n, m)."""
    q, o = q.contiguous(), o.contiguous()
    n, m, half = len(q), len(o), q.shape[1] // 2
    sums = torch.empty(n, m, dtype=q.dtype, device=q.device)
    if sums.numel():
        grid = (triton.cdiv(m, COLUMNS), triton.cdiv(n, ROWS))
        _sum_moduli[grid](q, o, sums, n, m, half, ROWS=ROWS, COLUMNS=COLUMNS, KS=COORDINATES)
    return sums


def fused_slopes(q: Tensor, o: Tensor, g: Tensor) -> Tensor:
    """Return Σ_m g_nm · z / |z|, z = q_nk − o_mk: the gradient by q, given that by the sums."""
    q, o = q.contiguous(), o.contiguous()
    n, m, half = len(q), len(o), q.shape[1] // 2
    slopes = torch.empty_like(q)
    if slopes.numel():
        grid = (triton.cdiv(n, ROWS), triton.cdiv(half, COORDINATES))
        arguments = (q, o, g, slopes, n, m, half, *g.stride(), EPSILON)
        _sum_slopes[grid](*arguments, ROWS=ROWS, COLUMNS=COLUMNS, KS=COORDINATES)
    return slopes


@triton.jit
def _differences(q, o, row, column, k, n, m, half):  # type: ignore[no-untyped-def]
    """Real and imaginary parts of q − o, (rows, columns, ks), 0 beyond the coordinates."""
    from_q = q + row.to(tl.int64)[:, None] * (2 * half) + k[None, :]
    from_o = o + column.to(tl.int64)[:, None] * (2 * half) + k[None, :]
    in_q = (row < n)[:, None] & (k < half)[None, :]
    in_o = (column < m)[:, None] & (k < half)[None, :]
    real = tl.load(from_q, mask=in_q, other=0.0)[:, None, :]
    real = real - tl.load(from_o, mask=in_o, other=0.0)[None, :, :]
    imaginary = tl.load(from_q + half, mask=in_q, other=0.0)[:, None, :]
    imaginary = imaginary - tl.load(from_o + half, mask=in_o, other=0.0)[None, :, :]
    return real, imaginary


@triton.jit  # type: ignore[untyped-decorator]
def _sum_moduli(  # type: ignore[no-untyped-def]
    q, o, sums, n, m, half, ROWS: tl.constexpr, COLUMNS: tl.constexpr, KS: tl.constexpr
):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for first in range(0, half, KS):
        k = first + tl.arange(0, KS)
        real, imaginary = _differences(q, o, row, column, k, n, m, half)
        total += tl.sum(tl.sqrt(real * real + imaginary * imaginary), axis=2)
    to = sums + row.to(tl.int64)[:, None] * m + column[None, :]
    tl.store(to, total, mask=(row < n)[:, None] & (column < m)[None, :])


@triton.jit  # type: ignore[untyped-decorator]
def _sum_slopes(  # type: ignore[no-untyped-def]
    q,
    o,
    g,
    slopes,
    n,
    m,
    half,
    g_row,
    g_column,
    epsilon,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    KS: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.program_id(1) * KS + tl.arange(0, KS)
    of_real = tl.zeros([ROWS, KS], dtype=tl.float32)
    of_imaginary = tl.zeros([ROWS, KS], dtype=tl.float32)
    for first in range(0, m, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        real, imaginary = _differences(q, o, row, column, k, n, m, half)
        modulus = tl.sqrt(tl.maximum(real * real + imaginary * imaginary, epsilon))
        from_g = g + row.to(tl.int64)[:, None] * g_row + column.to(tl.int64)[None, :] * g_column
        weight = tl.load(from_g, mask=(row < n)[:, None] & (column < m)[None, :], other=0.0)
        weight = weight[:, :, None] / modulus
        of_real += tl.sum(weight * real, axis=1)
        of_imaginary += tl.sum(weight * imaginary, axis=1)
    to = slopes + row.to(tl.int64)[:, None] * (2 * half) + k[None, :]
    mask = (row < n)[:, None] & (k < half)[None, :]
    tl.store(to, of_real, mask=mask)
    tl.store(to + half, of_imaginary, mask=mask)
