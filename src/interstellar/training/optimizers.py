"""All parameters of a network as one vector, and Adam or Adagrad over it.

Clearing, measuring and updating are one operation each, however many matrices there are.

g = factor · gradient + weight_decay · p
Adam:     m = β₁ m + (1 − β₁) g,   v = β₂ v + (1 − β₂) g²
          p = p − lr / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε)
Adagrad:  v = v + g²
          p = p − lr · g / (√v + ε)

and rows of entities that have become longer than `max_norm` are scaled back to it. On CUDA all
of it is one kernel, which also clears the gradient.

Adagrad leaves alone what has no gradient. Where a step says which entities it read, only their rows
are visited on the CPU: with millions of entities all the others would take a second.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import assert_never, final

import torch
from torch import Tensor, nn

from interstellar.model.path_network import SUBJECTS, PathNetwork
from interstellar.training.settings import Optimizer

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
ADAGRAD_EPSILON = 1e-10
ENTITY_TABLES = ("entities", SUBJECTS)
"""Parameters with a row of each entity."""
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
        sets_entities: bool = False,
    ) -> None:
        values = parameters.values
        self.parameters = parameters
        self.kind = kind
        self.weight_decay = weight_decay
        self.max_norm = max_norm
        self.row_length = row_length
        """Numbers in one embedding of an entity, whose length `max_norm` bounds."""
        self.sets_entities = sets_entities
        """Whether the loss sets the gradient of the entities anew: then CUDA does not clear it."""
        self.learning_rate = torch.zeros((), device=values.device)
        self.n_updates = torch.zeros((), device=values.device)
        self.m = torch.zeros_like(values) if kind is Optimizer.ADAM else None
        self.v = torch.zeros_like(values)

    def state_tensors(self) -> dict[str, Tensor]:
        """Return, by name, the tensors from which the optimizer goes on."""
        moments = {"n_updates": self.n_updates, "m": self.m, "v": self.v}
        return {f"{self.kind}.{name}": t for name, t in moments.items() if t is not None}

    @property
    def leaves_others(self) -> bool:
        """Whether a parameter without a gradient stays as it is, and updates are on the CPU."""
        is_on_cpu = self.v.device.type == "cpu"
        is_still = self.kind is Optimizer.ADAGRAD and not self.weight_decay and not self.max_norm
        return is_on_cpu and is_still

    @torch.no_grad()
    def update(self, factor: Tensor, is_bad: Tensor, rows: Tensor | None = None) -> None:
        """Take the gradient times `factor` and clear it; where `is_bad`, only clear it.

        `n_updates` counts this update already. Where this optimizer `leaves_others`, `rows` may be
        said: the entities, each once, whose rows are all that have a gradient.
        """
        if rows is not None:
            self._update_rows(factor, is_bad, rows)
            return
        if self.v.device.type == "cuda":
            from interstellar.training.step_kernels import update_  # noqa: PLC0415 (triton)

            update_(self, factor, is_bad)
            return
        if not is_bad:
            self._move(factor)
            if self.max_norm is not None:
                shorten_rows(self.entity_rows(), self.max_norm)
        self.parameters.gradients.zero_()

    @torch.no_grad()
    def gradient_norm(self, rows: Tensor | None) -> Tensor:
        """Return the length of the gradient, which only these rows of entities have, if said."""
        parts = [self.parameters.gradients]
        if rows is not None:
            parts = [g if own is None else g[own] for _, g, _, own in self._tables(rows)]
        norms = [torch.linalg.vector_norm(part) for part in parts]
        norm: Tensor = torch.linalg.vector_norm(torch.stack(norms)) if len(norms) > 1 else norms[0]
        return norm

    def _update_rows(self, factor: Tensor, is_bad: Tensor, rows: Tensor) -> None:
        assert self.leaves_others
        for p, g, v, own in self._tables(rows):
            if own is None:
                if not is_bad:
                    self._move_by_adagrad(p, g.mul_(factor), v)
                g.zero_()
                continue
            if not is_bad:
                p_rows, g_rows, v_rows = (x.index_select(0, own) for x in (p, g, v))
                self._move_by_adagrad(p_rows, g_rows.mul_(factor), v_rows)
                p.index_copy_(0, own, p_rows)
                v.index_copy_(0, own, v_rows)
            g.index_fill_(0, own, 0)

    def _tables(self, rows: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
        """Yield each parameter, its gradient, what is remembered, and of entities the rows."""
        layout = self.parameters.layout
        vectors = (self.parameters.values, self.parameters.gradients, self.v)
        for name, *parts in zip(
            layout.shapes, *(layout.split(x).values() for x in vectors), strict=True
        ):
            p, g, v = parts
            yield p, g, v, rows if name in ENTITY_TABLES else None

    def _move(self, factor: Tensor) -> None:
        p = self.parameters.values
        g = self.parameters.gradients.mul_(factor)
        if self.weight_decay:
            g.add_(p, alpha=self.weight_decay)
        match self.kind:
            case Optimizer.ADAM:
                self._move_by_adam(p, g)
            case Optimizer.ADAGRAD:
                self._move_by_adagrad(p, g, self.v)
            case _:
                assert_never(self.kind)

    def _move_by_adagrad(self, p: Tensor, g: Tensor, v: Tensor) -> None:
        v.addcmul_(g, g)
        p.sub_(g.mul_(self.learning_rate).div_(v.sqrt().add_(ADAGRAD_EPSILON)))

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
