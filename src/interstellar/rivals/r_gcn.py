"""R-GCN (Schlichtkrull, Kipf, Bloem, van den Berg, Titov and Welling 2018).

    x_{l+1} = σ(W₀ x_l + Σ_r Σ_{y ∈ N_r(x)} W_r y_l / c),   W_r = Σ_b a_rb V_b

Each layer has its own W₀, a and V. As in the authors' link prediction, c is the number of all
neighbours of x (their best; they also print |N_r(x)|), there are two bases, σ is a relu but
nothing after the last layer, and training drops edges, of the loops W₀ x half as many. What stays
is scaled up for it, where theirs counts c anew. Neighbours are first summed for each basis, so no
relation has a matrix; a begins near 1, so that relations are alike until training tells them
apart. The decoder is DistMult. For two graphs it is the loss of known pairs (`pair_network.py`),
and triplets with seeds exchanged for their partners join the graphs.
"""

from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from interstellar.data.triplets import Triplets, with_inverses
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.neighbour_sum import NeighbourSum, count_at

N_BASES = 2


@final
class RGCN(nn.Module):
    """Layers over the triplets of training and their inverses."""

    relation_ids: Tensor
    shares: Tensor

    def __init__(
        self, triplets: Triplets, size: NetworkSize, *, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        n, dim = size.n_entities, size.dim
        sources, relations, targets = with_inverses(triplets, size.n_relations).T
        self.neighbours = NeighbourSum(sources, targets, n_sources=n, n_targets=n)
        relation_ids = torch.from_numpy(relations.astype(np.int64))
        shares = count_at(targets, n).reciprocal()[targets]
        self.register_buffer("relation_ids", relation_ids, persistent=False)
        self.register_buffer("shares", shares, persistent=False)
        self.dropout = dropout
        self.n_layers = n_layers
        self.matrices = nn.Parameter(torch.empty(n_layers * (1 + N_BASES) * dim, dim))
        """W₀ and V_b of each layer, one below the other: all parameters are one vector, in which a
        third dimension would take room for 128 layers."""
        self.coefficients = nn.Parameter(torch.empty(2 * size.n_relations, n_layers * N_BASES))

    def count_multiply_adds(self, dim: int) -> int:
        n, n_edges = self.neighbours.shape[0], len(self.shares)
        return self.n_layers * dim * (N_BASES * n_edges + n * (N_BASES + 1) * dim)

    def initialise(self, generator: torch.Generator) -> None:
        for matrix in torch.split(self.matrices, self.matrices.shape[1]):
            nn.init.xavier_uniform_(matrix, generator=generator)
        self.coefficients.normal_(mean=1.0, std=0.2, generator=generator)

    def encode(
        self, entities: Tensor, relations: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        return self.encode_entities(entities, generator), relations

    def encode_entities(self, entities: Tensor, generator: torch.Generator | None) -> Tensor:
        x = entities
        for layer in range(self.n_layers):
            x = self._step(layer, x, generator)
            x = x.relu() if layer + 1 < self.n_layers else x
        return x

    def _step(self, layer: int, x: Tensor, generator: torch.Generator | None) -> Tensor:
        dim = x.shape[1]
        own, bases = torch.split(self.matrices.chunk(self.n_layers)[layer], [dim, N_BASES * dim])
        coefficients = self.coefficients.chunk(self.n_layers, dim=1)[layer].T
        shares, loops = self.shares, x @ own
        if generator is not None:
            shares = kept(shares, self.dropout, generator) * shares
            loops = kept(loops[:, :1], self.dropout / 2, generator) * loops
        weights = coefficients.index_select(1, self.relation_ids) * shares
        sums = [self.neighbours.add_up(x, of_basis) for of_basis in weights]
        return loops + torch.cat(sums, dim=1) @ bases


def kept(like: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Return 0 for a share of the numbers drawn, and for the others what makes up for it."""
    return torch.empty_like(like).bernoulli_(1 - share, generator=generator).div_(1 - share)
