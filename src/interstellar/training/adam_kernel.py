"""Adam as one Triton kernel: every number of parameters, moments and gradient is read once."""

from typing import TYPE_CHECKING

import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from interstellar.training.adam import Adam

NUMBERS_AT_ONCE = 2048
FLAT_ROW = 1024


def update_(adam: "Adam", factor: Tensor, is_bad: Tensor) -> None:
    """Do what `Adam.update` says, on CUDA."""
    n_entity_numbers = adam.parameters.n_entity_numbers
    launch(adam, factor, is_bad, slice(0, n_entity_numbers), adam.row_length, adam.max_norm)
    # The loss sets the gradient of the entities anew, so only that of the rest is cleared.
    launch(adam, factor, is_bad, slice(n_entity_numbers, None), FLAT_ROW, None)


def launch(
    adam: "Adam",
    factor: Tensor,
    is_bad: Tensor,
    part: slice,
    row_length: int,
    max_norm: float | None,
) -> None:
    """Update one part of the vector, row by row."""
    values = adam.parameters.values[part]
    n_rows = -(-len(values) // row_length)
    block = triton.next_power_of_2(row_length)
    rows_at_once = max(1, NUMBERS_AT_ONCE // block)
    _adam[(-(-n_rows // rows_at_once),)](
        values,
        adam.parameters.gradients[part],
        adam.m[part],
        adam.v[part],
        factor,
        is_bad,
        adam.learning_rate,
        adam.n_updates,
        len(values),
        row_length,
        adam.l2,
        max_norm or 0.0,
        HAS_MAX_NORM=max_norm is not None,
        IS_CLEARED=part.start != 0,
        ROWS=rows_at_once,
        BLOCK=block,
        num_warps=8,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _adam(  # type: ignore[no-untyped-def]
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
    l2,
    max_norm,
    HAS_MAX_NORM: tl.constexpr,
    IS_CLEARED: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    places = rows[:, None].to(tl.int64) * row_length + columns[None, :]
    mask = (columns[None, :] < row_length) & (places < n_numbers)
    t = tl.load(n_updates)
    rate = tl.load(learning_rate) / (1 - tl.exp(t * -0.10536051565782628))  # log 0.9
    root_of_correction = tl.sqrt(1 - tl.exp(t * -0.0010005003335835344))  # log 0.999
    p = tl.load(values + places, mask=mask, other=0.0)
    g = tl.load(gradients + places, mask=mask, other=0.0)
    m = tl.load(m_moments + places, mask=mask, other=0.0)
    v = tl.load(v_moments + places, mask=mask, other=0.0)
    g = g * tl.load(factor) + l2 * p
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    p = p - rate * m / (tl.sqrt(v) / root_of_correction + 1e-8)
    if HAS_MAX_NORM:
        norms = tl.sqrt(tl.sum(p * p, axis=1))
        p = p * tl.minimum(1.0, max_norm / norms)[:, None]
    is_kept = mask & (tl.load(is_bad) == 0)
    tl.store(values + places, p, mask=is_kept)
    tl.store(m_moments + places, m, mask=is_kept)
    tl.store(v_moments + places, v, mask=is_kept)
    if IS_CLEARED:
        tl.store(gradients + places, tl.zeros_like(g), mask=mask)
