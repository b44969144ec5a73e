"""How many threads a training step on the CPU is worth.

The threads of a step meet after each of its hundred or more operations. Measured on two cores at
their quietest, two threads are up to 1.2 times as fast as one with steps of 20 to 150 million
multiply-adds, 1.3 to 1.7 times with 500 million and 1.8 times with 2,000 million and more. Where
another program uses one of the cores, they take 1.5 to 30 times as long as one, because whoever
arrives first waits. So a small step has one thread, and a larger one as many as its work can feed.

The number changes no result of link prediction along walks, and rounds the sums of batch
normalisation (alignment) otherwise. It changes no propagation with 32 or 64 queries a step either;
with other numbers of them, products of matrices may be rounded otherwise.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor


class CountedStep(Protocol):
    """A step that knows where it is computed, and how much that is."""

    @property
    def paths(self) -> Tensor: ...

    def count_multiply_adds(self) -> int:
        """Return about how many a step takes."""


WORK_A_THREAD = 250_000_000
"""Multiply-adds of a step for each of its threads; about 10 ms."""


@contextmanager
def fitting_threads(step: CountedStep) -> Iterator[None]:
    """Let torch use as many threads here as a step on the CPU is worth, and never more than now."""
    if step.paths.device.type != "cpu":
        yield
        return
    n_before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(n_before, step.count_multiply_adds() // WORK_A_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(n_before)
