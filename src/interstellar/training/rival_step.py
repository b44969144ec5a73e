"""What a batch costs in the training of a rival, and a step of it that fits into the memory."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import final

import torch
from torch import Tensor

from interstellar.device import mixed_products
from interstellar.rivals.building import RivalNetwork
from interstellar.training.autograd_step import AutogradStep, ready_on_card
from interstellar.training.optimizers import FlatParameters
from interstellar.training.ready_step import uses_mixed_precision
from interstellar.training.settings import TrainingSettings

CPU_NUMBERS = 2**27
"""Of a part of a batch on the CPU: 512 MiB, and as much again for their gradients."""


def ready_rival_step(
    network: RivalNetwork, paths: Tensor, settings: TrainingSettings, parameters: FlatParameters
) -> tuple[AutogradStep, Callable[[], None]]:
    """Return a step that fits into the memory, and the function that does it."""
    is_mixed = uses_mixed_precision(settings.precision, paths.device)
    loss = RivalLoss(network, is_mixed=is_mixed, n_steps=paths.shape[1] // 2)
    rows = settings.paths_per_epoch
    step = AutogradStep(loss, paths, settings, parameters, rows_an_epoch=rows)
    if paths.device.type == "cpu":
        n_numbers = step.batch_size * network.numbers_a_row
        step.loss.n_parts = min(step.batch_size, -(-n_numbers // CPU_NUMBERS))
        return step, step.compute
    advice = (
        "the memory of this device does not hold a single row of a batch. Lower the dimension, or "
        "of graph convolutions the layers."
    )
    return ready_on_card(step, can_capture=True, advice=advice)


@final
class RivalLoss:
    """What a batch costs; matrices are multiplied in TF32 unless float32 is asked for."""

    def __init__(self, network: RivalNetwork, *, is_mixed: bool, n_steps: int) -> None:
        self.network = network
        self.n_steps = n_steps
        """Of a path: how many answers a row of a batch has."""
        self.n_parts = 1
        self._is_mixed = is_mixed

    def add_gradients(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        loss = torch.zeros((), device=batch.device)
        with mixed_products() if self._is_mixed else nullcontext():
            for part in batch.chunk(self.n_parts):
                part_loss = self.network.loss(part, generator) / len(batch)
                part_loss.backward()  # type: ignore[no-untyped-call]
                loss += part_loss.detach()
        return loss

    def count_multiply_adds(self, batch_size: int) -> int:
        """Return about how many a step takes: those of the loss, and twice as many backward."""
        return 3 * self.n_steps * self.network.count_multiply_adds(batch_size)
