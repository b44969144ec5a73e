"""Sums of complex moduli for all pairs of rows, without keeping what is between them.

    S_nm = Σ_k |z_nk|,  z_nk = q_nk − o_mk,  of complex vectors, real parts first

Forward and backward go through blocks of pairs that stay in the cache, and the backward pass
computes z anew, so that the memory is that of q, o and S. On CUDA two kernels do the same.
"""

from collections.abc import Iterator
from typing import Any, final

import torch
from torch import Tensor

from interstellar.model.aggregation import has_kernels
from interstellar.rivals.readouts import EPSILON

NUMBERS_AT_ONCE = 2**17
"""Coordinates of all pairs of a block: 512 KiB."""


def sum_moduli(q: Tensor, o: Tensor) -> Tensor:
    """Return S, (n, m), of q (n, dim) and o (m, dim); where z is 0 its gradient is 0."""
    sums: Tensor = _SumOfModuli.apply(q, o)  # type: ignore[no-untyped-call]
    return sums


@final
class _SumOfModuli(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, o: Tensor) -> Tensor:
        ctx.save_for_backward(q, o)
        if has_kernels(q.device):
            from interstellar.rivals.pair_moduli_kernel import fused_sums  # noqa: PLC0415 (triton)

            return fused_sums(q, o)
        sums = q.new_empty(len(q), len(o))
        for rows, columns in blocks(len(q), len(o), q.shape[1]):
            real, imaginary = differences(q[rows], o[columns])
            sums[rows, columns] = squares_(real, imaginary).sqrt_().sum(dim=2)
        return sums

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        q, o = ctx.saved_tensors
        if has_kernels(q.device):
            from interstellar.rivals.pair_moduli_kernel import fused_slopes  # noqa: PLC0415 (triton)

            return fused_slopes(q, o, g), fused_slopes(o, q, g.T)
        of_q, of_o = torch.zeros_like(q), torch.zeros_like(o)
        for rows, columns in blocks(len(q), len(o), q.shape[1]):
            parts = differences(q[rows], o[columns])
            weights = squares_(parts[0].clone(), parts[1]).clamp_min_(EPSILON).rsqrt_()
            weights *= g[rows, columns].unsqueeze(2)
            slopes = torch.cat([part.mul_(weights) for part in parts], dim=2)
            of_q[rows] += slopes.sum(dim=1)
            of_o[columns] -= slopes.sum(dim=0)
        return of_q, of_o


def blocks(n: int, m: int, dim: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows and columns that cover all pairs of n and m."""
    n_pairs = max(1, 2 * NUMBERS_AT_ONCE // dim)
    height = max(1, min(n, n_pairs))
    width = max(1, n_pairs // height)
    for first in range(0, n, height):
        for start in range(0, m, width):
            yield slice(first, first + height), slice(start, start + width)


def differences(q: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:
    """Return the real and imaginary parts of z for all pairs, (n, m, dim / 2)."""
    (q_re, q_im), (o_re, o_im) = q.unsqueeze(1).chunk(2, dim=2), o.unsqueeze(0).chunk(2, dim=2)
    return q_re - o_re, q_im - o_im


def squares_(real: Tensor, imaginary: Tensor) -> Tensor:
    """Return |z|², in the place of the real parts."""
    return real.square_().addcmul_(imaginary, imaginary)
