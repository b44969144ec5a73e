"""GCN-Align (Wang, Lv, Lan and Zhang 2018), of structure alone: attributes are left out.

    X_{l+1} = σ(D̂^{-½} Âᵀ D̂^{-½} X_l),   Â = A + I
    a_ij = Σ over (i, r, j) of √ifun(r) + Σ over (j, r, i) of √fun(r)
    fun(r) = subjects of r / triplets of r,   ifun(r) = objects of r / triplets of r

a_ij is what j takes from i, D̂ what each takes together. σ is a relu, but nothing after the last
layer, and X_0 has rows of length 1. The paper also prints a matrix in each layer, and no roots;
the authors' program has none of the former and the latter, and so have we. Each graph has its own
triplets: only the loss knows the pairs. Training drops what is told of X_l, and is by Adam where
the authors descend the plain gradient.
"""

from typing import final

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from torch import Tensor, nn
from torch.nn import functional

from interstellar.data.triplets import Triplets
from interstellar.rivals.neighbour_sum import NeighbourSum
from interstellar.rivals.triplet_network import drop


@final
class GCNAlign(nn.Module):
    """Layers over both graphs at once, which no edge connects."""

    weights: Tensor

    def __init__(
        self, triplets: Triplets, n_entities: int, *, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.n_layers, self.dropout = n_layers, dropout
        adjacency = normalised(weigh_neighbours(triplets, n_entities))
        sources, targets = adjacency.coords
        self.neighbours = NeighbourSum(sources, targets, n_sources=n_entities, n_targets=n_entities)
        self.register_buffer("weights", torch.from_numpy(adjacency.data).float(), persistent=False)

    def count_multiply_adds(self, dim: int) -> int:
        return self.n_layers * len(self.weights) * dim

    def initialise(self, generator: torch.Generator) -> None:
        """Draw nothing: all that is learnt are the vectors of entities."""

    def encode_entities(self, entities: Tensor, generator: torch.Generator | None) -> Tensor:
        x = functional.normalize(entities)
        for layer in range(self.n_layers):
            if generator is not None:
                x = drop(x, self.dropout, generator)
            x = self.neighbours.add_up(x, self.weights)
            x = x.relu() if layer + 1 < self.n_layers else x
        return x


def weigh_neighbours(triplets: Triplets, n_entities: int) -> coo_array:
    """Return A, whose row i says what others take from i; loops are left out."""
    subjects, relations, objects = triplets.T
    fun, ifun = (functionality(ends, relations)[relations] for ends in (subjects, objects))
    weights = np.sqrt(np.concatenate([ifun, fun])) * np.tile(subjects != objects, 2)
    ends = np.concatenate([subjects, objects]), np.concatenate([objects, subjects])
    return coo_array((weights, ends), shape=(n_entities, n_entities))


def functionality(
    ends: npt.NDArray[np.int32], relations: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    """Return, of each relation, how many different ends it has for each of its triplets."""
    different = np.unique(np.stack([relations, ends]), axis=1)[0]
    return np.bincount(different) / np.maximum(1, np.bincount(relations))


def normalised(adjacency: coo_array) -> coo_array:
    """Return D̂^{-½} (A + I) D̂^{-½}, D̂ the sums of the columns."""
    n = adjacency.shape[0]
    diagonal = np.arange(n)
    both = (adjacency + coo_array((np.ones(n), (diagonal, diagonal)), shape=(n, n))).tocoo()
    scale = 1 / np.sqrt(both.sum(axis=0))
    rows, columns = both.coords
    return coo_array((both.data * scale[rows] * scale[columns], (rows, columns)), shape=(n, n))
