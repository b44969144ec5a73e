"""The cell of a supernet: all architectures of a space over one set of weights."""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import Choice
from interstellar.model.mixed_cell import MixedCell
from interstellar.model.mixture import Mixture
from interstellar.model.path_cell import CellWeights


@final
class SharedCell(nn.Module):
    """A mixed cell of one network, which stands in a `PathNetwork` where a `PathCell` does."""

    def __init__(self, in_play: Sequence[Choice], dim: int, device: torch.device) -> None:
        super().__init__()
        self.mixture = Mixture(in_play, n_networks=1, device=device)
        self.mixed = MixedCell(self.mixture)
        self.weights = CellWeights(dim, links=self.mixed.links, gates=self.mixed.gates)

    @property
    def architecture(self) -> Architecture:
        """The architecture whose options weigh most at the moment."""
        return self.mixture.heaviest()

    def unroll(self, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
        """Return v_1 … v_L, (batch, length, dim), for whole paths."""
        weights = {name: w.unsqueeze(0) for name, w in self.weights.named_parameters()}
        v = self.mixed.unroll(weights, s.unsqueeze(0), r.unsqueeze(0), h_0.unsqueeze(0))
        return v.squeeze(0)
