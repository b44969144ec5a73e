"""Any work on static tensors as one captured CUDA graph."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from interstellar.training.graph_capture import N_WARM_UP


def capture(
    work: Callable[[], None],
    device: torch.device,
    *,
    kept: Sequence[Tensor],
    generator: torch.Generator | None = None,
) -> Callable[[], None]:
    """Return a function that does the work with a single launch; on the CPU the work itself.

    Args:
        work: Reads and writes tensors that stay where they are; hands nothing to the host.
        device: Where they are.
        kept: Tensors that the work changes, and that shall be afterwards as they were before.
        generator: From which the work draws, if it does.
    """
    if device.type != "cuda":
        return work
    graph = torch.cuda.CUDAGraph()
    if generator is not None:
        graph.register_generator_state(generator)
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    with keeping(kept):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(N_WARM_UP):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, stream=stream):
            work()
    return graph.replay


@contextmanager
def keeping(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Undo whatever is done to tensors inside."""
    copies = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, copy in zip(tensors, copies, strict=True):
                tensor.copy_(copy)
