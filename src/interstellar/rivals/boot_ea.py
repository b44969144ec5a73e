"""BootEA (Sun, Hu, Zhang and Qu 2018): translations of unit vectors, held under and above limits.

    φ(s, r, o) = −f(s, r, o),  f(s, r, o) = ‖s + r − o‖²,  ‖s‖ = ‖r‖ = ‖o‖ = 1

The loss is `RivalLoss.LIMIT`: f under γ₁ where it is true, above γ₂ (`margin`) where it is not,
with wrong objects from near the right one. Its parameter swapping are our exchanged seeds, and its
bootstrapping is `align --iterate`. The authors keep a table of each entity's neighbours in its own
graph and renew it every few epochs; here the nearest among those drawn, of both graphs, are taken.
Wrong subjects are wrong objects of the inverse relation.
"""

from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from interstellar.rivals.readouts import products


@final
class BootEA:
    """Scores by how near the translated subject is to the object, all of unit length."""

    def __init__(self, dim: int) -> None:
        self.entity_length = dim
        self.relation_length = dim

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities, relations):
            table.normal_(generator=generator)
            table.copy_(functional.normalize(table, dim=-1))

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None, /) -> Tensor:
        return functional.normalize(s, dim=-1) + functional.normalize(r, dim=-1)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        o = functional.normalize(objects, dim=-1)
        return 2 * products(query, o) - query.square().sum(dim=-1, keepdim=True) - 1

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return -(query - functional.normalize(objects, dim=-1)).square().sum(dim=-1)
