"""How logits are computed: in chunks that fit the memory, and in full float32.

TF32 keeps 10 bits of a mantissa. A logit that is off by one part in a thousand changes places
with its neighbours, and the ranks of a close field become noise.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from interstellar.device import is_out_of_memory
from interstellar.errors import SettingsError
from interstellar.watching import say_how_far

log = logging.getLogger(__name__)

Part = TypeVar("Part")

CPU_BYTES = 24 * 2**20
"""Of logits in one chunk. Enough rows for a fast product, and less than the 32 MiB from which the
C library returns memory to the system each time, so that every page is paid for again."""
CUDA_BYTES = 2**27
"""Twice as much gains about a tenth of the time; counting takes as much again as the logits."""
CUDA_SHARE = 8
"""A chunk takes at most this part of the free memory, since what computes it needs some too."""

DECODING_SHARE = 2
"""A decoding takes at most this part of the free memory: others work here too."""
UNKNOWN_BYTES = 2**32
"""What is taken to be free where the system does not say."""

SYSTEM = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


def fit_chunk_size(row_bytes: int, device: torch.device) -> int:
    """Return how many rows of `row_bytes` to compute at once on a device."""
    return max(1, chunk_bytes(device) // row_bytes)


def chunk_bytes(device: torch.device) -> int:
    """Return how much memory the logits of one chunk may take on a device."""
    if device.type == "cuda":
        return min(CUDA_BYTES, free_cuda_bytes(device) // CUDA_SHARE)
    return CPU_BYTES


def map_chunks(
    compute: Callable[[slice], Tensor], n: int, *, chunk_size: int, device: torch.device
) -> Tensor:
    """Return the rows that `compute` gives for 0 … n - 1, one or several each, one after another.

    A single row that does not fit the memory is a `SettingsError`.
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
        say_how_far("scoring", min(n_done, n), n, "rows")
    return result[:n_done]


def iterate_chunks(
    compute: Callable[[slice], Part], n: int, *, chunk_size: int, device: torch.device
) -> Iterator[Part]:
    """Yield what `compute` gives for one chunk of 0 … n - 1 after the other.

    A chunk that runs out of memory is halved, and so are all after it.
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


def spread_chunks(
    compute: Callable[[slice], Part], n: int, *, chunk_size: int, device: torch.device
) -> Iterator[Part]:
    """Yield what `compute` gives for the chunks of 0 … n - 1, in their order, on all cores.

    Torch by itself spreads every single operation over the cores and waits for the slowest of them
    each time: where others use the machine too, most of the time goes by in waiting. A core that
    works through whole chunks by itself waits once, at the end.

    As `iterate_chunks`, of which it is one for each core where there are chunks enough. Then
    `compute` is called from other threads, to which torch's `no_grad` does not carry over.
    """
    n_threads = torch.get_num_threads()
    if device.type != "cpu" or n_threads == 1 or n < 2 * n_threads * chunk_size:
        yield from iterate_chunks(compute, n, chunk_size=chunk_size, device=device)
        return
    bounds = [n * i // n_threads for i in range(n_threads + 1)]

    def compute_share(start: int, stop: int) -> list[Part]:
        def moved(rows: slice) -> Part:
            return compute(slice(start + rows.start, start + rows.stop))

        return list(iterate_chunks(moved, stop - start, chunk_size=chunk_size, device=device))

    try:
        with ThreadPoolExecutor(
            n_threads, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            shares = list(pool.map(compute_share, bounds[:-1], bounds[1:]))
    finally:
        torch.set_num_threads(n_threads)  # the library for products has one number for all threads
    yield from chain.from_iterable(shares)


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
            "Free memory there, choose another device, or train with a smaller dim."
        )
    log.info("out of memory on %s: ranking %d rows at once", device, chunk_size // 2)
    return chunk_size // 2


def usable_bytes(device: torch.device) -> int:
    """Return how much memory of a device one decoding may take."""
    return free_bytes(device) // DECODING_SHARE


def free_bytes(device: torch.device) -> int:
    """Return what this process can still take of a device's memory."""
    return free_cuda_bytes(device) if device.type == "cuda" else free_host_bytes()


def free_host_bytes() -> int:
    """Return what this process can still take of the host's memory, as far as one can tell."""
    try:
        free_in_system = 1024 * _number_after("MemAvailable:", SYSTEM)
    except (OSError, ValueError):  # not Linux
        free_in_system = UNKNOWN_BYTES
    return min(free_in_system, _free_in_group())


def free_cuda_bytes(device: torch.device) -> int:
    """Return what the driver has free and what torch keeps without using it."""
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def _free_in_group() -> int:
    """Return what a container's limit leaves; what it keeps of files can be dropped."""
    try:
        limit = int((GROUP / "memory.max").read_text())
        used = int((GROUP / "memory.current").read_text())
        of_files = _number_after("inactive_file", GROUP / "memory.stat")
    except (OSError, ValueError):  # no group, or no limit: "max"
        return sys.maxsize
    return max(0, limit - used + of_files)


def _number_after(word: str, path: Path) -> int:
    """Return the number in the line that begins with a word; ValueError where there is none."""
    [first, *_] = (line for line in path.read_text().splitlines() if line.startswith(word))
    return int(first.split()[1])


@contextmanager
def exact_products(device: torch.device) -> Iterator[None]:
    """Multiply float32 matrices in float32 within this context, and restore the settings after.

    Switches off TF32 (CUDA), its bfloat16 counterpart (CPU) and autocast on the device.
    """
    general, per_backend = _general_precision(), [b.fp32_precision for b in _backends()]
    # The general setting, not the one of each backend: code that reads it, as torch.compile
    # does, raises an error where the two disagree.
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        if general is not None:
            torch.set_float32_matmul_precision(general)
        for backend, precision in zip(_backends(), per_backend, strict=True):
            backend.fp32_precision = precision


def _general_precision() -> str | None:
    """Return the precision of all products, None where backends were set apart."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _backends() -> list[Any]:
    """Return the backends whose precision can be set on its own: none before torch 2.9."""
    owners: list[Any] = [torch.backends.cuda, torch.backends.mkldnn]
    backends = [getattr(owner, "matmul", None) for owner in owners]
    return [backend for backend in backends if hasattr(backend, "fp32_precision")]
