"""The softmax loss and its gradient as one Triton kernel, in place over float16 logits.

One program per row. The first pass over the row finds log Σ exp, the second writes
softmax − one-hot over the logits, and reads them from cache. Compiled once per
process for all architectures.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK, N_WARPS = 8192, 8


def turn_into_gradient_(logits: Tensor, true: Tensor, losses: Tensor, n_columns: int) -> None:
    """Replace logits, (rows, padded), by their gradient; write each row's cross-entropy.

    Columns from `n_columns` on are padding: they count for nothing and become 0.
    """
    assert logits.dtype is torch.float16
    assert logits.stride(1) == 1
    _softmax_gradient[(len(logits),)](
        logits,
        true,
        losses,
        n_columns,
        logits.shape[1],
        logits.stride(0),
        BLOCK=BLOCK,
        num_warps=N_WARPS,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_gradient(  # type: ignore[no-untyped-def]
    logits,
    true,
    losses,
    n_columns,
    n_padded,
    stride,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start_of_row = logits + row * stride
    answer = tl.load(true + row)
    largest = -1e30
    total = 0.0
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(start_of_row + columns, mask=columns < n_columns, other=-1e30).to(tl.float32)
        new_largest = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new_largest) + tl.sum(tl.exp(x - new_largest), axis=0)
        largest = new_largest
    log_sum = largest + tl.log(total)
    true_logit = tl.load(start_of_row + answer).to(tl.float32)
    tl.store(losses + row, log_sum - true_logit)
    tl.debug_barrier()
    for start in range(0, n_padded, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(start_of_row + columns, mask=columns < n_columns, other=-1e30).to(tl.float32)
        gradient = tl.exp(x - log_sum) - tl.where(columns == answer, 1.0, 0.0)
        tl.store(start_of_row + columns, gradient.to(tl.float16), mask=columns < n_padded)
