"""DistMult (Yang, Yih, He, Gao and Deng 2014): φ(s, r, o) = Σ_k s_k r_k o_k.

Here it decodes what graph convolutions encode; on its own it is an architecture of the space.
"""

from typing import final

import torch
from torch import Tensor, nn

from interstellar.rivals.readouts import own_products, products


@final
class DistMult:
    """Scores by the product of three vectors."""

    def __init__(self, dim: int) -> None:
        self.entity_length = self.relation_length = dim

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities, relations):
            nn.init.xavier_normal_(table, generator=generator)

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None, /) -> Tensor:
        return s * r

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return products(query, objects)

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return own_products(query, objects)
