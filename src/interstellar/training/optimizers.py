"""All parameters of a network as one vector, and Adam or Adagrad over it.

Clearing, measuring and updating are one operation each, however many matrices there are.

g = factor · gradient + weight_decay · p
Adam:     m = β₁ m + (1 − β₁) g,   v = β₂ v + (1 − β₂) g²
          p = p − lr / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε)
Adagrad:  v = v + g²
          p = p − lr · g / (√v + ε)

and rows of entities that have become longer than `max_norm` are scaled back to it. On CUDA all
of it is one kernel, which also clears the gradient.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import assert_never, final

import torch
from torch import Tensor, nn

from interstellar.model.path_network import PathNetwork
from interstellar.training.settings import Optimizer

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
ADAGRAD_EPSILON = 1e-10
ROW_BLOCK = 128
"""Each parameter has room for a multiple of so many rows, zeros behind its own."""


@final
class FlatParameters:
    """Moves the parameters of a network into one vector; the network goes on using them."""

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        parameters = dict(network.named_parameters())
        self.layout = Layout({name: p.shape for name, p in parameters.items()})
        self.values = torch.zeros(self.layout.n_numbers, device=device)
        self.gradients = torch.zeros_like(self.values)
        self.views = self.layout.split(self.values)
        gradients = self.layout.split(self.gradients)
        for name, parameter in parameters.items():
            self.views[name].copy_(parameter.detach())
            parameter.data = self.views[name]
            parameter.grad = gradients[name]
        if isinstance(network, PathNetwork):
            network.n_table_rows = room(network.entities.shape) // network.entities.shape[1]
        network.to(device)

    @property
    def n_entity_numbers(self) -> int:
        """Numbers at the beginning of the vector that belong to the entities, zeros included."""
        return room(self.views["entities"].shape) if "entities" in self.views else 0

    @property
    def entity_length(self) -> int:
        """Numbers that the table `entities` has for each entity; 0 where there is none."""
        return self.views["entities"].shape[1] if "entities" in self.views else 0

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all parameters by name."""
        return {name: view.clone() for name, view in self.views.items()}

    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Set all parameters to those of a snapshot."""
        for name, view in self.views.items():
            view.copy_(snapshot[name])


@final
class Layout:
    """Where each parameter stands in the vector of all."""

    def __init__(self, shapes: Mapping[str, torch.Size]) -> None:
        self.shapes = shapes
        rooms = [room(shape) for shape in shapes.values()]
        starts = accumulate(rooms, initial=0)
        self._places = {
            name: slice(start, start + shape.numel())
            for start, (name, shape) in zip(starts, shapes.items(), strict=False)
        }
        self.n_numbers = sum(rooms)

    def split(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the parameters by name, as views of a vector."""
        return {name: vector[place].view(self.shapes[name]) for name, place in self._places.items()}


def room(shape: torch.Size) -> int:
    """Return the numbers that are set aside for a parameter."""
    n_rows = -(-shape[0] // ROW_BLOCK) * ROW_BLOCK
    return n_rows * (shape.numel() // shape[0])


@final
class FlatOptimizer:
    """Holds what Adam or Adagrad remembers, and moves the parameters."""

    def __init__(
        self,
        parameters: FlatParameters,
        *,
        kind: Optimizer = Optimizer.ADAM,
        weight_decay: float,
        max_norm: float | None,
        row_length: int,
    ) -> None:
        values = parameters.values
        self.parameters = parameters
        self.kind = kind
        self.weight_decay = weight_decay
        self.max_norm = max_norm
        self.row_length = row_length
        """Numbers in one embedding of an entity, whose length `max_norm` bounds."""
        self.learning_rate = torch.zeros((), device=values.device)
        self.n_updates = torch.zeros((), device=values.device)
        self.m = torch.zeros_like(values) if kind is Optimizer.ADAM else None
        self.v = torch.zeros_like(values)

    def state_tensors(self) -> dict[str, Tensor]:
        """Return, by name, the tensors from which the optimizer goes on."""
        moments = {"n_updates": self.n_updates, "m": self.m, "v": self.v}
        return {f"{self.kind}.{name}": t for name, t in moments.items() if t is not None}

    @torch.no_grad()
    def update(self, factor: Tensor, is_bad: Tensor) -> None:
        """Take the gradient times `factor` and clear it; where `is_bad`, only clear it.

        `n_updates` counts this update already.
        """
        if self.v.device.type == "cuda":
            from interstellar.training.step_kernels import update_  # noqa: PLC0415 (triton)

            update_(self, factor, is_bad)
            return
        if not is_bad:
            self._move(factor)
            if self.max_norm is not None:
                shorten_rows(self.entity_rows(), self.max_norm)
        self.parameters.gradients.zero_()

    def _move(self, factor: Tensor) -> None:
        p = self.parameters.values
        g = self.parameters.gradients.mul_(factor)
        if self.weight_decay:
            g.add_(p, alpha=self.weight_decay)
        match self.kind:
            case Optimizer.ADAM:
                self._move_by_adam(p, g)
            case Optimizer.ADAGRAD:
                self.v.addcmul_(g, g)
                p.sub_(g.mul_(self.learning_rate).div_(self.v.sqrt().add_(ADAGRAD_EPSILON)))
            case _:
                assert_never(self.kind)

    def _move_by_adam(self, p: Tensor, g: Tensor) -> None:
        assert self.m is not None
        t = self.n_updates
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
