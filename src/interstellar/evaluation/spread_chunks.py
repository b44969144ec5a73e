"""Chunks computed side by side on the cores of a CPU, each on one of them.

Torch by itself spreads every single operation over the cores and waits for the slowest of them
each time. Where others use the machine too, most of the time goes by in waiting: a core that
works through whole chunks by itself waits once, at the end.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TypeVar

import torch

from interstellar.evaluation.chunks import iterate_chunks

Part = TypeVar("Part")


def spread_chunks(
    compute: Callable[[slice], Part], n: int, *, chunk_size: int, device: torch.device
) -> Iterator[Part]:
    """Yield what `compute` gives for the chunks of 0 … n - 1, in their order.

    As `iterate_chunks`, of which it is one for each core where there are chunks enough. Then
    `compute` is called from other threads, to which torch's `no_grad` does not carry over.
    """
    n_threads = torch.get_num_threads()
    if device.type != "cpu" or n_threads == 1 or n < 2 * n_threads * chunk_size:
        yield from iterate_chunks(compute, n, chunk_size=chunk_size, device=device)
        return
    bounds = [n * i // n_threads for i in range(n_threads + 1)]
    shares = list(pairwise(bounds))

    def compute_share(share: tuple[int, int]) -> list[Part]:
        start, stop = share
        moved = partial(_compute_moved, compute, start)
        return list(iterate_chunks(moved, stop - start, chunk_size=chunk_size, device=device))

    try:
        with ThreadPoolExecutor(n_threads, initializer=_use_one_core) as pool:
            parts = list(pool.map(compute_share, shares))
    finally:
        torch.set_num_threads(n_threads)  # the library for products has one number for all threads
    yield from (part for share in parts for part in share)


def _compute_moved(compute: Callable[[slice], Part], start: int, chunk: slice) -> Part:
    return compute(slice(start + chunk.start, start + chunk.stop))


def _use_one_core() -> None:
    torch.set_num_threads(1)
