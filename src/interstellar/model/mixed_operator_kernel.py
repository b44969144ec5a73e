"""A mixed operator as one Triton kernel forward and one backward.

Written out in tensor operations every option in play takes several kernels, each of which reads
and writes whole tensors. A program handles blocks of two rows, real and imaginary parts, and has
each block a second time with the parts exchanged, as ⊗ needs it: what ends in `_x`. It computes all
options, whichever are in play, so that there is one program for all groups and nothing has to be
compiled for a new one. The gradient by the weights of the options is not computed here.
"""

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from interstellar.model.mixed_operator import MixedOperator

BLOCK = 512
"""Pairs of a real and an imaginary part in a program."""


def fused_operator(
    operator: "MixedOperator", a: Tensor | None, b: Tensor, logit: Tensor | None
) -> Tensor:
    """Do what `MixedOperator.combine_gated` says, on CUDA in float32."""
    mixture = operator.mixture
    output: Tensor = _Operator.apply(  # type: ignore[no-untyped-call]
        a,
        b,
        logit,
        mixture.weights,
        mixture.column_table[operator.combinator],
        mixture.column_table[operator.activation],
    )
    return output


class _Operator(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, a: Tensor | None, b: Tensor, logit: Tensor | None, *tables: Tensor
    ) -> Tensor:
        ctx.save_for_backward(a, b, logit, *tables)
        y = torch.empty(b.shape, device=b.device)
        _operate[grid_of(b)](*arguments_of(a, b, logit, *tables), y, **flags_of(a, logit))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        a, b, logit, *tables = ctx.saved_tensors
        gradients = [
            None if x is None else torch.empty(x.shape, device=x.device) for x in (a, b, logit)
        ]
        _operate_back[grid_of(b)](
            *arguments_of(a, b, logit, *tables),
            g.contiguous(),
            *(b if gradient is None else gradient for gradient in gradients),
            **flags_of(a, logit),
        )
        return *gradients, None, None, None


def grid_of(b: Tensor) -> tuple[int]:
    """Return how many programs there are."""
    return (-(-b.numel() // (2 * BLOCK)),)


def arguments_of(
    a: Tensor | None, b: Tensor, logit: Tensor | None, weights: Tensor, *columns: Tensor
) -> tuple[Tensor | int, ...]:
    """Return what both kernels are told; b stands in for inputs that are not there."""
    half = b.shape[-1] // 2
    inputs = [dense_rows(b if x is None else x) for x in (a, b, logit)]
    strides = [x.stride(0) for x in inputs]
    return *inputs, weights, *columns, b.numel() // 2, half, *strides


def dense_rows(x: Tensor) -> Tensor:
    """Return a tensor as rows the numbers of which stand side by side."""
    x = x.reshape(-1, x.shape[-1])
    return x if x.stride(-1) == 1 else x.contiguous()


def flags_of(a: Tensor | None, logit: Tensor | None) -> dict[str, int]:
    """Return what a kernel is compiled for."""
    return {"HAS_A": a is not None, "HAS_GATE": logit is not None, "BLOCK": BLOCK}


@triton.jit  # type: ignore[untyped-decorator]
def _load(a, b, logit, places, mask, HAS_A: tl.constexpr, HAS_GATE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return a, b and g of rows that begin there; zeros for what is not there."""
    b_1 = tl.load(b + places, mask=mask, other=0.0)
    a_1, g = tl.zeros_like(b_1), tl.zeros_like(b_1)
    if HAS_A:
        a_1 = tl.load(a + places, mask=mask, other=0.0)
    if HAS_GATE:
        g = tl.sigmoid(tl.load(logit + places, mask=mask, other=0.0))
    return a_1, b_1, g


@triton.jit  # type: ignore[untyped-decorator]
def _share(weights, columns, x, OPTION: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the weight of an option times x; 0 where it weighs nothing, whatever x is."""
    column = tl.load(columns + OPTION)
    of_alone = tl.where(column == -1, 1.0, 0.0)
    weight = of_alone + tl.load(weights + column, mask=column >= 0, other=0.0)
    return tl.where(weight != 0, weight * x, 0.0)


@triton.jit
def _combine(a, b, g, a_x, b_x, is_real, weights, columns):  # type: ignore[no-untyped-def]
    z = _share(weights, columns, a + b, 0)
    z += _share(weights, columns, a * b, 1)
    z += _share(weights, columns, tl.where(is_real, a * b - a_x * b_x, a_x * b + a * b_x), 2)
    z += _share(weights, columns, a + g * (b - a), 3)
    return z


@triton.jit
def _combine_back(a, b, g, d, a_x, b_x, d_x, is_real, weights, columns):  # type: ignore[no-untyped-def]
    """Return the gradients by a, b and the logit of g, d being that by their combination."""
    d_sum, d_gated = _share(weights, columns, d, 0), _share(weights, columns, d, 3)
    d_a = d_sum + _share(weights, columns, d * b, 1) + d_gated * (1 - g)
    d_b = d_sum + _share(weights, columns, d * a, 1) + d_gated * g
    of_a = tl.where(is_real, d * b + d_x * b_x, d * b_x - d_x * b)
    of_b = tl.where(is_real, d * a + d_x * a_x, d * a_x - d_x * a)
    d_a += _share(weights, columns, of_a, 2)
    d_b += _share(weights, columns, of_b, 2)
    return d_a, d_b, d_gated * (b - a) * g * (1 - g)


@triton.jit
def _activate(z, weights, columns):  # type: ignore[no-untyped-def]
    y = _share(weights, columns, z, 0)
    y += _share(weights, columns, 2 * tl.sigmoid(2 * z) - 1, 1)
    y += _share(weights, columns, tl.sigmoid(z), 2)
    return y


@triton.jit
def _slope(z, weights, columns):  # type: ignore[no-untyped-def]
    tanh, sigmoid = 2 * tl.sigmoid(2 * z) - 1, tl.sigmoid(z)
    slope = _share(weights, columns, tl.zeros_like(z) + 1.0, 0)
    slope += _share(weights, columns, 1 - tanh * tanh, 1)
    slope += _share(weights, columns, sigmoid * (1 - sigmoid), 2)
    return slope


@triton.jit  # type: ignore[untyped-decorator]
def _operate(  # type: ignore[no-untyped-def]
    a,
    b,
    logit,
    weights,
    combinators,
    activations,
    n_pairs,
    half,
    a_row,
    b_row,
    logit_row,
    y,
    HAS_A: tl.constexpr,
    HAS_GATE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pairs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    part = tl.arange(0, 2)[:, None]
    mask = (pairs < n_pairs) & (part < 2)
    pairs = tl.minimum(pairs, n_pairs - 1)
    own, exchanged = pairs % half + part * half, pairs % half + (1 - part) * half
    row = pairs // half
    a += row * a_row
    b += row * b_row
    logit += row * logit_row
    start = row * (2 * half)
    a_1, b_1, g = _load(a, b, logit, own, mask, HAS_A, HAS_GATE)
    a_x, b_x, _ = _load(a, b, logit, exchanged, mask, HAS_A, HAS_GATE)
    z = _combine(a_1, b_1, g, a_x, b_x, part == 0, weights, combinators)
    tl.store(y + start + own, _activate(z, weights, activations), mask=mask)


@triton.jit  # type: ignore[untyped-decorator]
def _operate_back(  # type: ignore[no-untyped-def]
    a,
    b,
    logit,
    weights,
    combinators,
    activations,
    n_pairs,
    half,
    a_row,
    b_row,
    logit_row,
    y_gradient,
    a_gradient,
    b_gradient,
    logit_gradient,
    HAS_A: tl.constexpr,
    HAS_GATE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pairs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    part = tl.arange(0, 2)[:, None]
    mask = (pairs < n_pairs) & (part < 2)
    pairs = tl.minimum(pairs, n_pairs - 1)
    own, exchanged = pairs % half + part * half, pairs % half + (1 - part) * half
    row = pairs // half
    a += row * a_row
    b += row * b_row
    logit += row * logit_row
    start = row * (2 * half)
    a_1, b_1, g = _load(a, b, logit, own, mask, HAS_A, HAS_GATE)
    a_x, b_x, g_x = _load(a, b, logit, exchanged, mask, HAS_A, HAS_GATE)
    z = _combine(a_1, b_1, g, a_x, b_x, part == 0, weights, combinators)
    z_x = _combine(a_x, b_x, g_x, a_1, b_1, part == 1, weights, combinators)
    d = tl.load(y_gradient + start + own, mask=mask, other=0.0)
    d *= _slope(z, weights, activations)
    d_x = tl.load(y_gradient + start + exchanged, mask=mask, other=0.0)
    d_x *= _slope(z_x, weights, activations)
    d_a, d_b, d_logit = _combine_back(
        a_1, b_1, g, d, a_x, b_x, d_x, part == 0, weights, combinators
    )
    tl.store(b_gradient + start + own, d_b, mask=mask)
    if HAS_A:
        tl.store(a_gradient + start + own, d_a, mask=mask)
    if HAS_GATE:
        tl.store(logit_gradient + start + own, d_logit, mask=mask)
