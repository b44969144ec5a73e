"""One training step of a group of networks: the same paths for all, each with its own loss.

What `TrainingStep` does for one network, batched: the same order of paths, the same dropout, the
same Adam. A network whose loss is not finite is noted and goes on as it may; it disturbs no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from interstellar.model.network_group import NetworkGroup
from interstellar.training.adam import BETA_1, BETA_2, EPSILON
from interstellar.training.ready_step import CPU_CHUNK_NUMBERS, FEWEST_ROWS, SHARE_OF_FREE_MEMORY
from interstellar.training.settings import TrainingSettings

COPIES_OF_LOGITS = 4
"""Tensors as large as the logits that exist together, with room to spare."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupMoments:
    """What Adam remembers of each network."""

    m: Tensor
    v: Tensor
    """Both (n_networks, n_numbers)."""
    n_updates: Tensor
    """Of all networks alike."""


@final
class GroupStep:
    """Computes steps on one device; all its state are tensors there."""

    def __init__(
        self,
        group: NetworkGroup,
        paths: Tensor,
        settings: TrainingSettings,
        max_norm: float | None,
    ) -> None:
        device, n_networks = paths.device, len(group.values)
        self.group = group
        self.paths = paths
        self.settings = settings
        self.max_norm = max_norm
        self.batch_size = min(settings.batch_size, len(paths))
        self.n_steps = -(-len(paths) // self.batch_size)
        self.generator = torch.Generator(device)
        self.order = torch.zeros(self.n_steps, self.batch_size, dtype=torch.long, device=device)
        self.n_done = torch.zeros(1, dtype=torch.long, device=device)
        self.learning_rate = torch.zeros((), device=device)
        self.bad_update = torch.zeros(n_networks, device=device)
        """The first update of each network whose loss was not finite, from 1; 0 for none."""
        self.moments = GroupMoments(
            torch.zeros_like(group.values),
            torch.zeros_like(group.values),
            torch.zeros((), device=device),
        )
        n_rows = self.batch_size * (paths.shape[1] // 2)
        self.chunk_rows = fit_rows(n_rows, n_networks * group.size.n_entities, device)

    @torch.no_grad()
    def copy_from(self, step: "GroupStep", networks: Sequence[int]) -> None:
        """Go on where some networks of a larger group were."""
        ours, theirs = self.group, step.group
        for mine, other in (
            (ours.values, theirs.values),
            (self.moments.m, step.moments.m),
            (self.moments.v, step.moments.v),
        ):
            for name in ours.layout.shapes:
                of_all = theirs.layout.view(other, name)
                ours.layout.view(mine, name).copy_(of_all[list(networks)])
        self.moments.n_updates.copy_(step.moments.n_updates)
        self.bad_update.copy_(step.bad_update[list(networks)])

    def begin_epoch(self, order: Tensor, learning_rate: float, dropout_seed: int) -> None:
        """Set what changes from epoch to epoch; the last batch is filled up from the beginning."""
        n_missing = self.order.numel() - len(order)
        self.order.copy_(torch.cat([order, order[:n_missing]]).view_as(self.order))
        self.learning_rate.fill_(learning_rate)
        self.generator.manual_seed(dropout_seed)
        self.n_done.zero_()

    def state_tensors(self) -> list[Tensor]:
        """Return the tensors that a step changes."""
        moments = self.moments
        return [
            self.group.values,
            moments.m,
            moments.v,
            moments.n_updates,
            self.bad_update,
            self.n_done,
        ]

    def compute(self) -> None:
        """Do one step; nothing is handed to or from the host."""
        batch = self.order.index_select(0, self.n_done % self.n_steps).squeeze(0)
        paths = self.paths.index_select(0, batch)
        subjects, relations, objects = paths[:, 0:-1:2], paths[:, 1::2], paths[:, 2::2]
        v = self.group.outputs(subjects, relations)
        keep = self.draw_dropout(v)
        losses, gradient = self.group.softmax_loss(
            v if keep is None else v * keep, objects.reshape(-1), chunk_rows=self.chunk_rows
        )
        if v.requires_grad:  # outputs that are zero whatever is learnt have nothing behind them
            v.backward(gradient if keep is None else gradient * keep)  # type: ignore[no-untyped-call]
        self.note(losses)
        self.update(factor=losses.shape[1])

    def draw_dropout(self, v: Tensor) -> Tensor | None:
        """Return what the outputs are multiplied by, (rows, 2 · dim): the same for all networks.

        One by one, networks of the same seed draw the same too.
        """
        if self.settings.dropout == 0:
            return None
        keep = torch.empty(v.shape[1:], device=v.device)
        share = 1 - self.settings.dropout
        return keep.bernoulli_(share, generator=self.generator).div_(share)

    @torch.no_grad()
    def note(self, losses: Tensor) -> None:
        """Count the step, and remember networks whose loss, (n_networks, rows), is not finite."""
        self.n_done += 1
        self.moments.n_updates.add_(1)
        is_new = ~torch.isfinite(losses.sum(dim=1)) & (self.bad_update == 0)
        self.bad_update += is_new * self.moments.n_updates

    @torch.no_grad()
    def update(self, factor: float) -> None:
        """Move all parameters as `Adam` does, by the gradient times `factor`, and clear it."""
        p, m, v, t = self.group.values, self.moments.m, self.moments.v, self.moments.n_updates
        g = self.group.gradients
        g.mul_(factor)
        if self.settings.gradient_norm is not None:
            norms = torch.linalg.vector_norm(g, dim=1, keepdim=True)
            g.mul_(self.settings.gradient_norm / norms)
        if self.settings.weight_decay:
            g.add_(p, alpha=self.settings.weight_decay)
        m.lerp_(g, 1 - BETA_1)
        v.mul_(BETA_2).addcmul_(g, g, value=1 - BETA_2)
        root = v.sqrt().div_(torch.sqrt(1 - BETA_2**t)).add_(EPSILON)
        p.sub_(root.reciprocal_().mul_(m).mul_(self.learning_rate / (1 - BETA_1**t)))
        g.zero_()
        if self.max_norm is not None:
            self.shorten_rows(self.max_norm)

    def shorten_rows(self, max_norm: float) -> None:
        """Scale embeddings of entities that are longer than `max_norm` back to it."""
        entities = self.group.layout.view(self.group.values, "entities")
        rows = entities.view(len(entities), -1, self.group.size.dim)
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        rows.mul_((max_norm / norms).clamp_(max=1))


def fit_rows(n_rows: int, n_logits_a_row: int, device: torch.device) -> int:
    """Return how many rows of all networks can be turned into logits at the same time."""
    most_numbers = CPU_CHUNK_NUMBERS
    if device.type == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info(device)
        most_numbers = int(free_bytes * SHARE_OF_FREE_MEMORY) // (4 * COPIES_OF_LOGITS)
    return max(min(FEWEST_ROWS, n_rows), min(n_rows, most_numbers // n_logits_a_row))
