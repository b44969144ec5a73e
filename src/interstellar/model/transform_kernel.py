"""Linear map, layer norm, ReLU and residual of a layer as Triton kernels.

    h_t = h + relu(norm(h W_h + m (W_1 + k W_2 + W_3 / k) + b))

where m are the statistics of a node for a query and k is the node's scale, the same for a whole
program, so that the three matrices of PNA become one before anything is multiplied. Backward, y
is computed again; the gradient by the matrices is added up by programs that go through many nodes
each, and then over the programs, in the same order every time.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

TILE, WARPS, BACK_WARPS = 2048, 8, 4
"""Numbers of a node's state that a program handles at once, and its warps."""

N_PROGRAMS, SUM_TILE, SUM_WARPS, SUM_STAGES = 264, 1024, 8, 2
"""The same of the programs that add up the gradient by the matrices: two a multiprocessor."""

MIN_ROWS = MIN_COLUMNS = 16  # of a product of tiles


def transform_fused(
    h: Tensor, statistics: Tensor, scales: Tensor, weight: Tensor, *vectors: Tensor
) -> Tensor:
    """Return h_t, (n_entities, batch, dim); the vectors are bias, scale and shift."""
    output: Tensor = _Transform.apply(  # type: ignore[no-untyped-call]
        h, statistics, scales, weight, *vectors
    )
    return output


class _Transform(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        statistics: Tensor,
        scales: Tensor,
        weight: Tensor,
        *vectors: Tensor,
    ) -> Tensor:
        h, statistics, by_input = h.contiguous(), statistics.contiguous(), weight.T.contiguous()
        ctx.save_for_backward(h, statistics, scales, by_input, *vectors)
        n, batch, dim = h.shape
        output = torch.empty_like(h)
        flags = flags_of(h, statistics, by_input, TILE)
        if output.numel():
            _transform[(n, triton.cdiv(batch, flags["ROWS"]))](
                *(h, statistics, scales, by_input, *vectors, output, batch, dim),
                **flags,
                num_warps=WARPS,
            )
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, statistics, scales, by_input, *vectors = ctx.saved_tensors
        n, batch, dim = h.shape
        flags = flags_of(h, statistics, by_input, TILE)
        n_blocks = triton.cdiv(batch, flags["ROWS"])
        of_h, of_statistics = torch.empty_like(h), torch.empty_like(statistics)
        of_y = torch.empty(h.shape, dtype=torch.float32, device=h.device)
        of_vectors = of_y.new_zeros(n * n_blocks, 2, dim)
        if of_y.numel():
            _transform_back[(n, n_blocks)](
                *(h, statistics, scales, by_input, *vectors, gradient.contiguous()),
                *(of_h, of_statistics, of_y, of_vectors, batch, dim),
                **flags,
                num_warps=BACK_WARPS,
            )
        of_weight = sum_weights(h, statistics, scales, of_y, by_input)
        scale, shift = of_vectors.sum(dim=0)
        bias = of_y.sum(dim=(0, 1))
        return of_h, of_statistics, None, of_weight.T, bias, scale, shift


def sum_weights(
    h: Tensor, statistics: Tensor, scales: Tensor, of_y: Tensor, by_input: Tensor
) -> Tensor:
    """Return the gradient by the matrices, (inputs, dim), that by y being given."""
    n, batch, dim = h.shape
    flags = flags_of(h, statistics, by_input, SUM_TILE)
    n_tiles = n * triton.cdiv(batch, flags["ROWS"])
    shares = of_y.new_zeros(max(1, min(N_PROGRAMS, n_tiles)), *by_input.shape)
    if n_tiles:
        _sum_weights[(len(shares),)](
            *(h, statistics, scales, of_y, shares, n_tiles, batch, dim),
            **flags,
            num_warps=SUM_WARPS,
            num_stages=SUM_STAGES,
        )
    return shares.sum(dim=0)


def flags_of(h: Tensor, statistics: Tensor, by_input: Tensor, tile: int) -> dict[str, Any]:
    """Return what the kernels are compiled for."""
    _, batch, dim = h.shape
    is_exact = torch.get_float32_matmul_precision() == "highest"
    columns = max(MIN_COLUMNS, triton.next_power_of_2(dim))
    return {
        "HAS_SCALES": len(by_input) > (1 + statistics.shape[2]) * dim,
        "N_STATISTICS": statistics.shape[2],
        "ROWS": max(MIN_ROWS, min(tile // columns, triton.next_power_of_2(batch))),
        "COLUMNS": columns,
        "PRECISION": "tf32x3" if is_exact else "tf32",
    }


@triton.jit  # type: ignore[untyped-decorator]
def _mix(  # type: ignore[no-untyped-def]
    weights, k, dim, HAS_SCALES: tl.constexpr, N: tl.constexpr, COLUMNS: tl.constexpr
):
    """Return W_1 + k W_2 + W_3 / k, (statistics, outputs)."""
    inputs = tl.arange(0, N * COLUMNS)[:, None]
    outputs = tl.arange(0, COLUMNS)[None, :]
    places = weights + ((1 + inputs // COLUMNS) * dim + inputs % COLUMNS) * dim + outputs
    mask = (inputs % COLUMNS < dim) & (outputs < dim)
    mixed = tl.load(places, mask=mask, other=0.0)
    if HAS_SCALES:
        mixed += k * tl.load(places + N * dim * dim, mask=mask, other=0.0)
        mixed += tl.load(places + 2 * N * dim * dim, mask=mask, other=0.0) / tl.maximum(k, 1e-2)
    return mixed


@triton.jit  # type: ignore[untyped-decorator]
def _load_inputs(  # type: ignore[no-untyped-def]
    h, statistics, row, is_there, dim, N: tl.constexpr, COLUMNS: tl.constexpr
):
    """Return tiles of h and of the statistics, and where they are."""
    columns, wide = tl.arange(0, COLUMNS)[None, :], tl.arange(0, N * COLUMNS)[None, :]
    at_h = row * dim + columns
    at_m = (row * N + wide // COLUMNS) * dim + wide % COLUMNS
    has_h, has_m = is_there & (columns < dim), is_there & (wide % COLUMNS < dim)
    x = tl.load(h + at_h, mask=has_h, other=0.0).to(tl.float32)
    m = tl.load(statistics + at_m, mask=has_m, other=0.0).to(tl.float32)
    return x, m, at_h, at_m, has_h, has_m


@triton.jit  # type: ignore[untyped-decorator]
def _load_square(weights, dim, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return W_h, (inputs, outputs)."""
    inputs, outputs = tl.arange(0, COLUMNS)[:, None], tl.arange(0, COLUMNS)[None, :]
    mask = (inputs < dim) & (outputs < dim)
    return tl.load(weights + inputs * dim + outputs, mask=mask, other=0.0)


@triton.jit
def _normalise(y, columns, dim):  # type: ignore[no-untyped-def]
    """Return rows with mean 0 and variance 1, and what they were multiplied with."""
    centred = tl.where(columns < dim, y - tl.sum(y, axis=1)[:, None] / dim, 0.0)
    factor = tl.rsqrt(tl.sum(centred * centred, axis=1)[:, None] / dim + 1e-5)
    return centred * factor, factor


@triton.jit  # type: ignore[untyped-decorator]
def _transform(  # type: ignore[no-untyped-def]
    h,
    statistics,
    scales,
    weights,
    bias,
    scale,
    shift,
    output,
    batch,
    dim,
    HAS_SCALES: tl.constexpr,
    N_STATISTICS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    node = tl.program_id(0)
    query = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    row, is_there = node.to(tl.int64) * batch + query, query < batch
    x, m, at_h, _, has_h, _ = _load_inputs(h, statistics, row, is_there, dim, N_STATISTICS, COLUMNS)
    W_m = _mix(weights, tl.load(scales + node), dim, HAS_SCALES, N_STATISTICS, COLUMNS)
    y = tl.dot(x, _load_square(weights, dim, COLUMNS), input_precision=PRECISION)
    y = tl.dot(m, W_m, y, input_precision=PRECISION)
    y += tl.load(bias + columns, mask=columns < dim, other=0.0)
    y, _ = _normalise(y, columns, dim)
    y *= tl.load(scale + columns, mask=columns < dim, other=0.0)
    y = tl.maximum(y + tl.load(shift + columns, mask=columns < dim, other=0.0), 0.0)
    tl.store(output + at_h, x + y, mask=has_h)


@triton.jit
def _slope(y, g, bias, scale, shift, columns, dim):  # type: ignore[no-untyped-def]
    """Return the gradient by y, and what each row adds to those by scale and shift."""
    is_column = columns < dim
    factor = tl.load(scale + columns, mask=is_column, other=0.0)
    y += tl.load(bias + columns, mask=is_column, other=0.0)
    normal, length = _normalise(y, columns, dim)
    is_on = normal * factor + tl.load(shift + columns, mask=is_column, other=0.0) > 0
    of_shift = tl.where(is_on, g, 0.0)
    d = of_shift * factor
    mean = tl.sum(d, axis=1)[:, None] / dim
    along = tl.sum(d * normal, axis=1)[:, None] / dim
    of_y = tl.where(is_column, (d - mean - normal * along) * length, 0.0)
    return of_y, of_shift * normal, of_shift


@triton.jit  # type: ignore[untyped-decorator]
def _transform_back(  # type: ignore[no-untyped-def]
    h,
    statistics,
    scales,
    weights,
    bias,
    scale,
    shift,
    gradient,
    of_h,
    of_statistics,
    of_y,
    of_vectors,
    batch,
    dim,
    HAS_SCALES: tl.constexpr,
    N_STATISTICS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    node = tl.program_id(0)
    query = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    row, is_there = node.to(tl.int64) * batch + query, query < batch
    x, m, at_h, at_m, has_h, has_m = _load_inputs(
        h, statistics, row, is_there, dim, N_STATISTICS, COLUMNS
    )
    g = tl.load(gradient + at_h, mask=has_h, other=0.0).to(tl.float32)
    W_h = _load_square(weights, dim, COLUMNS)
    W_m = _mix(weights, tl.load(scales + node), dim, HAS_SCALES, N_STATISTICS, COLUMNS)
    y = tl.dot(m, W_m, tl.dot(x, W_h, input_precision=PRECISION), input_precision=PRECISION)
    d, more_scale, more_shift = _slope(y, g, bias, scale, shift, columns, dim)
    tl.store(of_y + at_h, d, mask=has_h)
    back = tl.dot(d, tl.trans(W_h), g, input_precision=PRECISION)
    tl.store(of_h + at_h, back, mask=has_h)
    back_m = tl.dot(d, tl.trans(W_m), input_precision=PRECISION)
    tl.store(of_statistics + at_m, back_m, mask=has_m)
    to = (
        of_vectors + (node.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)) * 2 * dim + columns
    )
    tl.store(to, tl.sum(more_scale, axis=0)[None, :], mask=columns < dim)
    tl.store(to + dim, tl.sum(more_shift, axis=0)[None, :], mask=columns < dim)


@triton.jit  # type: ignore[untyped-decorator]
def _sum_weights(  # type: ignore[no-untyped-def]
    h,
    statistics,
    scales,
    of_y,
    of_weights,
    n_tiles,
    batch,
    dim,
    HAS_SCALES: tl.constexpr,
    N_STATISTICS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    of_square = tl.zeros([COLUMNS, COLUMNS], dtype=tl.float32)
    of_1 = tl.zeros([N_STATISTICS * COLUMNS, COLUMNS], dtype=tl.float32)
    of_2, of_3 = of_1, of_1
    n_blocks = (batch + ROWS - 1) // ROWS
    for tile in range(tl.program_id(0), n_tiles, tl.num_programs(0)):
        query = tile % n_blocks * ROWS + tl.arange(0, ROWS)[:, None]
        k = tl.load(scales + tile // n_blocks)
        row = (tile // n_blocks).to(tl.int64) * batch + query
        x, m, at_h, _, has_h, _ = _load_inputs(
            h, statistics, row, query < batch, dim, N_STATISTICS, COLUMNS
        )
        d = tl.load(of_y + at_h, mask=has_h, other=0.0)
        of_square = tl.dot(tl.trans(x), d, of_square, input_precision=PRECISION)
        more = tl.dot(tl.trans(m), d, input_precision=PRECISION)
        of_1 += more
        if HAS_SCALES:
            of_2, of_3 = of_2 + k * more, of_3 + more / tl.maximum(k, 1e-2)
    outputs, inputs = tl.arange(0, COLUMNS)[None, :], tl.arange(0, COLUMNS)[:, None]
    wide = tl.arange(0, N_STATISTICS * COLUMNS)[:, None]
    n_inputs = (1 + (3 if HAS_SCALES else 1) * N_STATISTICS) * dim
    to = of_weights + tl.program_id(0).to(tl.int64) * n_inputs * dim + outputs
    tl.store(to + inputs * dim, of_square, mask=(inputs < dim) & (outputs < dim))
    to += ((1 + wide // COLUMNS) * dim + wide % COLUMNS) * dim
    mask = (wide % COLUMNS < dim) & (outputs < dim)
    tl.store(to, of_1, mask=mask)
    if HAS_SCALES:
        tl.store(to + N_STATISTICS * dim * dim, of_2, mask=mask)
        tl.store(to + 2 * N_STATISTICS * dim * dim, of_3, mask=mask)
