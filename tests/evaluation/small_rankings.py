"""Small queries with logits, and ranks as the definition says, one comparison at a time."""

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import Triplets, with_inverses

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """Triplets of a small graph, and a logit for every possible one."""

    n_entities: int
    n_relations: int
    triplets: Triplets
    logits: Tensor
    """(n_entities, 2 · n_relations, n_entities)"""

    @property
    def queries(self) -> Triplets:
        """Both directions."""
        return with_inverses(self.triplets, self.n_relations)

    @property
    def known(self) -> KnownAnswers:
        """All triplets are known."""
        return KnownAnswers.of_triplets(
            self.triplets, n_entities=self.n_entities, n_relations=self.n_relations
        )

    def compute_logits(self, subjects: Tensor, relations: Tensor) -> Tensor:
        """Look the logits up."""
        return self.logits[subjects, relations]


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """Draw a graph and logits, often with ties and sometimes infinite."""
    n_entities, n_relations = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n_triplets = draw(st.integers(1, 25))
    bounds = (n_entities, n_relations, n_entities)
    triplets = np.stack([rng.integers(bound, size=n_triplets) for bound in bounds], axis=1)
    shape = (n_entities, 2 * n_relations, n_entities)
    levels = draw(st.sampled_from([[0.0], [0.0, 1.0], [-np.inf, -1.0, 0.5, np.inf], None]))
    logits = rng.normal(size=shape) if levels is None else rng.choice(levels, size=shape)
    return Ranking(
        n_entities=n_entities,
        n_relations=n_relations,
        triplets=triplets.astype(np.int32),
        logits=torch.from_numpy(logits.astype(np.float32)),
    )


def literal_ranks(ranking: Ranking, *, is_filtered: bool) -> list[float]:
    """Rank in float64 with a loop over all candidates."""
    facts = {tuple(row) for row in ranking.queries.tolist()}
    ranks = []
    for s, r, true in ranking.queries.tolist():
        logits = ranking.logits[s, r].double().tolist()
        rank = 1.0
        for o, logit in enumerate(logits):
            if o == true or (is_filtered and (s, r, o) in facts):
                continue
            rank += 1.0 if logit > logits[true] else 0.5 if logit == logits[true] else 0.0
        ranks.append(rank)
    return ranks
