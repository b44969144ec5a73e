"""TransD (Ji, He, Xu, Liu and Zhao 2015): entities projected by the relation they stand in.

    φ(s, r, o) = γ − ‖s⊥ + r − o⊥‖²,  x⊥ = x + (x_p · x) r_p

γ is the margin, which neither softmax nor margin loss sees. The vector of an entity is x, then x_p;
that of a relation r, then r_p. With q = s⊥ + r and a = o_p · o the square is

    ‖q‖² + ‖o‖² + a² ‖r_p‖² − 2 q · o − 2 a q · r_p + 2 a o · r_p

so that all objects are scored by two products of matrices. The paper keeps the lengths of x, r and
x⊥ at 1 or under; here they are as long as they like.
"""

from typing import final

import torch
from torch import Tensor, nn

from interstellar.rivals.readouts import own_products


@final
class TransD(nn.Module):
    """Scores by how near the translated subject is to the object, both projected."""

    def __init__(self, dim: int, margin: float) -> None:
        super().__init__()
        self.margin = margin
        self.entity_length = self.relation_length = 2 * dim

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities, relations):
            table.normal_(std=self.entity_length**-0.5, generator=generator)

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None) -> Tensor:
        r, r_p = r.chunk(2, dim=1)
        return torch.cat([project(s, r_p) + r, r_p], dim=1)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        (q, r_p), (o, o_p) = query.chunk(2, dim=1), objects.chunk(2, dim=1)
        a = own_products(o_p, o)
        q_r, r_r = own_products(q, r_p).unsqueeze(1), own_products(r_p, r_p).unsqueeze(1)
        of_pairs = torch.addmm(o.square().sum(dim=1), q, o.T, alpha=-2)
        of_pairs = of_pairs + 2 * a * (torch.addmm(-q_r, r_p, o.T) + r_r * (a / 2))
        return self.margin - (of_pairs + q.square().sum(dim=1, keepdim=True))

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        q, r_p = query.chunk(2, dim=1)
        return self.margin - (q - project(objects, r_p)).square().sum(dim=1)


def project(x: Tensor, r_p: Tensor) -> Tensor:
    """Return x⊥ of rows x, then x_p."""
    x, x_p = x.chunk(2, dim=1)
    return x + own_products(x_p, x).unsqueeze(1) * r_p
