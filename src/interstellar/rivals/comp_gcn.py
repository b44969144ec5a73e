"""CompGCN (Vashishth, Sanyal, Nitin and Talukdar 2020), composed by product (Mult).

    x_{l+1} = tanh(norm(⅓ (z_out + z_in + W_self (x_l ⊙ r_self))))
    z_dir = W_dir Σ_{(y, r) ∈ N_dir(x)} y_l ⊙ r_l / √(|N_dir(x)| |N_dir(y)|)
    r_{l+1} = W_rel r_l

dir is out for triplets and in for their inverses. norm is batch normalisation over all entities,
in answering too, since all of them are always there. Training drops numbers of z, and of x_{l+1}
as many, where the authors drop three times as many of the latter. The decoder is DistMult.
"""

from typing import final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.data.triplets import RELATION, SUBJECT, Triplets, with_inverses
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.neighbour_sum import NeighbourSum, count_at
from interstellar.rivals.triplet_network import drop

N_MATRICES = 4
"""W_out, W_in, W_self and W_rel."""


@final
class CompGCN(nn.Module):
    """Layers over the triplets of training, forwards and backwards."""

    def __init__(
        self, triplets: Triplets, size: NetworkSize, *, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        n, dim = size.n_entities, size.dim
        inverses = with_inverses(triplets, size.n_relations)[len(triplets) :]
        self.out, self.back = Direction(triplets, n), Direction(inverses, n)
        self.dropout = dropout
        self.matrices = nn.Parameter(torch.empty(n_layers * N_MATRICES * dim, dim))
        """Those of each layer, one below the other."""
        self.self_relations = nn.Parameter(torch.empty(n_layers, dim))
        self.scale = nn.Parameter(torch.empty(n_layers, dim))
        self.shift = nn.Parameter(torch.empty(n_layers, dim))

    def count_multiply_adds(self, dim: int) -> int:
        n, n_edges = self.out.neighbours.shape[0], len(self.out.shares)
        return len(self.scale) * dim * (2 * n_edges + 3 * n * dim)

    def initialise(self, generator: torch.Generator) -> None:
        for matrix in torch.split(self.matrices, self.matrices.shape[1]):
            nn.init.xavier_uniform_(matrix, generator=generator)
        nn.init.xavier_normal_(self.self_relations, generator=generator)
        self.scale.fill_(1)
        self.shift.zero_()

    def by_layer(self) -> Tensor:
        """Return the matrices of each layer, (n_layers, 4, dim, dim)."""
        dim = self.matrices.shape[1]
        return self.matrices.view(-1, N_MATRICES, dim, dim)

    def encode(
        self, entities: Tensor, relations: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        x, r = entities, relations
        for layer, (w_out, w_in, w_self, w_rel) in enumerate(self.by_layer()):
            z = [side.add_up(x, r) @ w for side, w in ((self.out, w_out), (self.back, w_in))]
            if generator is not None:
                z = [drop(part, self.dropout, generator) for part in z]
            x = (z[0] + z[1] + (x * self.self_relations[layer]) @ w_self) / 3
            x = functional.batch_norm(
                x, None, None, self.scale[layer], self.shift[layer], training=True
            ).tanh()
            if generator is not None:
                x = drop(x, self.dropout, generator)
            r = r @ w_rel
        return x, r


@final
class Direction(nn.Module):
    """Edges one way; y ⊙ r is computed once for each entity and relation that meet."""

    met: Tensor
    shares: Tensor

    def __init__(self, edges: Triplets, n_entities: int) -> None:
        super().__init__()
        subjects, _, objects = edges.T
        met, sources = np.unique(edges[:, [SUBJECT, RELATION]], axis=0, return_inverse=True)
        n_both = {"n_sources": len(met), "n_targets": n_entities}
        self.neighbours = NeighbourSum(sources.reshape(-1), objects, **n_both)
        degrees = [count_at(nodes, n_entities)[nodes] for nodes in (subjects, objects)]
        shares = (degrees[0] * degrees[1]).rsqrt()
        self.register_buffer("met", torch.from_numpy(met.T.astype(np.int64)), persistent=False)
        self.register_buffer("shares", shares, persistent=False)

    def add_up(self, x: Tensor, r: Tensor) -> Tensor:
        """Return Σ y ⊙ r with the share of each edge, (n_entities, dim)."""
        subjects, relation_ids = self.met
        composed = x.index_select(0, subjects) * r.index_select(0, relation_ids)
        return self.neighbours.add_up(composed, self.shares)
