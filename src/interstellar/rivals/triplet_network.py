"""A model of single triplets: tables of vectors, a score, and the loss of a batch.

The tables are read as they are, or through an encoder that first passes the vectors of entities
along the edges of the graph. For two graphs, triplets with seeds exchanged for their partners tie
the vectors together, and the alignment is read from the vectors of entities.
"""

from dataclasses import dataclass
from typing import Protocol, final

import torch
from torch import Tensor, nn

from interstellar.model.path_network import NetworkSize
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.score import Score
from interstellar.rivals.triplet_loss import among_all, among_drawn, pick_nearest


class Encoder(Protocol):
    """Turns the tables into those that are scored with; knows the graph."""

    def initialise(self, generator: torch.Generator) -> None:
        """Draw its weights."""
        ...

    def encode(
        self, entities: Tensor, relations: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Return the vectors of all entities and relations as the score takes them.

        Training gives a generator to drop with: then the encoder drops, and not the query.
        """
        ...

    def count_multiply_adds(self, dim: int) -> int:
        """Return about how many an encoding takes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TripletLosses:
    """What a triplet costs; the fields are those of the training's settings."""

    loss: RivalLoss
    margin: float
    n_negatives: int | None
    label_smoothing: float
    dropout: float
    n3: float


@final
class TripletNetwork(nn.Module):
    """Everything that is trained of a model of single triplets."""

    def __init__(
        self,
        name: str,
        score: Score,
        size: NetworkSize,
        losses: TripletLosses,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__()
        self.formula = name
        """The name, which stands where networks of the space have their formula."""
        self.size = size
        self.losses = losses
        self.entities = nn.Parameter(torch.empty(size.n_entities, score.entity_length))
        self.relations = nn.Parameter(torch.empty(2 * size.n_relations, score.relation_length))
        self.score = score
        self.encoder = encoder

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.entities.device

    @property
    def subjects(self) -> Tensor:
        """The vectors that an alignment is read from, (n_entities, length)."""
        with torch.no_grad():
            return self.tables()[0]

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw everything."""
        self.score.initialise(self.entities, self.relations, generator)
        if self.encoder is not None:
            self.encoder.initialise(generator)

    def tables(self, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return the vectors of entities and relations as the score takes them."""
        if self.encoder is None:
            return self.entities, self.relations
        return self.encoder.encode(self.entities, self.relations, generator)

    def encoded(self) -> "TripletNetwork":
        """Return a network that answers the same without encoding for each query: for many."""
        if self.encoder is None:
            return self
        network = TripletNetwork(self.formula, self.score, self.size, self.losses)
        with torch.no_grad():
            entities, relations = self.tables()
        network.entities, network.relations = nn.Parameter(entities), nn.Parameter(relations)
        return network

    @torch.no_grad()
    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities), as objects of single triplets."""
        entities, relations = self.tables()
        s, r = entities[subject_ids.long()], relations[relation_ids.long()]
        return self.score.logits(self.score.query(s, r, None), entities)

    def loss(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return what triplets (n, 3) cost together; `generator` draws dropout and negatives."""
        entities, relations = self.tables(generator)
        subject_ids, relation_ids, answers = batch.unbind(dim=1)
        s, r = entities[subject_ids], relations[relation_ids]
        query = self.score.query(s, r, generator)
        if self.encoder is None:
            query = drop(query, self.losses.dropout, generator)
        loss = self._loss_of(query, answers, entities, generator)
        if not self.losses.n3:
            return loss
        return loss + self.losses.n3 * sum(cubes(x) for x in (s, r, entities[answers]))

    def _loss_of(
        self, query: Tensor, answers: Tensor, entities: Tensor, generator: torch.Generator
    ) -> Tensor:
        told = self.losses
        if told.n_negatives is None:
            return among_all(self.score.logits(query, entities), answers, told.label_smoothing)
        drawn = torch.randint(
            len(entities), (told.n_negatives,), generator=generator, device=entities.device
        )
        wrong = self.score.logits(query, entities[drawn])
        wrong = wrong.masked_fill(drawn == answers.unsqueeze(1), -torch.inf)
        own = self.score.own_logits(query, entities[answers])
        if told.loss is RivalLoss.LIMIT:
            wrong = pick_nearest(wrong, entities[answers], entities[drawn])
        n = len(entities)
        return among_drawn(own, wrong, told.loss, margin=told.margin, n_entities=n)

    @property
    def numbers_a_row(self) -> int:
        """Numbers that the loss of one triplet holds at once: its logits."""
        return self.losses.n_negatives or self.size.n_entities

    def count_multiply_adds(self, batch_size: int) -> int:
        """Return about how many the loss of a batch takes."""
        for_logits = batch_size * self.numbers_a_row * self.entities.shape[1]
        if self.encoder is None:
            return for_logits
        return for_logits + self.encoder.count_multiply_adds(self.size.dim)


def drop(x: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Return x with a share of its numbers zeroed and the others made larger for it."""
    if not share or generator is None:
        return x
    keep = torch.empty_like(x).bernoulli_(1 - share, generator=generator)
    return x * keep.div_(1 - share)


def cubes(x: Tensor) -> Tensor:
    """Return Σ |x|³ over all numbers, the regulariser N3 of real vectors."""
    return x.abs().pow(3).sum()
