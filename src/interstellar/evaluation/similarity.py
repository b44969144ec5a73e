"""How alike entities of two graphs are: what decodings make of embeddings.

Cosine, CSLS and Sinkhorn have one form, a · cos(x, y) + b(x) + c(y): a product and one number for
each entity. So rows of similarities are computed where they are needed and never kept, and ranks,
lists and matchings are read off them whatever the decoding.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import torch
from torch import Tensor
from torch.nn.functional import normalize

from interstellar.evaluation.precision import exact_products


class Decoding(StrEnum):
    """From embeddings to an alignment."""

    COSINE = "cosine"
    """cos(x, y); 0 where x or y is a zero vector."""
    CSLS = "csls"
    """2 cos(x, y) - r_1(x) - r_2(y): what is near everything is near nothing in particular.

    r_1(x) is the mean cosine of x to its k = 10 nearest candidates, r_2(y) that of y to its k
    nearest among the entities that ask.
    """
    SINKHORN = "sinkhorn"
    """log P(x, y), P the plan that gives all who ask and all candidates their share; `sinkhorn`."""
    HUNGARIAN = "hungarian"
    """One-to-one, with the highest sum of cosines; `hungarian`."""
    STABLE = "stable"
    """One-to-one, where no two like each other better, by cosine, than what they got."""

    @property
    def is_one_to_one(self) -> bool:
        """Whether it gives each entity one partner or none, and so no ranks."""
        return self in {Decoding.HUNGARIAN, Decoding.STABLE}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Similarity:
    """Similarities of those who ask (rows) to those who may answer (columns)."""

    asking: Tensor
    """(n_asking, dim), float32, of length 1 or 0."""
    answering: Tensor
    """(n_answering, dim), likewise and on the same device."""
    scale: float = 1.0
    """a"""
    asking_offset: Tensor | None = None
    """b, (n_asking,); None for 0."""
    answering_offset: Tensor | None = None
    """c, (n_answering,)"""

    @classmethod
    def cosine(cls, asking: Tensor, answering: Tensor) -> "Similarity":
        """Return the cosines of embeddings (n, dim) of any type and length."""
        asking, answering = (normalize(x.detach().float(), dim=1) for x in (asking, answering))
        return cls(asking=asking, answering=answering)

    @property
    def device(self) -> torch.device:
        """Where similarities are computed."""
        return self.asking.device

    @property
    def shape(self) -> tuple[int, int]:
        """How many ask, how many may answer."""
        return len(self.asking), len(self.answering)

    def rows(self, asking: Tensor | slice) -> Tensor:
        """Return the similarities (batch, n_answering) of some who ask, in full float32."""
        with torch.no_grad(), exact_products(self.device):
            values = self.asking[asking] @ self.answering.T
        if self.scale != 1:
            values.mul_(self.scale)
        if self.answering_offset is not None:
            values.add_(self.answering_offset)
        if self.asking_offset is not None:
            values.add_(self.asking_offset[asking].unsqueeze(1))
        return values

    def of_pairs(self, asking: Tensor, answering: Tensor) -> Tensor:
        """Return the similarity of each pair, (n,): to be shown, not to be compared with rows."""
        values = self.scale * (self.asking[asking] * self.answering[answering]).sum(dim=1)
        if self.answering_offset is not None:
            values += self.answering_offset[answering]
        if self.asking_offset is not None:
            values += self.asking_offset[asking]
        return values

    def turned(self) -> "Similarity":
        """Return the same with rows and columns exchanged."""
        return replace(
            self,
            asking=self.answering,
            answering=self.asking,
            asking_offset=self.answering_offset,
            answering_offset=self.asking_offset,
        )

    def take(self, asking: Tensor, answering: Tensor) -> "Similarity":
        """Return the same for some rows and columns, in the order of their numbers."""
        return replace(
            self,
            asking=self.asking[asking],
            answering=self.answering[answering],
            asking_offset=None if self.asking_offset is None else self.asking_offset[asking],
            answering_offset=(
                None if self.answering_offset is None else self.answering_offset[answering]
            ),
        )
