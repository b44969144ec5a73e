"""One training step: a batch of paths in, all parameters moved a little.

The loss is N · Σ cross-entropy with N rows in the batch, as in the authors' program; with Adam
or Adagrad only gradient clipping and weight decay see that factor (their published values mean
it). The gradient is that of the sum, N is applied with the update, and the loss that is reported
is the mean, without N3. Where relations are predicted too, a row costs the cross-entropy of its
object plus λ times that of its relation, in the gradient as in the loss reported.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from interstellar.model.n3 import add_n3_gradient
from interstellar.model.path_network import PathNetwork
from interstellar.model.relation_loss import add_relation_loss
from interstellar.model.softmax_loss import LossPlan, sampled_softmax_loss, softmax_loss
from interstellar.training.optimizers import FlatOptimizer, FlatParameters
from interstellar.training.settings import TrainingSettings


@dataclass(frozen=True, slots=True)
class StepPlan:
    """How a step is cut to fit the memory; beyond rounding it changes no result.

    (Parts of a batch draw their dropout one after the other, which is other dropout.)
    """

    loss: LossPlan
    n_parts: int = 1
    """Parts of a batch that are computed one after the other, their gradients added up."""


@final
class TrainingStep:
    """Computes steps on one device; all its state are tensors there."""

    def __init__(
        self,
        network: PathNetwork,
        paths: Tensor,
        settings: TrainingSettings,
        plan: StepPlan,
        parameters: FlatParameters,
    ) -> None:
        device = paths.device
        self.network = network
        self.paths = paths
        self.settings = settings
        self.plan = plan
        self.parameters = parameters
        n_rows = min(len(paths), settings.paths_per_epoch or len(paths))
        self.batch_size = min(settings.batch_size, n_rows)
        self.n_steps = -(-n_rows // self.batch_size)
        self.generator = torch.Generator(device)
        self.order = torch.zeros(self.n_steps * self.batch_size, dtype=torch.long, device=device)
        self.n_done = torch.zeros((), dtype=torch.long, device=device)
        self.loss_sum = torch.zeros((), device=device)
        self.bad_step = torch.zeros((), dtype=torch.long, device=device)
        """The first step of the epoch whose loss was not finite, counted from 1; 0 for none."""
        self._read: list[Tensor] = []
        """The entities of a step, of which one may be there several times."""
        self.optimizer = FlatOptimizer(
            parameters,
            kind=settings.optimizer,
            weight_decay=settings.weight_decay,
            max_norm=settings.max_norm if network.form.is_two_way else None,
            row_length=network.size.dim,
            sets_entities=settings.n_negatives is None,
        )

    def begin_epoch(self, order: Tensor, learning_rate: float, dropout_seed: int) -> None:
        """Set what changes from epoch to epoch: the order of paths, the rate, the dropout.

        Where an epoch has all paths, the last batch is filled up with the first of the order.
        """
        n_missing = max(0, len(self.order) - len(order))
        self.order.copy_(torch.cat([order[: len(self.order)], order[:n_missing]]))
        self.optimizer.learning_rate.fill_(learning_rate)
        self.generator.manual_seed(dropout_seed)
        self.n_done.zero_()
        self.loss_sum.zero_()
        self.bad_step.zero_()

    def state_tensors(self) -> dict[str, Tensor]:
        """Return, by name, the tensors from which training goes on."""
        return {"parameters": self.parameters.values} | self.optimizer.state_tensors()

    def count_multiply_adds(self) -> int:
        """Return about how many a step takes: those of logits and cell, and twice backward."""
        network, n_negatives = self.network, self.settings.n_negatives
        n_candidates = len(network.relations) if self.settings.relation_prediction else 0
        n_rows = self.batch_size * (self.paths.shape[1] // 2)
        n_entities, width = network.entities.shape
        n_ways = 2 if network.form.is_two_way else 1
        of_logits = ((n_negatives or n_entities) + n_candidates) * width
        of_cell = n_ways * sum(parameter.numel() for parameter in network.cell.parameters())
        return 3 * n_rows * (of_logits + of_cell)

    def compute(self) -> None:
        """Do one step; nothing is handed to or from the host."""
        subjects, relations, objects = self.gather()
        self._read = [subjects.reshape(-1), objects.reshape(-1)]
        pieces = [ids.chunk(self.plan.n_parts) for ids in (subjects, relations, objects)]
        losses = [
            self.accumulate(*part, is_first=number == 0)
            for number, part in enumerate(zip(*pieces, strict=True))
        ]
        is_local = self.settings.n_negatives is not None and self.optimizer.leaves_others
        rows = torch.unique(torch.cat(self._read)) if is_local else None
        whole = torch.cat(losses) if len(losses) > 1 else losses[0]
        self.optimizer.update(*self.account(whole, rows), rows)

    def gather(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return subjects, relations and objects, (batch, length), of the next paths."""
        if self.paths.device.type == "cuda":
            from interstellar.training.step_kernels import gather_batch  # noqa: PLC0415 (triton)

            return gather_batch(self)
        start = int(self.n_done) * self.batch_size
        paths = self.paths.index_select(0, self.order[start : start + self.batch_size])
        return paths[:, 0:-1:2], paths[:, 1::2], paths[:, 2::2]

    def accumulate(
        self, subjects: Tensor, relations: Tensor, objects: Tensor, *, is_first: bool
    ) -> Tensor:
        """Add the gradients of some paths; return the loss of each row."""
        v = self.network.outputs(subjects, relations, self.generator)
        table, true = self.network.entity_table(), objects.reshape(-1)
        n_negatives, n3 = self.settings.n_negatives, self.settings.n3
        if n_negatives is None:
            smoothing = self.settings.label_smoothing
            losses, gradient = softmax_loss(
                v, table, true, self.plan.loss, is_first=is_first, label_smoothing=smoothing
            )
        else:
            negatives = torch.randint(
                table.n_entities, (n_negatives,), generator=self.generator, device=v.device
            )
            self._read.append(negatives)
            losses, gradient = sampled_softmax_loss(v, table, true, negatives)
        if v.requires_grad:  # an output that is zero whatever is learnt has nothing behind it
            v.backward(gradient)  # type: ignore[no-untyped-call]
        if self.settings.relation_prediction:  # after the others: they set the gradient anew
            triplets = (subjects.reshape(-1), relations.reshape(-1), true)
            weight = self.settings.relation_prediction
            losses = losses + add_relation_loss(self.network, triplets, weight)
        if n3:
            add_n3_gradient(self.network, subjects, relations, objects, n3)
        return losses

    def account(self, losses: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Note the loss, and return by what the gradient is multiplied and whether it is bad.

        The gradient is that of the sum; the program's loss is N times as large. A loss that is
        not finite is bad: nothing moves, and the step is remembered. `rows` as for `update`.
        """
        if losses.device.type == "cuda":
            from interstellar.training.step_kernels import account  # noqa: PLC0415 (triton)

            return account(self, losses)
        loss = losses.mean()
        is_bad = ~torch.isfinite(loss)
        self.n_done += 1
        self.loss_sum += loss
        if is_bad and not self.bad_step:
            self.bad_step.copy_(self.n_done)
        self.optimizer.n_updates += ~is_bad
        if self.settings.gradient_norm is None:
            return torch.tensor(float(len(losses))), is_bad
        return self.settings.gradient_norm / self.optimizer.gradient_norm(rows), is_bad
