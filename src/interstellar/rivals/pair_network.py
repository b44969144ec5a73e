"""Vectors of two graphs' entities, passed along their edges, and the loss of known pairs.

    d(x, y) = ‖x − y‖₁,   φ = −d

For each pair (x, y) wrong partners are drawn for both, among the entities of both graphs. Half the
loss are those of x, half those of y, each as in `triplet_loss.py`: with a margin γ the mean of
[d(x, y) + γ − d(x, y′)]₊.

With the loss of hard ones φ = −‖x − y‖², and wrong partners are all entities of the other graph.
"""

from typing import Protocol, final

import torch
from torch import Tensor, nn

from interstellar.errors import SettingsError
from interstellar.model.path_network import NetworkSize
from interstellar.rivals.among_rows import among_rows, hard_loss
from interstellar.rivals.readouts import distances, own_distances
from interstellar.rivals.rival_settings import RivalLoss
from interstellar.rivals.triplet_loss import among_drawn
from interstellar.rivals.triplet_network import TripletLosses


class EntityEncoder(Protocol):
    """Passes the vectors of entities along edges that it knows."""

    def initialise(self, generator: torch.Generator) -> None:
        """Draw its weights."""
        ...

    def encode_entities(self, entities: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return the vectors that are compared; training gives a generator to drop with."""
        ...

    def count_multiply_adds(self, dim: int) -> int:
        """Return about how many an encoding takes."""
        ...


@final
class PairNetwork(nn.Module):
    """Everything that is trained of a model that learns known pairs."""

    def __init__(
        self,
        name: str,
        encoder: EntityEncoder,
        size: NetworkSize,
        losses: TripletLosses,
        *,
        n_source: int,
        length: float = 1.0,
    ) -> None:
        super().__init__()
        if losses.n3 or losses.label_smoothing:
            raise SettingsError(
                f"n3 is {losses.n3:g} and label_smoothing {losses.label_smoothing:g}, but {name} "
                "learns pairs of entities, which have neither. Leave them out."
            )
        self.formula = name
        self.size = size
        self.losses = losses
        self.n_source = n_source
        """Entities of the first graph, whose numbers come before those of the second."""
        self.length = length
        """About that of the vectors that entities begin with."""
        self.entities = nn.Parameter(torch.empty(size.n_entities, size.dim))
        self.encoder = encoder

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.entities.device

    @property
    def subjects(self) -> Tensor:
        """The vectors that an alignment is read from, (n_entities, dim)."""
        with torch.no_grad():
            return self.encoder.encode_entities(self.entities, None)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw everything."""
        self.entities.normal_(std=self.length * self.size.dim**-0.5, generator=generator)
        self.encoder.initialise(generator)

    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Raise: an alignment says nothing of triplets."""
        del subject_ids, relation_ids
        raise SettingsError(
            f"{self.formula} was trained to align two graphs and answers no queries of triplets. "
            "Align with it, or train a model for link prediction."
        )

    def loss(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return what pairs (n, 2) cost together; `generator` draws dropout and wrong partners."""
        vectors = self.encoder.encode_entities(self.entities, generator)
        x, y = (vectors.index_select(0, ids) for ids in batch.T)
        if self.losses.loss is RivalLoss.HARD:
            first, second = vectors.tensor_split([self.n_source])
            of_x = among_others(x, second, batch[:, 1] - self.n_source)
            return (of_x + among_others(y, first, batch[:, 0])) / 2
        own = -own_distances(x, y, 1)
        of_x = self._loss_of(x, own, batch[:, 1], vectors, generator)
        of_y = self._loss_of(y, own, batch[:, 0], vectors, generator)
        return (of_x + of_y) / 2

    def _loss_of(
        self, x: Tensor, own: Tensor, partners: Tensor, vectors: Tensor, generator: torch.Generator
    ) -> Tensor:
        told, n = self.losses, len(vectors)
        if told.n_negatives is None:
            drawn = torch.arange(n, device=x.device)
            wrong = -distances(x, vectors, 1)
        else:
            shape = len(x), told.n_negatives
            drawn = torch.randint(n, shape, generator=generator, device=x.device)
            others = vectors.index_select(0, drawn.flatten()).view(*shape, -1)
            wrong = -own_distances(x.unsqueeze(1), others, 1)
        wrong = wrong.masked_fill(drawn == partners.unsqueeze(1), -torch.inf)
        return among_drawn(own, wrong, told.loss, margin=told.margin, n_entities=n)

    @property
    def numbers_a_row(self) -> int:
        """Numbers that the loss of one pair holds at once: vectors of partners, or distances."""
        n_wrong = self.losses.n_negatives
        return self.size.n_entities if n_wrong is None else n_wrong * self.size.dim

    def count_multiply_adds(self, batch_size: int) -> int:
        """Return about how many the loss of a batch takes."""
        n_wrong = self.losses.n_negatives or self.size.n_entities
        dim = self.size.dim
        return 2 * batch_size * n_wrong * dim + self.encoder.count_multiply_adds(dim)


def among_others(x: Tensor, others: Tensor, partners: Tensor) -> Tensor:
    """Return the loss of hard ones; logits are −‖x − y‖² and ‖x‖², which changes nothing."""
    return among_rows(2 * x, others, -others.square().sum(dim=1), partners, hard_loss)
