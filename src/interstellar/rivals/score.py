"""What a model of single triplets must say of itself: its vectors, and how they make a logit."""

from typing import Protocol

import torch
from torch import Tensor


class Score(Protocol):
    """A scoring function φ(s, r, o); an `nn.Module` where it has weights of its own."""

    @property
    def entity_length(self) -> int:
        """Numbers in the vector of an entity."""
        ...

    @property
    def relation_length(self) -> int:
        """Numbers in the vector of a relation; inverses have vectors of their own."""
        ...

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        """Draw both tables, and weights of its own."""
        ...

    def query(self, s: Tensor, r: Tensor, generator: torch.Generator | None, /) -> Tensor:
        """Return what objects are compared with, (n, any), of vectors (n, length).

        In training `generator` draws what is dropped, and a batch norm takes the statistics of the
        batch; None asks for an answer, of the vectors and the running statistics as they are.
        """
        ...

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        """Return φ of each query with each object of a table, (n, objects)."""
        ...

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        """Return φ of each query with an object of its own, (n,)."""
        ...
