"""Work on many rows in chunks that fit the memory, made smaller where they do not."""

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from interstellar.device import is_out_of_memory
from interstellar.errors import SettingsError

log = logging.getLogger(__name__)

Part = TypeVar("Part")

CPU_BYTES = 24 * 2**20
"""Of logits in one chunk. Enough rows for a fast product, and less than the 32 MiB from which the
C library returns memory to the system each time, so that every page is paid for again."""
CUDA_BYTES = 2**27
"""Twice as much gains about a tenth of the time; counting takes as much again as the logits."""
CUDA_SHARE = 8
"""A chunk takes at most this part of the free memory, since what computes it needs some too."""


def fit_chunk_size(row_bytes: int, device: torch.device) -> int:
    """Return how many rows of `row_bytes` to compute at once on a device."""
    budget = CPU_BYTES
    if device.type == "cuda":
        budget = min(CUDA_BYTES, free_cuda_bytes(device) // CUDA_SHARE)
    return max(1, budget // row_bytes)


def map_chunks(
    compute: Callable[[slice], Tensor], n: int, *, chunk_size: int, device: torch.device
) -> Tensor:
    """Return the rows that `compute` gives for 0 … n - 1, one or several each, one after another.

    Raises:
        SettingsError: One row alone does not fit the memory.
    """
    # One tensor for all: parts kept one by one lie between the chunks in the heap of a CPU, so that
    # no chunk finds the place of the one before, and memory grows as if all chunks were kept.
    result = torch.empty(0, device=device)
    n_done = 0
    for part in iterate_chunks(compute, n, chunk_size=chunk_size, device=device):
        n_after = n_done + len(part)
        if n_done == 0:
            result = part.new_empty((max(n, n_after), *part.shape[1:]))
        elif n_after > len(result):
            result = torch.cat([result[:n_done], part.new_empty((n_after, *part.shape[1:]))])
        result[n_done:n_after] = part
        n_done = n_after
    return result[:n_done]


def iterate_chunks(
    compute: Callable[[slice], Part], n: int, *, chunk_size: int, device: torch.device
) -> Iterator[Part]:
    """Yield what `compute` gives for one chunk of 0 … n - 1 after the other.

    A chunk that runs out of memory is halved, and so are all after it.

    Raises:
        SettingsError: One row alone does not fit the memory.
    """
    if chunk_size < 1:
        raise SettingsError(
            f"chunk_size is {chunk_size}, but a chunk holds at least one row. "
            "Leave it out to have one that suits the device."
        )
    start = 0
    while start < n:
        part = _try_compute(compute, slice(start, min(start + chunk_size, n)), device)
        if part is not None:
            yield part
            start += chunk_size
        else:
            chunk_size = _halve(min(chunk_size, n - start), device)


def _try_compute(
    compute: Callable[[slice], Part], rows: slice, device: torch.device
) -> Part | None:
    """Return the result, or None where memory ran out.

    The error is dropped here, for it holds on to the tensors that filled the memory.
    """
    try:
        return compute(rows)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def _halve(chunk_size: int, device: torch.device) -> int:
    if chunk_size == 1:
        raise SettingsError(
            f"the memory of {device} cannot hold the logits of a single query. "
            "Free memory there, choose another device (--device), or train with a smaller dim."
        )
    log.info("out of memory on %s: ranking %d rows at once", device, chunk_size // 2)
    return chunk_size // 2


def free_cuda_bytes(device: torch.device) -> int:
    """Return what the driver has free and what torch keeps without using it."""
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
