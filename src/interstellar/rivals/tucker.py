"""TuckER (Balažević, Allen and Hospedales 2019): one tensor between all vectors.

    φ(s, r, o) = W ×₁ s ×₂ r ×₃ o

with batch norm of s and of W ×₁ s ×₂ r, and dropout of s, of W ×₂ r and of W ×₁ s ×₂ r, in this
order. The shares of the first two are those of FB15k-237, 0.6 and 0.8 of the last. Relations have
as many numbers as there are relations, at most as many as entities have: more tell none apart.
The loss is a softmax in place of a binary cross-entropy.
"""

from typing import final

import torch
from torch import Tensor, nn

from interstellar.rivals.batch_norm import BatchNorm
from interstellar.rivals.readouts import own_products, products
from interstellar.rivals.triplet_network import drop

SHARE_OF_SUBJECTS, SHARE_OF_MATRICES = 0.6, 0.8


@final
class TuckER(nn.Module):
    """Scores by a bilinear form whose matrix is mixed of others by the relation."""

    def __init__(self, dim: int, n_relations: int, dropout: float) -> None:
        super().__init__()
        self.entity_length = dim
        self.relation_length = min(dim, 2 * n_relations)
        self.dropout = dropout
        self.W = nn.Parameter(torch.empty(self.relation_length, dim * dim))
        self.norm_of_subjects = BatchNorm(dim)
        self.norm_of_queries = BatchNorm(dim)

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities, relations):
            nn.init.xavier_normal_(table, generator=generator)
        self.W.uniform_(-1, 1, generator=generator)
        self.norm_of_subjects.initialise()
        self.norm_of_queries.initialise()

    def query(self, s: Tensor, r: Tensor, generator: torch.Generator | None) -> Tensor:
        is_training, dim = generator is not None, self.entity_length
        s = self.norm_of_subjects.normalise(s, is_training=is_training)
        s = drop(s, SHARE_OF_SUBJECTS * self.dropout, generator)
        W_r = drop(r @ self.W, SHARE_OF_MATRICES * self.dropout, generator)
        product = torch.bmm(s.unsqueeze(1), W_r.view(-1, dim, dim)).squeeze(1)
        return self.norm_of_queries.normalise(product, is_training=is_training)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return products(query, objects)

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return own_products(query, objects)
