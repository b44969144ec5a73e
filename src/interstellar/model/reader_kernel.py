"""The network that reads logits as Triton kernels; what is between is never kept.

    logit = w · relu(A x + q) + c_0

where x is the output of a node for a query and q, the same for all nodes, the query's share.
Backward, a program goes through many nodes and keeps what it adds up in registers; the programs'
shares are added up in the end, in the same order every time.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS, BACK_ROWS, WARPS, N_PROGRAMS = 64, 32, 4, 132
"""Queries of a node that a program handles at once, its warps, and how many go back."""

MIN_SIDE = 16  # of a product of tiles


def read_fused(x: Tensor, q: Tensor, A: Tensor, w: Tensor, c_0: Tensor) -> Tensor:
    """Return the logits, (n_entities, batch), of x, (n_entities, batch, dim).

    q is (batch, hidden), A (hidden, dim), w (hidden,) and c_0 (1,).
    """
    logits: Tensor = _Read.apply(x, q, A, w, c_0)  # type: ignore[no-untyped-call]
    return logits


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, q: Tensor, A: Tensor, *rest: Tensor) -> Tensor:
        w, c_0 = (part.contiguous() for part in rest)
        x, q, by_input = x.contiguous(), q.contiguous(), A.T.contiguous()
        n, batch, dim = x.shape
        logits = torch.empty(n, batch, dtype=torch.float32, device=x.device)
        flags = flags_of(x, q, ROWS)
        if logits.numel():
            _read[(n, triton.cdiv(batch, flags["ROWS"]))](
                *(x, q, by_input, w, c_0, logits, batch, dim, q.shape[1]),
                **flags,
                num_warps=WARPS,
            )
        ctx.save_for_backward(x, q, by_input, w)
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, q, by_input, w = ctx.saved_tensors
        n, batch, dim = x.shape
        hidden, flags = q.shape[1], flags_of(x, q, BACK_ROWS)
        n_blocks = triton.cdiv(batch, flags["ROWS"])
        n_programs = max(1, min(N_PROGRAMS, n))
        of_x = torch.empty_like(x)
        of_q = q.new_zeros(n_programs, batch, hidden)
        of_A = q.new_zeros(n_programs, n_blocks, dim, hidden)
        of_w = q.new_zeros(n_programs, n_blocks, hidden)
        if of_x.numel():
            _read_back[(n_programs, n_blocks)](
                *(x, q, by_input, w, gradient.contiguous(), of_x, of_q, of_A, of_w),
                *(n, batch, dim, hidden),
                **flags,
                num_warps=WARPS,
                num_stages=2,
            )
        of_vectors = (of_w.sum(dim=(0, 1)), gradient.sum().view(1))
        return of_x, of_q.sum(dim=0), of_A.sum(dim=(0, 1)).T, *of_vectors


def flags_of(x: Tensor, q: Tensor, rows: int) -> dict[str, Any]:
    """Return what the kernels are compiled for."""
    _, batch, dim = x.shape
    is_exact = torch.get_float32_matmul_precision() == "highest"
    return {
        "ROWS": max(MIN_SIDE, min(rows, triton.next_power_of_2(batch))),
        "COLUMNS": max(MIN_SIDE, triton.next_power_of_2(dim)),
        "HIDDEN": max(MIN_SIDE, triton.next_power_of_2(q.shape[1])),
        "PRECISION": "tf32x3" if is_exact else "tf32",
    }


@triton.jit
def _load_tile(tensor, rows, columns, n_rows, n_columns):  # type: ignore[no-untyped-def]
    """Return a tile of a matrix, 0 where there is none."""
    mask = (rows < n_rows) & (columns < n_columns)
    return tl.load(tensor + rows * n_columns + columns, mask=mask, other=0.0).to(tl.float32)


@triton.jit  # type: ignore[untyped-decorator]
def _read(  # type: ignore[no-untyped-def]
    x,
    q,
    A,
    w,
    c_0,
    logits,
    batch,
    dim,
    hidden,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    HIDDEN: tl.constexpr,
    PRECISION: tl.constexpr,
):
    node = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    inputs, columns = tl.arange(0, COLUMNS)[:, None], tl.arange(0, COLUMNS)[None, :]
    units = tl.arange(0, HIDDEN)[None, :]
    outputs = _load_tile(x + node * batch * dim, rows, columns, batch, dim)
    matrix = _load_tile(A, inputs, units, dim, hidden)
    share = _load_tile(q, rows, units, batch, hidden)
    inner = tl.dot(outputs, matrix, share, input_precision=PRECISION)
    factor = tl.load(w + units, mask=units < hidden, other=0.0)
    logit = tl.sum(tl.maximum(inner, 0.0) * factor, axis=1)[:, None] + tl.load(c_0)
    tl.store(logits + node * batch + rows, logit, mask=rows < batch)


@triton.jit  # type: ignore[untyped-decorator]
def _read_back(  # type: ignore[no-untyped-def]
    x,
    q,
    A,
    w,
    gradient,
    of_x,
    of_q,
    of_A,
    of_w,
    n,
    batch,
    dim,
    hidden,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    HIDDEN: tl.constexpr,
    PRECISION: tl.constexpr,
):
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    inputs, columns = tl.arange(0, COLUMNS)[:, None], tl.arange(0, COLUMNS)[None, :]
    units = tl.arange(0, HIDDEN)[None, :]
    matrix = _load_tile(A, inputs, units, dim, hidden)
    share = _load_tile(q, rows, units, batch, hidden)
    factor = tl.load(w + units, mask=units < hidden, other=0.0)
    of_share = tl.zeros([ROWS, HIDDEN], dtype=tl.float32)
    of_factor, of_matrix = of_share, tl.zeros([COLUMNS, HIDDEN], dtype=tl.float32)
    for node in range(tl.program_id(0), n, tl.num_programs(0)):
        row = (node + tl.zeros([ROWS, 1], dtype=tl.int64)) * batch + rows
        is_there = (rows < batch) & (columns < dim)
        outputs = tl.load(x + row * dim + columns, mask=is_there, other=0.0).to(tl.float32)
        g = tl.load(gradient + row, mask=rows < batch, other=0.0)
        inner = tl.dot(outputs, matrix, share, input_precision=PRECISION)
        of_factor += g * tl.maximum(inner, 0.0)
        d = tl.where(inner > 0, g * factor, 0.0)
        of_share += d
        back = tl.dot(d, tl.trans(matrix), input_precision=PRECISION)
        tl.store(of_x + row * dim + columns, back, mask=is_there)
        of_matrix = tl.dot(tl.trans(outputs), d, of_matrix, input_precision=PRECISION)
    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    to = of_q + (tl.program_id(0) * batch + rows) * hidden + units
    tl.store(to, of_share, mask=(rows < batch) & (units < hidden))
    to = of_A + (program * dim + inputs) * hidden + units
    tl.store(to, of_matrix, mask=(inputs < dim) & (units < hidden))
    to = of_w + program * hidden + units
    tl.store(to, tl.sum(of_factor, axis=0)[None, :], mask=units < hidden)
