"""RotatE (Sun, Deng, Nie and Tang 2019): a relation turns each complex coordinate.

    φ(s, r, o) = γ − Σ_k |s_k · e^{i θ_k} − o_k|

The vectors of entities are complex, real parts first; that of a relation are the angles θ, half
as many numbers. γ is the margin. An inverse relation has angles of its own.
"""

import math
from typing import final

import torch
from torch import Tensor, nn

from interstellar.rivals.pair_moduli import sum_moduli
from interstellar.rivals.readouts import complex_parts, moduli


@final
class RotatE(nn.Module):
    """Scores by how near the turned subject is to the object."""

    def __init__(self, dim: int, margin: float) -> None:
        super().__init__()
        self.entity_length = dim
        self.relation_length = dim // 2
        self.margin = margin

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        bound = (self.margin + 2) / self.relation_length
        entities.uniform_(-bound, bound, generator=generator)
        relations.uniform_(-math.pi, math.pi, generator=generator)

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None) -> Tensor:
        s_re, s_im = complex_parts(s)
        r_re, r_im = r.cos(), r.sin()
        return torch.cat([s_re * r_re - s_im * r_im, s_re * r_im + s_im * r_re], dim=-1)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return self.margin - sum_moduli(query, objects)

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        real, imaginary = complex_parts(query - objects)
        return self.margin - moduli(real, imaginary).sum(dim=-1)
