"""Adam over the one vector of all parameters, with coupled weight decay.

g = factor · gradient + l2 · p
m = β₁ m + (1 − β₁) g,   v = β₂ v + (1 − β₂) g²
p = p − lr / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε)

and rows of entities that have become longer than `max_norm` are scaled back to it. On CUDA all
of it is one kernel, which also clears the gradient.
"""

from typing import final

import torch
from torch import Tensor

from interstellar.training.flat_parameters import FlatParameters

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


@final
class Adam:
    """Holds the moments and moves the parameters."""

    def __init__(
        self, parameters: FlatParameters, *, l2: float, max_norm: float | None, row_length: int
    ) -> None:
        values = parameters.values
        self.parameters = parameters
        self.l2 = l2
        self.max_norm = max_norm
        self.row_length = row_length
        """Numbers in one embedding of an entity, whose length `max_norm` bounds."""
        self.learning_rate = torch.zeros((), device=values.device)
        self.n_updates = torch.zeros((), device=values.device)
        self.m = torch.zeros_like(values)
        self.v = torch.zeros_like(values)

    def state_tensors(self) -> dict[str, Tensor]:
        """Return, by name, the tensors from which the optimiser goes on."""
        return {"adam.n_updates": self.n_updates, "adam.m": self.m, "adam.v": self.v}

    @torch.no_grad()
    def update(self, factor: Tensor, is_bad: Tensor) -> None:
        """Take the gradient times `factor` and clear it; where `is_bad`, only clear it.

        `n_updates` counts this update already.
        """
        if self.m.device.type == "cuda":
            from interstellar.training.adam_kernel import update_  # noqa: PLC0415 (triton)

            update_(self, factor, is_bad)
            return
        if not is_bad:
            self._move(factor)
            if self.max_norm is not None:
                shorten_rows(self.entity_rows(), self.max_norm)
        self.parameters.gradients.zero_()

    def _move(self, factor: Tensor) -> None:
        p, t = self.parameters.values, self.n_updates
        g = self.parameters.gradients.mul_(factor)
        if self.l2:
            g.add_(p, alpha=self.l2)
        self.m.lerp_(g, 1 - BETA_1)
        self.v.mul_(BETA_2).addcmul_(g, g, value=1 - BETA_2)
        root = self.v.sqrt().div_(torch.sqrt(1 - BETA_2**t)).add_(EPSILON)
        p.sub_(root.reciprocal_().mul_(self.m).mul_(self.learning_rate / (1 - BETA_1**t)))

    def entity_rows(self) -> Tensor:
        """Return the embeddings of entities, one a row."""
        return self.parameters.views["entities"].view(-1, self.row_length)


def shorten_rows(rows: Tensor, max_norm: float) -> None:
    """Scale rows that are longer than `max_norm` back to it."""
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    rows.mul_((max_norm / norms).clamp_(max=1))
