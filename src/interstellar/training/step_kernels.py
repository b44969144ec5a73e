"""Optimizers and the small change of a training step on CUDA: four Triton kernels, not thirty.

Each of the small operations replaced takes a microsecond or two; in a step of one millisecond
they add up. An update reads every number of parameters, moments and gradient once.
"""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from interstellar.training.settings import Optimizer

if TYPE_CHECKING:
    from interstellar.training.optimizers import FlatOptimizer
    from interstellar.training.step import TrainingStep

BLOCK = 1024
SQUARES_BLOCK = 4096
N_SUMS = 1024
NUMBERS_AT_ONCE = 2048
FLAT_ROW = 1024


def gather_batch(step: "TrainingStep") -> tuple[Tensor, Tensor, Tensor]:
    """Return subjects, relations and objects, (batch, length), of the paths whose turn it is."""
    n_columns = step.paths.shape[1]
    shape = (step.batch_size, n_columns // 2)
    subjects, relations, objects = (
        torch.empty(shape, dtype=torch.int32, device=step.paths.device) for _ in range(3)
    )
    n_numbers = subjects.numel()
    ids, sizes = (subjects, relations, objects), (step.batch_size, n_columns, n_numbers)
    grid = (-(-n_numbers // BLOCK),)
    _gather[grid](step.paths, step.order, step.n_done, *ids, *sizes, BLOCK=BLOCK)
    return subjects, relations, objects


def account(step: "TrainingStep", losses: Tensor) -> tuple[Tensor, Tensor]:
    """Do what `TrainingStep.account` says, on CUDA."""
    device = step.paths.device
    factor = torch.empty((), device=device)
    is_bad = torch.empty((), dtype=torch.int32, device=device)
    squares = torch.empty(N_SUMS, device=device)
    gradient_norm = step.settings.gradient_norm
    if gradient_norm is not None:
        gradients = step.parameters.gradients
        _sum_squares[(N_SUMS,)](
            gradients, squares, len(gradients), BLOCK=SQUARES_BLOCK, N_PROGRAMS=N_SUMS
        )
    counts = (step.loss_sum, step.n_done, step.bad_step, step.optimizer.n_updates)
    _account[(1,)](
        *(losses, squares, *counts, factor, is_bad),
        *(len(losses), gradient_norm or 0.0),
        HAS_NORM=gradient_norm is not None,
        N_SUMS=N_SUMS,
        BLOCK=BLOCK,
        num_warps=8,
    )
    return factor, is_bad


@triton.jit  # type: ignore[untyped-decorator]
def _gather(  # type: ignore[no-untyped-def]
    paths,
    order,
    n_done,
    subjects,
    relations,
    objects,
    batch_size,
    n_columns,
    n_numbers,
    BLOCK: tl.constexpr,
):
    numbers = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = numbers < n_numbers
    length = n_columns // 2
    place = tl.load(n_done) * batch_size + numbers // length
    row = tl.load(order + place, mask=mask, other=0)
    start = paths + row * n_columns + 2 * (numbers % length)
    tl.store(subjects + numbers, tl.load(start, mask=mask), mask=mask)
    tl.store(relations + numbers, tl.load(start + 1, mask=mask), mask=mask)
    tl.store(objects + numbers, tl.load(start + 2, mask=mask), mask=mask)


@triton.jit  # type: ignore[untyped-decorator]
def _sum_squares(  # type: ignore[no-untyped-def]
    gradients, squares, n_numbers, BLOCK: tl.constexpr, N_PROGRAMS: tl.constexpr
):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, n_numbers, N_PROGRAMS * BLOCK):
        places = start + tl.arange(0, BLOCK)
        g = tl.load(gradients + places, mask=places < n_numbers, other=0.0)
        total += g * g
    tl.store(squares + program, tl.sum(total, axis=0))


@triton.jit  # type: ignore[untyped-decorator]
def _account(  # type: ignore[no-untyped-def]
    losses,
    squares,
    loss_sum,
    n_done,
    bad_step,
    n_updates,
    factor,
    is_bad,
    n_rows,
    gradient_norm,
    HAS_NORM: tl.constexpr,
    N_SUMS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_rows, BLOCK):
        places = start + tl.arange(0, BLOCK)
        sums += tl.load(losses + places, mask=places < n_rows, other=0.0)
    loss = tl.sum(sums, axis=0) / n_rows
    is_finite = tl.abs(loss) < 3e38  # false for NaN
    done = tl.load(n_done) + 1
    tl.store(n_done, done)
    tl.store(loss_sum, tl.load(loss_sum) + loss)
    bad = tl.load(bad_step)
    tl.store(bad_step, tl.where(is_finite | (bad > 0), bad, done))
    tl.store(is_bad, tl.where(is_finite, 0, 1))
    tl.store(n_updates, tl.load(n_updates) + tl.where(is_finite, 1.0, 0.0))
    if HAS_NORM:
        norm = tl.sqrt(tl.sum(tl.load(squares + tl.arange(0, N_SUMS)), axis=0))
        tl.store(factor, gradient_norm / norm)
    else:
        tl.store(factor, n_rows * 1.0)


def update_(optimizer: "FlatOptimizer", factor: Tensor, is_bad: Tensor) -> None:
    """Do what `FlatOptimizer.update` says, on CUDA."""
    n_entity_numbers = optimizer.parameters.n_entity_numbers
    bound = optimizer.row_length, optimizer.max_norm
    if n_entity_numbers:
        of_entities, is_cleared = slice(0, n_entity_numbers), not optimizer.sets_entities
        _launch(optimizer, factor, is_bad, of_entities, *bound, is_cleared=is_cleared)
    rest = slice(n_entity_numbers, None)
    _launch(optimizer, factor, is_bad, rest, FLAT_ROW, None, is_cleared=True)


def _launch(
    optimizer: "FlatOptimizer",
    factor: Tensor,
    is_bad: Tensor,
    part: slice,
    row_length: int,
    max_norm: float | None,
    *,
    is_cleared: bool,
) -> None:
    """Update one part of the vector, row by row."""
    values = optimizer.parameters.values[part]
    gradients, v = optimizer.parameters.gradients[part], optimizer.v[part]
    m = v if optimizer.m is None else optimizer.m[part]
    n_rows = -(-len(values) // row_length)
    block = triton.next_power_of_2(row_length)
    rows_at_once = max(1, NUMBERS_AT_ONCE // block)
    _update[(-(-n_rows // rows_at_once),)](
        *(values, gradients, m, v, factor, is_bad),
        *(optimizer.learning_rate, optimizer.n_updates),
        *(len(values), row_length, optimizer.weight_decay, max_norm or 0.0),
        IS_ADAM=optimizer.kind is Optimizer.ADAM,
        HAS_MAX_NORM=max_norm is not None,
        IS_CLEARED=is_cleared,
        ROWS=rows_at_once,
        BLOCK=block,
        num_warps=8,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _update(  # type: ignore[no-untyped-def]
    values,
    gradients,
    m_moments,
    v_moments,
    factor,
    is_bad,
    learning_rate,
    n_updates,
    n_numbers,
    row_length,
    weight_decay,
    max_norm,
    IS_ADAM: tl.constexpr,
    HAS_MAX_NORM: tl.constexpr,
    IS_CLEARED: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    places = rows[:, None].to(tl.int64) * row_length + columns[None, :]
    mask = (columns[None, :] < row_length) & (places < n_numbers)
    is_kept = mask & (tl.load(is_bad) == 0)
    p = tl.load(values + places, mask=mask, other=0.0)
    g = tl.load(gradients + places, mask=mask, other=0.0)
    v = tl.load(v_moments + places, mask=mask, other=0.0)
    g = g * tl.load(factor) + weight_decay * p
    if IS_ADAM:
        t = tl.load(n_updates)
        rate = tl.load(learning_rate) / (1 - tl.exp(t * -0.10536051565782628))  # log 0.9
        root_of_correction = tl.sqrt(1 - tl.exp(t * -0.0010005003335835344))  # log 0.999
        m = tl.load(m_moments + places, mask=mask, other=0.0)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        p = p - rate * m / (tl.sqrt(v) / root_of_correction + 1e-8)
        tl.store(m_moments + places, m, mask=is_kept)
    else:
        v = v + g * g
        p = p - tl.load(learning_rate) * g / (tl.sqrt(v) + 1e-10)
    if HAS_MAX_NORM:
        norms = tl.sqrt(tl.sum(p * p, axis=1))
        p = p * tl.minimum(1.0, max_norm / norms)[:, None]
    tl.store(values + places, p, mask=is_kept)
    tl.store(v_moments + places, v, mask=is_kept)
    if IS_CLEARED:
        tl.store(gradients + places, tl.zeros_like(g), mask=mask)
