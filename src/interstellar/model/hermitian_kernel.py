"""The complex product as one Triton kernel forward and one backward.

Written out in tensor operations it takes seven kernels forward and about fourteen backward,
each of which reads and writes whole tensors.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 1024


def fused_hermitian(a: Tensor, b: Tensor) -> Tensor:
    """Return a ⊗ b, (…, dim), on CUDA."""
    product: Tensor = _Hermitian.apply(a, b)  # type: ignore[no-untyped-call]
    return product


class _Hermitian(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        a, b = a.contiguous(), b.contiguous()
        ctx.save_for_backward(a, b)
        product = torch.empty_like(a)
        half = a.shape[-1] // 2
        n_pairs = a.numel() // 2
        _multiply[(-(-n_pairs // BLOCK),)](a, b, product, n_pairs, half, BLOCK=BLOCK)
        return product

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_tensors
        a_gradient, b_gradient = torch.empty_like(a), torch.empty_like(b)
        half = a.shape[-1] // 2
        n_pairs = a.numel() // 2
        _multiply_back[(-(-n_pairs // BLOCK),)](
            a, b, g.contiguous(), a_gradient, b_gradient, n_pairs, half, BLOCK=BLOCK
        )
        return a_gradient, b_gradient


@triton.jit  # type: ignore[untyped-decorator]
def _multiply(a, b, product, n_pairs, half, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    pairs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pairs < n_pairs
    re = pairs // half * (2 * half) + pairs % half
    im = re + half
    a_re, a_im = tl.load(a + re, mask=mask), tl.load(a + im, mask=mask)
    b_re, b_im = tl.load(b + re, mask=mask), tl.load(b + im, mask=mask)
    tl.store(product + re, a_re * b_re - a_im * b_im, mask=mask)
    tl.store(product + im, a_re * b_im + a_im * b_re, mask=mask)


@triton.jit  # type: ignore[untyped-decorator]
def _multiply_back(  # type: ignore[no-untyped-def]
    a, b, g, a_gradient, b_gradient, n_pairs, half, BLOCK: tl.constexpr
):
    pairs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pairs < n_pairs
    re = pairs // half * (2 * half) + pairs % half
    im = re + half
    a_re, a_im = tl.load(a + re, mask=mask), tl.load(a + im, mask=mask)
    b_re, b_im = tl.load(b + re, mask=mask), tl.load(b + im, mask=mask)
    g_re, g_im = tl.load(g + re, mask=mask), tl.load(g + im, mask=mask)
    tl.store(a_gradient + re, g_re * b_re + g_im * b_im, mask=mask)
    tl.store(a_gradient + im, g_im * b_re - g_re * b_im, mask=mask)
    tl.store(b_gradient + re, g_re * a_re + g_im * a_im, mask=mask)
    tl.store(b_gradient + im, g_im * a_re - g_re * a_im, mask=mask)
