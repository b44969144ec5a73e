"""A training step whose loss says its gradients by itself: of a propagation, or of a rival.

What a batch is and what it costs is the loss's own (`BatchLoss`). Here batches are drawn in an
order, the gradient of their mean loss is cut to a norm, and the optimizer moves all parameters.
"""

from collections.abc import Callable
from typing import Protocol, final

import torch
from torch import Tensor

from interstellar.device import is_out_of_memory
from interstellar.errors import TrainingError
from interstellar.training.optimizers import FlatOptimizer, FlatParameters
from interstellar.training.ready_step import capture, keeping
from interstellar.training.settings import TrainingSettings

N_SUMS = 1024
"""Of which the norm of the gradient is made."""


class BatchLoss(Protocol):
    """What a batch costs."""

    n_parts: int
    """A batch is computed in so many parts, one after the other."""

    def add_gradients(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Add the gradients of the mean loss of a batch of rows; return that loss."""
        ...

    def count_multiply_adds(self, batch_size: int) -> int:
        """Return about how many a step takes."""
        ...


@final
class AutogradStep:
    """Computes steps on one device; all its state are tensors there."""

    def __init__(
        self,
        loss: BatchLoss,
        paths: Tensor,
        settings: TrainingSettings,
        parameters: FlatParameters,
        *,
        rows_an_epoch: int | None = None,
    ) -> None:
        """Set up on the device of the paths: rows of what is learnt, all of them or some a time."""
        device = paths.device
        self.loss = loss
        self.paths = paths
        self.settings = settings
        self.parameters = parameters
        n_rows = min(len(paths), rows_an_epoch or len(paths))
        self.batch_size = min(settings.batch_size, n_rows)
        self.n_steps = -(-n_rows // self.batch_size)
        self.generator = torch.Generator(device)
        self.order = torch.zeros(self.n_steps * self.batch_size, dtype=torch.long, device=device)
        self.n_done = torch.zeros((), dtype=torch.long, device=device)
        self.loss_sum = torch.zeros((), device=device)
        self.bad_step = torch.zeros((), dtype=torch.long, device=device)
        """The first step of the epoch whose loss was not finite, counted from 1; 0 for none."""
        self.optimizer = FlatOptimizer(
            parameters,
            kind=settings.optimizer,
            weight_decay=settings.weight_decay,
            max_norm=settings.max_norm,
            row_length=parameters.entity_length or settings.dim,
        )

    def begin_epoch(self, order: Tensor, learning_rate: float, dropout_seed: int) -> None:
        """Set what changes from epoch to epoch: which rows, in which order, rate and draws."""
        repeated = order.repeat(-(-len(self.order) // len(order)))
        self.order.copy_(repeated[: len(self.order)])
        self.optimizer.learning_rate.fill_(learning_rate)
        self.generator.manual_seed(dropout_seed)
        self.n_done.zero_()
        self.loss_sum.zero_()
        self.bad_step.zero_()

    def state_tensors(self) -> dict[str, Tensor]:
        """Return, by name, the tensors from which training goes on."""
        return {"parameters": self.parameters.values} | self.optimizer.state_tensors()

    def count_multiply_adds(self) -> int:
        """Return about how many a step takes."""
        return self.loss.count_multiply_adds(self.batch_size)

    def compute(self) -> None:
        """Do one step."""
        [numbers] = self.order.view(-1, self.batch_size).index_select(0, self.n_done)
        batch = self.paths[numbers].long()
        self.n_done += 1
        loss = self.loss.add_gradients(batch, self.generator)
        self.optimizer.update(*self._account(loss))

    def _account(self, loss: Tensor) -> tuple[Tensor, Tensor]:
        """Note the loss, and return by what the gradient is multiplied and whether it is bad."""
        norm = norm_of(self.parameters.gradients)
        is_bad = ~torch.isfinite(loss + norm)
        self.loss_sum += loss
        is_first = is_bad & (self.bad_step == 0)
        self.bad_step.copy_(torch.where(is_first, self.n_done, self.bad_step))
        self.optimizer.n_updates += ~is_bad
        most = self.settings.gradient_norm
        factor = torch.ones_like(norm) if most is None else (most / norm).clamp(max=1.0)
        return factor, is_bad


def ready_on_card(
    step: AutogradStep, *, can_capture: bool, advice: str
) -> tuple[AutogradStep, Callable[[], None]]:
    """Return a step that fits into the memory of a card, and the function that does it.

    It is captured where its sizes are the same for every batch; else it is tried once.
    """
    while True:
        try:
            return step, _make_ready(step, can_capture=can_capture)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        torch.cuda.empty_cache()
        step.parameters.gradients.zero_()
        step.n_done.zero_()
        step.loss.n_parts *= 2
        if step.loss.n_parts > step.batch_size:
            raise TrainingError(f"{advice} Or train on another device.")


def _make_ready(step: AutogradStep, *, can_capture: bool) -> Callable[[], None]:
    kept = tuple(step.state_tensors().values())
    if can_capture:
        return capture(
            step.compute,
            step.paths.device,
            kept=kept,
            generator=step.generator,
            prepare=step.n_done.zero_,
        )
    with keeping(kept):
        step.compute()
    return step.compute


def norm_of(x: Tensor) -> Tensor:
    """Return the length of a long vector, added up alike with any number of threads."""
    n_whole = len(x) - len(x) % N_SUMS
    sums = x[:n_whole].view(-1, N_SUMS).square().sum(dim=0)
    return (sums.sum() + x[n_whole:].square().sum()).sqrt()
