"""ConvE (Dettmers, Minervini, Stenetorp and Riedel 2018): subject and relation as a picture.

    φ(s, r, o) = f(vec(f([s̄; r̄] ∗ ω)) W) · o + b_o

s̄ and r̄ are the vectors as matrices, as nearly square as their length allows; ω are 32 filters of
3 × 3, f = relu, with batch norm of the picture, of the maps and of the query. The last number in
the vector of an entity is its b. Dropout of the picture and of whole maps has two thirds of the
share of the query's, as in the paper, which drops the latter just before its batch norm and not
after f. The loss is a softmax in place of a binary cross-entropy.
"""

import math
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.errors import SettingsError
from interstellar.rivals.batch_norm import BatchNorm
from interstellar.rivals.readouts import own_products, products
from interstellar.rivals.triplet_network import drop

N_FILTERS, FILTER_LENGTH = 32, 3
SHARE_BEFORE = 2 / 3


@final
class ConvE(nn.Module):
    """Scores by what filters see where subject and relation lie above each other."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.height, self.width = picture_of(dim)
        self.entity_length, self.relation_length = dim + 1, dim
        self.dropout = dropout
        n_places = (2 * self.height - FILTER_LENGTH + 1) * (self.width - FILTER_LENGTH + 1)
        self.filters = nn.Conv2d(1, N_FILTERS, FILTER_LENGTH)
        self.W = nn.Linear(N_FILTERS * n_places, dim)
        self.norm_of_pictures = BatchNorm(1)
        self.norm_of_maps = BatchNorm(N_FILTERS)
        self.norm_of_queries = BatchNorm(dim)

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities[:, :-1], relations, self.W.weight, self.filters.weight):
            nn.init.xavier_normal_(table, generator=generator)
        for biases in (entities[:, -1], self.W.bias, self.filters.bias):
            assert biases is not None, "both have one"
            biases.zero_()
        for norm in (self.norm_of_pictures, self.norm_of_maps, self.norm_of_queries):
            norm.initialise()

    def query(self, s: Tensor, r: Tensor, generator: torch.Generator | None) -> Tensor:
        is_training, share = generator is not None, SHARE_BEFORE * self.dropout
        x = torch.cat([s[:, :-1], r], dim=1).view(-1, 1, 2 * self.height, self.width)
        x = drop(self.norm_of_pictures.normalise(x, is_training=is_training), share, generator)
        x = self.norm_of_maps.normalise(self.filters(x), is_training=is_training)
        x = functional.relu(x) * drop(x.new_ones(*x.shape[:2], 1, 1), share, generator)
        x = self.norm_of_queries.normalise(self.W(x.flatten(1)), is_training=is_training)
        return functional.relu(x)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return products(query, objects[:, :-1]) + objects[:, -1]

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return own_products(query, objects[:, :-1]) + objects[:, -1]


def picture_of(dim: int) -> tuple[int, int]:
    """Return height and width of a vector as a matrix, as nearly square as possible."""
    height = max(h for h in range(1, math.isqrt(dim) + 1) if dim % h == 0)
    if 2 * height < FILTER_LENGTH or dim // height < FILTER_LENGTH:
        raise SettingsError(
            f"dim is {dim}, but ConvE makes a matrix of each vector, of at least 2 × 3 numbers. "
            "Choose for instance 200."
        )
    return height, dim // height
