"""act(a + b) as one Triton kernel forward and one backward, for tanh and sigmoid."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 1024


def fused_sum(a: Tensor, b: Tensor, *, is_tanh: bool) -> Tensor:
    """Return tanh(a + b), or σ(a + b), for a of shape (batch, dim) with any row stride."""
    activated: Tensor = _Sum.apply(a, b, is_tanh)  # type: ignore[no-untyped-call]
    return activated


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, is_tanh: bool) -> Tensor:
        a, b = (x if x.stride(-1) == 1 else x.contiguous() for x in (a, b))
        y = torch.empty(a.shape, device=a.device)
        grid = (-(-y.numel() // BLOCK),)
        dim = y.shape[-1]
        _activate[grid](
            a, b, y, y.numel(), dim, a.stride(0), b.stride(0), IS_TANH=is_tanh, BLOCK=BLOCK
        )
        ctx.save_for_backward(y)
        ctx.is_tanh = is_tanh
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, None]:
        [y] = ctx.saved_tensors
        g = g.contiguous()
        gradient = torch.empty_like(y)
        grid = (-(-y.numel() // BLOCK),)
        _activate_back[grid](y, g, gradient, y.numel(), IS_TANH=ctx.is_tanh, BLOCK=BLOCK)
        return gradient, gradient, None


@triton.jit  # type: ignore[untyped-decorator]
def _activate(  # type: ignore[no-untyped-def]
    a, b, y, n_numbers, dim, a_stride, b_stride, IS_TANH: tl.constexpr, BLOCK: tl.constexpr
):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n_numbers
    rows, columns = places // dim, places % dim
    x = tl.load(a + rows * a_stride + columns, mask=mask, other=0.0)
    x += tl.load(b + rows * b_stride + columns, mask=mask, other=0.0)
    if IS_TANH:
        tl.store(y + places, 2 * tl.sigmoid(2 * x) - 1, mask=mask)
    else:
        tl.store(y + places, tl.sigmoid(x), mask=mask)


@triton.jit  # type: ignore[untyped-decorator]
def _activate_back(  # type: ignore[no-untyped-def]
    y, g, gradient, n_numbers, IS_TANH: tl.constexpr, BLOCK: tl.constexpr
):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n_numbers
    value = tl.load(y + places, mask=mask, other=0.0)
    slope = 1 - value * value if IS_TANH else value * (1 - value)
    tl.store(gradient + places, tl.load(g + places, mask=mask, other=0.0) * slope, mask=mask)
