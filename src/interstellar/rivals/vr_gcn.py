"""VR-GCN (Ye, Li, Fang, Zang and Wang 2019): relations are vectors that are convolved too.

    x_{l+1} = σ(W_l (x_l + Σ_{(x, r, y)} (y_l − r_l) + Σ_{(y, r, x)} (y_l + r_l)) / (1 + |N(x)|))
    r_{l+1} = U_l r_l

N(x) are the triplets of x, and σ is a relu, but nothing after the last layer. Each graph has its
own triplets, and only the loss knows the pairs: with triplets in which seeds are exchanged for
their partners, as in the authors' AVR-GCN, it aligned worse here. That also has a loss of pairs of
relations, which our data do not name. Training drops numbers of x_l. The equations are written
after the paper's abstract and figure; its own were not at hand to compare with.
"""

from typing import final

import numpy as np
import torch
from scipy.sparse import coo_array
from torch import Tensor, nn

from interstellar.data.triplets import Triplets
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.neighbour_sum import NeighbourSum
from interstellar.rivals.triplet_network import drop


@final
class VRGCN(nn.Module):
    """Layers in which an entity has entities and relations as neighbours."""

    weights: Tensor

    def __init__(
        self, triplets: Triplets, size: NetworkSize, *, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.dropout = dropout
        adjacency = weigh_roles(triplets, size)
        targets, sources = adjacency.coords
        n_targets, n_sources = adjacency.shape
        self.neighbours = NeighbourSum(sources, targets, n_sources=n_sources, n_targets=n_targets)
        self.register_buffer("weights", torch.from_numpy(adjacency.data).float(), persistent=False)
        self.relations = nn.Parameter(torch.empty(size.n_relations, size.dim))
        self.n_layers = n_layers
        self.matrices = nn.Parameter(torch.empty(n_layers * 2 * size.dim, size.dim))
        """W and U of each layer, one below the other."""

    def count_multiply_adds(self, dim: int) -> int:
        n_sources = self.neighbours.shape[1]
        return self.n_layers * dim * (len(self.weights) + n_sources * dim)

    def initialise(self, generator: torch.Generator) -> None:
        self.relations.normal_(std=self.relations.shape[1] ** -0.5, generator=generator)
        for matrix in torch.split(self.matrices, self.matrices.shape[1]):
            nn.init.xavier_uniform_(matrix, generator=generator)

    def encode_entities(self, entities: Tensor, generator: torch.Generator | None) -> Tensor:
        x = entities
        r: Tensor = self.relations
        for layer, matrices in enumerate(self.matrices.chunk(self.n_layers)):
            w, u = matrices.chunk(2)
            if generator is not None:
                x = drop(x, self.dropout, generator)
            x = self.neighbours.add_up(torch.cat([x, r]), self.weights) @ w
            r = r @ u
            x = x.relu() if layer + 1 < self.n_layers else x
        return x


def weigh_roles(triplets: Triplets, size: NetworkSize) -> coo_array:
    """Return what each entity takes of entities and of relations, which are columns after them."""
    s, r, o = triplets.T.astype(np.int64)
    n, each, itself = size.n_entities, np.ones(len(s)), np.arange(size.n_entities)
    columns = np.concatenate([o, n + r, s, n + r, itself])
    rows = np.concatenate([s, s, o, o, itself])
    weights = np.concatenate([each, -each, each, each, np.ones(n)])
    weights /= (1 + np.bincount(np.concatenate([s, o]), minlength=n))[rows]
    shape = (n, n + size.n_relations)
    return coo_array((weights, (rows, columns)), shape=shape).tocsr().tocoo()
