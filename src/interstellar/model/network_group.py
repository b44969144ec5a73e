"""Several networks of different architectures as one batched network.

On a graph so small that one network cannot fill a device, many networks take hardly longer than
one. They share nothing but the paths: each has its own tables and matrices, and what happens to
one (a loss that is not finite) stays with it. The form is that of link prediction: two ways, no
batch normalisation.
"""

from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from interstellar.architecture.architecture import Architecture
from interstellar.model.mixed_cell import MixedCell
from interstellar.model.mixture import Mixture, options_of
from interstellar.model.path_cell import CellWeights
from interstellar.model.path_network import NetworkSize, PathNetwork
from interstellar.model.softmax_loss import cross_entropy

CELL = "cell.weights."
"""What the names of a cell's parameters begin with in a `PathNetwork`."""
ALIGNMENT = 64
"""Numbers of which each parameter takes a multiple, so that products find whole blocks."""


@final
class GroupLayout:
    """Where each parameter stands in the vector of a network; the names are `PathNetwork`'s."""

    def __init__(self, cell: MixedCell, size: NetworkSize) -> None:
        with torch.device("meta"):
            weights = CellWeights(size.dim, links=cell.links, gates=cell.gates)
        self.shapes: dict[str, tuple[int, ...]] = {
            "entities": (size.n_entities, 2 * size.dim),
            "relations": (2 * size.n_relations, size.dim),
        } | {CELL + name: tuple(p.shape) for name, p in weights.named_parameters()}
        self.places: dict[str, slice] = {}
        self.n_numbers = 0
        for name, shape in self.shapes.items():
            n = torch.Size(shape).numel()
            self.places[name] = slice(self.n_numbers, self.n_numbers + n)
            self.n_numbers += -(-n // ALIGNMENT) * ALIGNMENT

    def view(self, vectors: Tensor, name: str) -> Tensor:
        """Return a parameter of all networks, (n_networks, …), from (n_networks, n_numbers)."""
        return vectors[:, self.places[name]].view(len(vectors), *self.shapes[name])

    def show(self, network: PathNetwork, vector: Tensor) -> None:
        """Let a network have the parameters in a vector, (n_numbers,), without copying them."""
        for name, parameter in network.named_parameters():
            if name in self.places:
                parameter.data = vector[self.places[name]].view(self.shapes[name])


@final
class NetworkGroup:
    """The parameters of several networks, one vector each, and what they compute."""

    def __init__(
        self, architectures: Sequence[Architecture], size: NetworkSize, device: torch.device
    ) -> None:
        n_networks = len(architectures)
        mixture = Mixture(options_of(architectures), n_networks=n_networks, device=device)
        mixture.set_architectures(architectures)
        self.architectures = tuple(architectures)
        self.size = size
        self.cell = MixedCell(mixture)
        self.layout = GroupLayout(self.cell, size)
        self.values = torch.zeros(n_networks, self.layout.n_numbers, device=device)
        self.gradients = torch.zeros_like(self.values)
        names = self.layout.shapes
        self.parameters = {n: self.layout.view(self.values, n).requires_grad_() for n in names}
        self.gradient_by_name = {n: self.layout.view(self.gradients, n) for n in names}

    @torch.no_grad()
    def copy_from(self, networks: Sequence[PathNetwork]) -> None:
        """Set the parameters to those of ordinary networks."""
        for number, network in enumerate(networks):
            for name, parameter in network.named_parameters():
                if name in self.parameters:  # else the architecture has it but never uses it
                    self.parameters[name][number].copy_(parameter)

    def outputs(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return v of every step of every network, (n_networks, batch · length, 2 · dim).

        Args:
            subject_ids: Subjects along the paths, (batch, length), the same for all networks.
            relation_ids: Relations along the paths, (batch, length).
        """
        dim = self.size.dim
        relation_ids = torch.cat([relation_ids, self.inverse(relation_ids)])
        subjects = self.look_up("entities", subject_ids, slice(dim, None))
        objects = self.look_up("entities", subject_ids, slice(dim))
        s = torch.cat([subjects, objects], dim=1)
        r = self.look_up("relations", relation_ids, slice(None))
        v = self.cell.unroll(self.cell_weights(), s, r, s[:, :, 0])
        return torch.cat(v.chunk(2, dim=1), dim=-1).flatten(1, 2)

    def cell_weights(self) -> dict[str, Tensor]:
        """Return the matrices of all cells, whose gradients are added to their places."""
        return {
            name.removeprefix(CELL): _HandOut.apply(parameter, self.gradient_by_name[name])  # type: ignore[no-untyped-call]
            for name, parameter in self.parameters.items()
            if name.startswith(CELL)
        }

    def look_up(self, name: str, ids: Tensor, part: slice) -> Tensor:
        """Return rows of a table, or a part of each, (n_networks, batch, length, dim).

        Their gradient is added to that of the table.
        """
        table, gradient = self.parameters[name], self.gradient_by_name[name]
        rows: Tensor = _LookUp.apply(  # type: ignore[no-untyped-call]
            table[..., part], gradient[..., part], ids.reshape(-1)
        )
        return rows.view(len(rows), *ids.shape, rows.shape[-1])

    def inverse(self, relation_ids: Tensor) -> Tensor:
        """Return the inverse of each relation."""
        n_relations = self.size.n_relations
        return torch.where(
            relation_ids < n_relations, relation_ids + n_relations, relation_ids - n_relations
        )

    @torch.no_grad()
    def softmax_loss(self, v: Tensor, true: Tensor, *, chunk_rows: int) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy of each row and the gradient of their sum by v.

        The gradient by the entities is added to theirs.

        Args:
            v: Outputs, (n_networks, rows, 2 · dim).
            true: The right entity of each row, (rows,).
            chunk_rows: Rows of each network whose logits exist at the same time.
        """
        entities, gradient = self.parameters["entities"], self.gradient_by_name["entities"]
        losses, v_gradient = v.new_empty(v.shape[:2]), torch.empty_like(v)
        for start in range(0, v.shape[1], chunk_rows):
            part = slice(start, start + chunk_rows)
            logits = torch.bmm(v[:, part], entities.mT)
            true_of_all = true[part].repeat(len(v))
            losses_of_all, gradient_of_all = cross_entropy(logits.flatten(0, 1), true_of_all)
            gradient_of_logits = gradient_of_all.view_as(logits)
            losses[:, part] = losses_of_all.view(len(v), -1)
            v_gradient[:, part] = torch.bmm(gradient_of_logits, entities)
            gradient.baddbmm_(gradient_of_logits.mT, v[:, part])
        return losses, v_gradient


class _HandOut(torch.autograd.Function):
    """Autograd by itself warns of gradients that, like ours, are not one block of memory."""

    @staticmethod
    def forward(ctx: Any, parameter: Tensor, gradient: Tensor) -> Tensor:
        ctx.gradient = gradient
        return parameter.view_as(parameter)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_parameter: Tensor) -> tuple[None, None]:
        ctx.gradient.add_(of_parameter)
        return None, None


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, gradient: Tensor, ids: Tensor) -> Tensor:
        ctx.gradient = gradient
        ctx.save_for_backward(ids)
        return table.detach().index_select(1, ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_rows: Tensor) -> tuple[None, None, None]:
        [ids] = ctx.saved_tensors
        ctx.gradient.index_add_(1, ids, of_rows)
        return None, None, None
