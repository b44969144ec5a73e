"""TransE as published (Bordes, Usunier, García-Durán, Weston and Yakhnenko 2013), with L1.

    φ(s, r, o) = γ − ‖s + r − o‖₁

γ is the margin, which the margin loss does not see. The paper keeps entities at length 1; here
they are as long as they like, and an inverse relation has a vector of its own.
"""

from typing import final

import torch
from torch import Tensor, nn

from interstellar.rivals.readouts import distances, own_distances


@final
class TransEDistance(nn.Module):
    """Scores by how near the translated subject is to the object."""

    def __init__(self, dim: int, margin: float) -> None:
        super().__init__()
        self.entity_length = self.relation_length = dim
        self.margin = margin

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        bound = (self.margin + 2) / self.entity_length
        for table in (entities, relations):
            table.uniform_(-bound, bound, generator=generator)

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None) -> Tensor:
        return s + r

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return self.margin - distances(query, objects, norm=1)

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return self.margin - own_distances(query, objects, norm=1)
