"""Dual-AMN (Mao, Wang, Wu and Lan 2021): neighbours mirrored by relations.

    x_{l+1} = tanh Σ_{(y, r) ∈ N(x)} α_r (y_l − 2 (y_l · r̂) r̂),   α = softmax over N(x) of a_l · r̂
    h = [x_0; …; x_L],   q = h − Σ_i β_i p_i,   β = softmax_i cos(h, p_i)
    half = g ⊙ h + (1 − g) ⊙ q,   g = σ(q W + b)

N(x) are the triplets of x both ways, r̂ is r with length 1, an inverse has an r of its own. The
vector of an entity has two halves, each with its own a, p, W and b: one begins with x_0 the tanh of
the mean of x and its neighbours, the other with that of the mean of its relations' r. The 64
proxies p are there for both graphs, whose edges never meet. Training drops numbers of the halves.

The loss is `RivalLoss.HARD`. Deviations: wrong partners are those in the other graph, where the
authors take both; edges between the same entities stand each for itself; the optimizer is Adam
where theirs is RMSprop.
"""

from typing import final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets, with_inverses
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.neighbour_sum import Ids, NeighbourSum, count_at
from interstellar.rivals.triplet_network import drop

N_PROXIES = 64
FIRST_LENGTH = 0.06
"""Of the vectors of entities, before they are learnt: those of 1 learn by heart."""
N_HALVES = 2
"""Of entities, of relations."""


@final
class DualAMN(nn.Module):
    """Layers over both graphs at once, which no edge connects."""

    met: Tensor
    edge_relations: Tensor
    targets: Tensor

    def __init__(
        self, triplets: Triplets, size: NetworkSize, *, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        n, n_relations, dim = size.n_entities, 2 * size.n_relations, size.dim
        both = with_inverses(triplets, size.n_relations)
        sources, relations, targets = (both[:, end] for end in (SUBJECT, RELATION, OBJECT))
        met, edges = np.unique(both[:, [SUBJECT, RELATION]], axis=0, return_inverse=True)
        self.neighbours = NeighbourSum(edges.reshape(-1), targets, n_sources=len(met), n_targets=n)
        itself = np.arange(n)
        self.near = Mean(np.append(sources, itself), np.append(targets, itself), n, n)
        self.around = Mean(relations, targets, n_relations, n)
        self._keep("met", met.T)
        self._keep("edge_relations", relations)
        self._keep("targets", targets)
        self.n_layers, self.dropout, self.width = n_layers, dropout, (n_layers + 1) * dim
        self.relations = nn.Parameter(torch.empty(n_relations, dim))
        self.attention = nn.Parameter(torch.empty(N_HALVES * n_layers, dim))
        self.proxies = nn.Parameter(torch.empty(N_HALVES * N_PROXIES, self.width))
        self.gates = nn.Parameter(torch.empty(N_HALVES * self.width, self.width))
        """W of each half, one below the other."""
        self.shift = nn.Parameter(torch.empty(N_HALVES, self.width))

    def _keep(self, name: str, ids: Ids) -> None:
        self.register_buffer(name, torch.from_numpy(ids.astype(np.int64)), persistent=False)

    def count_multiply_adds(self, dim: int) -> int:
        n = self.neighbours.shape[0]
        of_layers = self.n_layers * dim * (2 * self.met.shape[1] + len(self.targets))
        return N_HALVES * (of_layers + n * self.width * (2 * N_PROXIES + self.width))

    def initialise(self, generator: torch.Generator) -> None:
        for weights in (self.relations, self.attention, self.proxies, self.gates):
            for part in weights.chunk(1 if weights is self.relations else N_HALVES):
                nn.init.xavier_uniform_(part, generator=generator)
        self.shift.zero_()

    def encode_entities(self, entities: Tensor, generator: torch.Generator | None) -> Tensor:
        r = functional.normalize(self.relations)
        starts = self.near.of(entities), self.around.of(self.relations)
        parts = (w.chunk(N_HALVES) for w in (self.attention, self.proxies, self.gates, self.shift))
        halves = [
            past_proxies(self.along_edges(x.tanh(), r, a), p, w, b)
            for x, a, p, w, b in zip(starts, *parts, strict=True)
        ]
        return drop(torch.cat(halves, dim=1), self.dropout, generator)

    def along_edges(self, x: Tensor, r: Tensor, attention: Tensor) -> Tensor:
        """Return [x_0; …; x_L]."""
        states, (subjects, relations) = [x], self.met
        mirrors = r.index_select(0, relations)
        for a in attention:
            y = x.index_select(0, subjects)
            y = y - 2 * (y * mirrors).sum(dim=1, keepdim=True) * mirrors
            x = self.neighbours.add_up(y, self.shares(r @ a)).tanh()
            states.append(x)
        return torch.cat(states, dim=1)

    def shares(self, logits: Tensor) -> Tensor:
        """Return α of each edge, from logits of relations."""
        weights = (logits - logits.detach().max()).exp().index_select(0, self.edge_relations)
        sums = weights.new_zeros(self.neighbours.shape[0]).index_add(0, self.targets, weights)
        return weights / sums.index_select(0, self.targets)


def past_proxies(h: Tensor, proxies: Tensor, gate: Tensor, shift: Tensor) -> Tensor:
    """Return h and q, mixed by the gate."""
    cosines = functional.normalize(h) @ functional.normalize(proxies).T
    q = h - cosines.softmax(dim=1) @ proxies
    g = (q @ gate + shift).sigmoid()
    return g * h + (1 - g) * q


@final
class Mean(nn.Module):
    """The mean of what edges lead to each target."""

    weights: Tensor

    def __init__(self, sources: Ids, targets: Ids, n_sources: int, n_targets: int) -> None:
        super().__init__()
        self.edges = NeighbourSum(sources, targets, n_sources=n_sources, n_targets=n_targets)
        shares = 1 / count_at(targets, n_targets)[targets]
        self.register_buffer("weights", shares, persistent=False)

    def of(self, x: Tensor) -> Tensor:
        """Return the mean of each target, (n_targets, dim)."""
        return self.edges.add_up(x, self.weights)
