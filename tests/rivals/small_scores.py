"""Scores of a few numbers with tables to go with them, in float64."""

from typing import Any

import torch
from torch import Tensor

from interstellar.rivals.score import Score

N_ENTITIES, N_RELATIONS = 7, 3


def draw_tables(score: Score, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return tables of entities and relations, and let the score draw its own weights."""
    generator = torch.Generator().manual_seed(seed)
    entities = torch.empty(N_ENTITIES, score.entity_length)
    relations = torch.empty(2 * N_RELATIONS, score.relation_length)
    with torch.no_grad():
        score.initialise(entities, relations, generator)
        entities += 0.1 * torch.randn(entities.shape, generator=generator)
    module: Any = score
    module.double()
    return entities.double(), relations.double()


def score_all(score: Score, entities: Tensor, relations: Tensor, relation: int) -> Tensor:
    """Return φ(s, r, o) of all subjects and objects, (n_entities, n_entities)."""
    r = relations[relation].expand(len(entities), -1)
    return score.logits(score.query(entities, r, None), entities).detach()


def score_with_pykeen(interaction: Any, h: Any, r: Any, t: Any) -> Tensor:
    """Return PyKEEN's scores of all heads and tails; h, r and t are one or several tables."""
    several = [x if isinstance(x, tuple) else (x,) for x in (h, r, t)]
    heads = tuple(x.unsqueeze(1) for x in several[0])
    tails = tuple(x.unsqueeze(0) for x in several[2])
    parts = [x if len(x) > 1 else x[0] for x in (heads, several[1], tails)]
    interaction.eval()
    with torch.no_grad():
        scores: Tensor = interaction.double()(*parts)
    return scores.expand(len(heads[0]), -1)
