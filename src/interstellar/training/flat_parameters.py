"""All parameters of a network as one vector, and all gradients as another.

Clearing, measuring and updating are then one operation each, however many matrices an
architecture has.
"""

from typing import final

import torch
from torch import Tensor

from interstellar.model.path_network import PathNetwork

ROW_BLOCK = 128
"""Each parameter has room for a multiple of so many rows, zeros behind its own."""


@final
class FlatParameters:
    """Moves the parameters of a network into one vector; the network goes on using them."""

    def __init__(self, network: PathNetwork, device: torch.device) -> None:
        parameters = dict(network.named_parameters())
        sizes = [room(p) for p in parameters.values()]
        self.values = torch.zeros(sum(sizes), device=device)
        self.gradients = torch.zeros_like(self.values)
        self.views: dict[str, Tensor] = {}
        start = 0
        for (name, parameter), size in zip(parameters.items(), sizes, strict=True):
            place = slice(start, start + parameter.numel())
            view = self.values[place].view_as(parameter)
            view.copy_(parameter.detach())
            parameter.data = view
            parameter.grad = self.gradients[place].view_as(parameter)
            self.views[name] = view
            start += size
        network.n_table_rows = room(network.entities) // network.entities.shape[1]
        network.to(device)

    @property
    def n_entity_numbers(self) -> int:
        """Numbers at the beginning of the vector that belong to the entities, zeros included."""
        return room(self.views["entities"])

    def snapshot(self) -> dict[str, Tensor]:
        """Return copies of all parameters by name."""
        return {name: view.clone() for name, view in self.views.items()}

    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Set all parameters to those of a snapshot."""
        for name, view in self.views.items():
            view.copy_(snapshot[name])


def room(parameter: Tensor) -> int:
    """Return the numbers that are set aside for a parameter."""
    n_rows = -(-parameter.shape[0] // ROW_BLOCK) * ROW_BLOCK
    return n_rows * (parameter.numel() // parameter.shape[0])
