"""RESCAL (Nickel, Tresp and Kriegel 2011): a matrix of each relation.

    φ(s, r, o) = sᵀ R o

The paper fits all triplets by least squares; here the loss is that of the settings, and an inverse
relation has a matrix of its own.
"""

from typing import final

import torch
from torch import Tensor, nn

from interstellar.rivals.readouts import own_products, products


@final
class RESCAL(nn.Module):
    """Scores by a bilinear form."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.entity_length = dim
        self.relation_length = dim * dim

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities, relations):
            nn.init.xavier_normal_(table, generator=generator)

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None) -> Tensor:
        R = r.view(-1, self.entity_length, self.entity_length)
        return torch.bmm(s.unsqueeze(1), R).squeeze(1)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return products(query, objects)

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return own_products(query, objects)
