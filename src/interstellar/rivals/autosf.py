"""The scoring functions that AutoSF found (Zhang, Yao, Dai and Chen 2020, ICDE).

    φ(s, r, o) = Σ sign · ⟨s_i, r_k, o_j⟩ over the blocks (i, k, j, sign), of quarters s_1 to s_4

The blocks are those of the authors' program (github.com/LARS-research/AutoSF, `searched_SFs.txt`;
their order there is r, s, o, sign, from 0). They ask for subjects with the same r transposed; here
an inverse relation has a vector of its own.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from interstellar.errors import SettingsError
from interstellar.rivals.readouts import own_products, products


@dataclass(frozen=True, slots=True)
class Block:
    """One product of quarters, counted from 1."""

    s: int
    r: int
    o: int
    sign: int = 1


WN18RR = (
    Block(1, 1, 2),
    Block(2, 2, 1),
    Block(3, 3, 3),
    Block(4, 4, 4),
    Block(2, 4, 2),
    Block(1, 4, 1),
    Block(4, 1, 3, -1),
    Block(3, 2, 4, -1),
    Block(4, 2, 2, -1),
    Block(2, 1, 4, -1),
)
FB15K_237 = (Block(1, 1, 3), Block(2, 2, 2), Block(3, 3, 4), Block(4, 4, 1))


@final
class AutoSF(nn.Module):
    """Scores by products of quarters, each with its sign."""

    def __init__(self, blocks: tuple[Block, ...], dim: int) -> None:
        super().__init__()
        if dim % 4:
            raise SettingsError(
                f"dim is {dim}, but AutoSF has quarters of vectors. Choose a multiple of 4."
            )
        self.blocks = blocks
        self.entity_length = self.relation_length = dim

    def initialise(self, entities: Tensor, relations: Tensor, generator: torch.Generator) -> None:
        for table in (entities, relations):
            nn.init.xavier_uniform_(table, generator=generator)

    def query(self, s: Tensor, r: Tensor, _: torch.Generator | None) -> Tensor:
        s_i, r_k = s.chunk(4, dim=1), r.chunk(4, dim=1)
        quarters = [torch.zeros_like(s_i[0]) for _ in range(4)]
        for block in self.blocks:
            product = block.sign * s_i[block.s - 1] * r_k[block.r - 1]
            quarters[block.o - 1] = quarters[block.o - 1] + product
        return torch.cat(quarters, dim=1)

    def logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return products(query, objects)

    def own_logits(self, query: Tensor, objects: Tensor) -> Tensor:
        return own_products(query, objects)
