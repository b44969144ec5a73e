"""What a network computes most on CUDA, as Triton kernels, compiled once for all architectures.

The complex product, and act(a + b), are one kernel forward and one backward each. Written out in
tensor operations the complex product takes seven forward and about fourteen backward, each of
which reads and writes whole tensors. The softmax loss and its gradient are one kernel, in place
over float16 logits; the gradient of N3 is one that touches only the rows that were read.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 1024
SOFTMAX_BLOCK, SOFTMAX_WARPS = 8192, 8


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
def _place(n_pairs, half, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return where the real and imaginary numbers of a block are, and which of them exist."""
    pairs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    re = pairs // half * (2 * half) + pairs % half
    return re, re + half, pairs < n_pairs


@triton.jit  # type: ignore[untyped-decorator]
def _multiply(a, b, product, n_pairs, half, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    re, im, mask = _place(n_pairs, half, BLOCK)
    a_re, a_im = tl.load(a + re, mask=mask), tl.load(a + im, mask=mask)
    b_re, b_im = tl.load(b + re, mask=mask), tl.load(b + im, mask=mask)
    tl.store(product + re, a_re * b_re - a_im * b_im, mask=mask)
    tl.store(product + im, a_re * b_im + a_im * b_re, mask=mask)


@triton.jit  # type: ignore[untyped-decorator]
def _multiply_back(  # type: ignore[no-untyped-def]
    a, b, g, a_gradient, b_gradient, n_pairs, half, BLOCK: tl.constexpr
):
    re, im, mask = _place(n_pairs, half, BLOCK)
    a_re, a_im = tl.load(a + re, mask=mask), tl.load(a + im, mask=mask)
    b_re, b_im = tl.load(b + re, mask=mask), tl.load(b + im, mask=mask)
    g_re, g_im = tl.load(g + re, mask=mask), tl.load(g + im, mask=mask)
    tl.store(a_gradient + re, g_re * b_re + g_im * b_im, mask=mask)
    tl.store(a_gradient + im, g_im * b_re - g_re * b_im, mask=mask)
    tl.store(b_gradient + re, g_re * a_re + g_im * a_im, mask=mask)
    tl.store(b_gradient + im, g_im * a_re - g_re * a_im, mask=mask)


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
        _activate_sum[grid](
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
        _activate_sum_back[grid](y, g, gradient, y.numel(), IS_TANH=ctx.is_tanh, BLOCK=BLOCK)
        return gradient, gradient, None


@triton.jit  # type: ignore[untyped-decorator]
def _activate_sum(  # type: ignore[no-untyped-def]
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
def _activate_sum_back(  # type: ignore[no-untyped-def]
    y, g, gradient, n_numbers, IS_TANH: tl.constexpr, BLOCK: tl.constexpr
):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n_numbers
    value = tl.load(y + places, mask=mask, other=0.0)
    slope = 1 - value * value if IS_TANH else value * (1 - value)
    tl.store(gradient + places, tl.load(g + places, mask=mask, other=0.0) * slope, mask=mask)


def turn_into_gradient_(
    logits: Tensor, true: Tensor, losses: Tensor, n_columns: int, label_smoothing: float = 0.0
) -> None:
    """Replace logits, (rows, padded), by their gradient; write each row's cross-entropy.

    Columns from `n_columns` on are padding: they count for nothing and become 0. One program a
    row: its first pass finds log Σ exp, its second writes softmax − target, and reads from cache.
    """
    assert logits.dtype is torch.float16
    assert logits.stride(1) == 1
    sizes = (n_columns, logits.shape[1], logits.stride(0))
    _softmax_gradient[(len(logits),)](
        *(logits, true, losses, *sizes, label_smoothing),
        IS_SMOOTH=label_smoothing > 0,
        BLOCK=SOFTMAX_BLOCK,
        num_warps=SOFTMAX_WARPS,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_gradient(  # type: ignore[no-untyped-def]
    logits,
    true,
    losses,
    n_columns,
    n_padded,
    stride,
    smoothing,
    IS_SMOOTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start_of_row = logits + row * stride
    answer = tl.load(true + row)
    largest = -1e30
    total = 0.0
    sum_of_logits = 0.0
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(start_of_row + columns, mask=columns < n_columns, other=-1e30).to(tl.float32)
        new_largest = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new_largest) + tl.sum(tl.exp(x - new_largest), axis=0)
        largest = new_largest
        if IS_SMOOTH:
            sum_of_logits += tl.sum(tl.where(columns < n_columns, x, 0.0), axis=0)
    log_sum = largest + tl.log(total)
    wanted = tl.load(start_of_row + answer).to(tl.float32)
    if IS_SMOOTH:
        wanted = (1 - smoothing) * wanted + smoothing * sum_of_logits / n_columns
    tl.store(losses + row, log_sum - wanted)
    tl.debug_barrier()
    for start in range(0, n_padded, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(start_of_row + columns, mask=columns < n_columns, other=-1e30).to(tl.float32)
        gradient = tl.exp(x - log_sum)
        if IS_SMOOTH:
            gradient -= tl.where(columns == answer, 1 - smoothing, 0.0)
            gradient -= tl.where(columns < n_columns, smoothing / n_columns, 0.0)
        else:
            gradient -= tl.where(columns == answer, 1.0, 0.0)
        tl.store(start_of_row + columns, gradient.to(tl.float16), mask=columns < n_padded)


def add_n3_slopes(
    table: Tensor, gradient: Tensor, counts: Tensor, weight: float, half: int
) -> None:
    """Add weight · count · |z| z to the gradient of each row; rows with count 0 are not read."""
    n_pairs = table.numel() // 2
    sizes = (n_pairs, table.shape[1] // 2, half)
    _add_n3_slopes[(-(-n_pairs // BLOCK),)](table, gradient, counts, weight, *sizes, BLOCK=BLOCK)


@triton.jit  # type: ignore[untyped-decorator]
def _add_n3_slopes(  # type: ignore[no-untyped-def]
    table, gradient, counts, weight, n_pairs, pairs_in_row, half, BLOCK: tl.constexpr
):
    pairs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    count = tl.load(counts + pairs // pairs_in_row, mask=pairs < n_pairs, other=0.0)
    mask = count > 0
    re = pairs // half * (2 * half) + pairs % half
    im = re + half
    z_re = tl.load(table + re, mask=mask, other=0.0)
    z_im = tl.load(table + im, mask=mask, other=0.0)
    slope = weight * count * tl.sqrt(z_re * z_re + z_im * z_im)
    tl.store(gradient + re, tl.load(gradient + re, mask=mask) + slope * z_re, mask=mask)
    tl.store(gradient + im, tl.load(gradient + im, mask=mask) + slope * z_im, mask=mask)
