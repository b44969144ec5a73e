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

from interstellar.evaluation.chunks import exact_products, fit_chunk_size, map_chunks
from interstellar.evaluation.ranks import FLOAT_BYTES


class Decoding(StrEnum):
    """From embeddings to an alignment."""

    COSINE = "cosine"
    """cos(x, y); 0 where x or y is a zero vector."""
    CSLS = "csls"
    """2 cos(x, y) - r_1(x) - r_2(y): what is near everything is near nothing in particular.

    r_1(x) is the mean cosine of x to its k = 10 nearest candidates, r_2(y) that of y to its k
    nearest among the sources.
    """
    SINKHORN = "sinkhorn"
    """log P(x, y), P the plan that gives all sources and all targets their share; `sinkhorn`."""
    HUNGARIAN = "hungarian"
    """One-to-one, with the highest sum of cosines; `matching`."""
    STABLE = "stable"
    """One-to-one, where no two like each other better, by cosine, than what they got."""

    @property
    def is_one_to_one(self) -> bool:
        """Whether it gives each entity one partner or none, and so no ranks."""
        return self in {Decoding.HUNGARIAN, Decoding.STABLE}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Similarity:
    """Similarities of sources (rows) to targets (columns)."""

    source: Tensor
    """(n_sources, dim), float32, of length 1 or 0."""
    target: Tensor
    """(n_targets, dim), likewise and on the same device."""
    scale: float = 1.0
    """a"""
    source_offset: Tensor | None = None
    """b, (n_sources,); None for 0."""
    target_offset: Tensor | None = None
    """c, (n_targets,)"""

    @classmethod
    def cosine(cls, source: Tensor, target: Tensor) -> "Similarity":
        """Return the cosines of embeddings (n, dim) of any type and length."""
        source, target = (normalize(x.detach().float(), dim=1) for x in (source, target))
        return cls(source=source, target=target)

    @property
    def device(self) -> torch.device:
        """Where similarities are computed."""
        return self.source.device

    @property
    def shape(self) -> tuple[int, int]:
        """How many sources and targets there are."""
        return len(self.source), len(self.target)

    def rows(self, source: Tensor | slice) -> Tensor:
        """Return the similarities (batch, n_targets) of some sources, in full float32."""
        with torch.no_grad(), exact_products(self.device):
            values = self.source[source] @ self.target.T
        if self.scale != 1:
            values.mul_(self.scale)
        if self.target_offset is not None:
            values.add_(self.target_offset)
        if self.source_offset is not None:
            values.add_(self.source_offset[source].unsqueeze(1))
        return values

    def of_pairs(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the similarity of each pair, (n,): to be shown, not to be compared with rows."""
        values = self.scale * (self.source[source] * self.target[target]).sum(dim=1)
        if self.target_offset is not None:
            values += self.target_offset[target]
        if self.source_offset is not None:
            values += self.source_offset[source]
        return values

    def turned(self) -> "Similarity":
        """Return the same with rows and columns exchanged."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            source_offset=self.target_offset,
            target_offset=self.source_offset,
        )

    def take(self, source: Tensor, target: Tensor) -> "Similarity":
        """Return the same for some rows and columns, in the order of their numbers."""
        b, c = self.source_offset, self.target_offset
        return replace(
            self,
            source=self.source[source],
            target=self.target[target],
            source_offset=None if b is None else b[source],
            target_offset=None if c is None else c[target],
        )


def find_nearest(similarity: Similarity, k: int) -> tuple[Tensor, Tensor]:
    """Return similarities and columns, both (n_sources, k), of the k nearest, nearest first.

    Where there are fewer columns than k, all of them. Among equals the order is arbitrary, and
    may follow the numbers of entities: shuffle them before.
    """
    (n_sources, n_targets), device = similarity.shape, similarity.device
    k = min(k, n_targets)
    columns = torch.empty(n_sources, k, device=device, dtype=torch.long)
    if columns.numel() == 0:
        return torch.empty(n_sources, k, device=device), columns

    def compute(rows: slice) -> Tensor:
        values, columns[rows] = similarity.rows(rows).topk(k, dim=1)
        return values

    chunk_size = fit_chunk_size(FLOAT_BYTES * n_targets, device)
    return map_chunks(compute, n_sources, chunk_size=chunk_size, device=device), columns
