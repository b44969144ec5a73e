"""A training step as one captured CUDA graph: set up in well under a second, nothing compiled."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import final

import torch

from interstellar.device import mixed_products
from interstellar.training.step import TrainingStep

N_WARM_UP = 3
"""Steps taken before capturing, so that libraries have made their choices and buffers."""


@final
class CapturedStep:
    """Replays a training step with a single launch."""

    def __init__(self, step: TrainingStep) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._graph.register_generator_state(step.generator)
        precision = mixed_products() if step.plan.loss.is_mixed else nullcontext()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with keeping_state(step), precision:
            warm_up(step, stream)
            with torch.cuda.graph(self._graph, stream=stream):
                step.compute()

    def compute(self) -> None:
        """Do one step."""
        self._graph.replay()


def warm_up(step: TrainingStep, stream: torch.cuda.Stream) -> None:
    """Take a few steps on a stream of their own, as capturing asks for."""
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(N_WARM_UP):
            step.n_done.zero_()
            step.compute()
    torch.cuda.current_stream().wait_stream(stream)


@contextmanager
def keeping_state(step: TrainingStep) -> Iterator[None]:
    """Undo whatever steps inside do to parameters and optimiser."""
    tensors = step.state_tensors()
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    try:
        yield
    finally:
        for name, tensor in tensors.items():
            tensor.copy_(kept[name])
