"""RSN as its authors built it (Guo, Sun and Hu 2019): an LSTM along paths, with a skip connection.

    x_1, x_2, … = N(e_0), N(r_1), N(e_1), N(r_2), …            what a path holds, in its order
    i_t, f_t, o_t = σ(W x_t + U h_{t−1} + b), z_t = W x_t + U h_{t−1} + b
    c_t = f_t ⊙ c_{t−1} + i_t ⊙ z_t,  h_t = o_t ⊙ c_t          layer upon layer
    v_t = N(h_t) after an entity,  N(S_1 h_t + S_2 x_{t−1}) after a relation
    loss = −log softmax(v_t · w + b) of what comes next: the relation, or the entity

The skip connection S_2 hands the entity past the LSTM to what its relation leads to. As in the
authors' program z and h are without tanh, N normalises each place of a path over the batch, and
what is predicted has vectors w of its own; an alignment is read from the vectors e that go in.

Deviations: the softmax is among all entities, or those drawn, where they drew by frequency and to
align took the loss of noise-contrastive estimation; a single triplet is answered with running means
and variances of the first places (`first`) and without dropout, where they took those of the
queries asked together.
"""

from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from interstellar.model.path_network import NetworkSize, normalise
from interstellar.model.softmax_loss import cross_entropy
from interstellar.rivals.among_rows import RowLoss, among_rows
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.triplet_loss import among_drawn
from interstellar.rivals.triplet_network import TripletLosses, cubes, drop

EPSILON, MOMENTUM = 1e-5, 0.1


@final
class SkippingNetwork(nn.Module):
    """Everything that is trained of RSN."""

    def __init__(self, size: NetworkSize, losses: TripletLosses, n_layers: int) -> None:
        super().__init__()
        dim, n_relations = size.dim, 2 * size.n_relations
        self.formula = Rival.RSN_LSTM.value
        self.size = size
        self.losses = losses
        self.entities = nn.Parameter(torch.empty(size.n_entities, dim))
        self.relations = nn.Parameter(torch.empty(n_relations, dim))
        self.next_entities = nn.Parameter(torch.empty(size.n_entities, dim))
        self.next_relations = nn.Parameter(torch.empty(n_relations, dim))
        self.entity_bias = nn.Parameter(torch.empty(size.n_entities))
        self.relation_bias = nn.Parameter(torch.empty(n_relations))
        self.layers = nn.ModuleList(LstmLayer(dim) for _ in range(n_layers))
        self.S_1 = nn.Parameter(torch.empty(dim, dim))
        self.S_2 = nn.Parameter(torch.empty(dim, dim))
        self.affine = nn.Parameter(torch.empty(4, dim))
        """Scale and shift of what goes in, scale and shift of what comes out."""
        self.first = nn.Parameter(torch.empty(2, 3, dim), requires_grad=False)
        """Running means, and variances, of e_0, r_1 and of what comes out after r_1."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.entities.device

    @property
    def subjects(self) -> Tensor:
        """The vectors that an alignment is read from, (n_entities, dim)."""
        return self.entities.detach()

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw tables Xavier-uniformly, matrices of the LSTM orthogonal."""
        tables = (self.entities, self.relations, self.next_entities, self.next_relations)
        for table in (*tables, self.S_1, self.S_2):
            nn.init.xavier_uniform_(table, generator=generator)
        for layer in self._lstm():
            layer.initialise(generator)
        for one, zero in ((self.affine[0::2], self.affine[1::2]), (self.first[1], self.first[0])):
            one.fill_(1)
            zero.zero_()
        self.entity_bias.zero_()
        self.relation_bias.zero_()

    @torch.no_grad()
    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities), as objects of single triplets."""
        in_scale, in_shift, out_scale, out_shift = self.affine
        x = torch.stack([self.entities[subject_ids.long()], self.relations[relation_ids.long()]], 1)
        (mean_e, mean_r, mean_v), (var_e, var_r, var_v) = self.first
        root = torch.stack([var_e, var_r]).add(EPSILON).sqrt()
        x = (x - torch.stack([mean_e, mean_r])) / root * in_scale + in_shift
        v = self._skip(x, self._recur(x, None))[:, 0]
        v = (v - mean_v) / (var_v + EPSILON).sqrt() * out_scale + out_shift
        return torch.addmm(self.entity_bias, v, self.next_entities.T)

    def loss(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return what paths (n, 2 · length + 1) cost together; `generator` draws what is random."""
        e, r, o = batch[:, 0:-1:2], batch[:, 1::2], batch[:, 2::2]
        s, r_vectors = look_up(self.entities, e), look_up(self.relations, r)
        after_e, after_r = self._outputs(s, r_vectors, generator)
        answers = o.reshape(-1)
        loss = self._loss_of(after_r, answers, generator)
        loss = loss + among_rows(
            after_e, self.next_relations, self.relation_bias, r.reshape(-1), self._row_loss
        )
        if not self.losses.n3:
            return loss
        rows = (s, r_vectors, look_up(self.next_entities, answers))
        return loss + self.losses.n3 * sum(cubes(x) for x in rows)

    @property
    def numbers_a_row(self) -> int:
        """Numbers that the loss of one path holds at once; its logits exist a chunk at a time."""
        return self.losses.n_negatives or self.size.dim

    def count_multiply_adds(self, batch_size: int) -> int:
        """Return about how many the loss of a step of all paths takes."""
        return batch_size * (self.losses.n_negatives or len(self.entities)) * self.size.dim

    def _outputs(self, s: Tensor, r: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return v after entities and after relations, each (n · length, dim), as in training."""
        in_scale, in_shift, out_scale, out_shift = self.affine
        inputs = torch.stack([s, r], dim=2).flatten(1, 2)
        x = normalise_places(inputs, in_scale, in_shift)
        h = self._recur(x, generator)
        skipped = self._skip(x, h)
        self._note(inputs[:, 0], inputs[:, 1], skipped[:, 0])
        after_e, after_r = (
            normalise_places(v, out_scale, out_shift).flatten(0, 1) for v in (h[:, 0::2], skipped)
        )
        return after_e, after_r

    def _recur(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return h of every place, (n, places, dim); `generator` draws the dropout."""
        h = x
        for layer in self._lstm():
            h = layer.unroll(h)
            if generator is not None:
                h = drop(h, self.losses.dropout, generator)
        return h

    def _skip(self, x: Tensor, h: Tensor) -> Tensor:
        """Return S_1 h + S_2 s after each relation, (n, length, dim)."""
        return h[:, 1::2] @ self.S_1.T + x[:, 0::2] @ self.S_2.T

    def _loss_of(self, v: Tensor, answers: Tensor, generator: torch.Generator) -> Tensor:
        told, table, bias = self.losses, self.next_entities, self.entity_bias
        if told.n_negatives is None:
            return among_rows(v, table, bias, answers, self._row_loss)
        shape, n = (told.n_negatives,), len(table)
        drawn = torch.randint(n, shape, generator=generator, device=v.device)
        wrong = torch.addmm(bias[drawn], v, look_up(table, drawn).T)
        wrong = wrong.masked_fill(drawn == answers.unsqueeze(1), -torch.inf)
        own = (v * look_up(table, answers)).sum(dim=1) + bias[answers]
        return among_drawn(own, wrong, told.loss, margin=told.margin, n_entities=n)

    @torch.no_grad()
    def _note(self, *places: Tensor) -> None:
        """Move the running means and variances towards those of a batch."""
        x = torch.stack(places)
        self.first.lerp_(torch.stack([x.mean(dim=1), x.var(dim=1)]), MOMENTUM)

    def _lstm(self) -> list["LstmLayer"]:
        return [layer for layer in self.layers if isinstance(layer, LstmLayer)]

    @property
    def _row_loss(self) -> RowLoss:
        return partial(cross_entropy, label_smoothing=self.losses.label_smoothing)


@final
class LstmLayer(nn.Module):
    """An LSTM without tanh, along whole paths."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(4 * dim, dim))
        self.U = nn.Parameter(torch.empty(4 * dim, dim))
        self.b = nn.Parameter(torch.empty(4, dim))
        """Of i, f, o and z."""

    def initialise(self, generator: torch.Generator) -> None:
        """Draw [W U] orthogonal; what is remembered is not forgotten at first."""
        both = nn.init.orthogonal_(torch.cat([self.W, self.U], dim=1), generator=generator)
        self.W.copy_(both[:, : both.shape[1] // 2])
        self.U.copy_(both[:, both.shape[1] // 2 :])
        self.b.zero_()[1].fill_(1)

    def unroll(self, x: Tensor) -> Tensor:
        """Return h_1, h_2 … of inputs (n, places, dim), in the same shape."""
        dim, hidden = x.shape[2], list[Tensor]()
        h = c = x.new_zeros(len(x), dim)
        for W_x in (x @ self.W.T + self.b.flatten()).unbind(dim=1):
            gates, z = torch.addmm(W_x, h, self.U.T).split_with_sizes([3 * dim, dim], dim=1)
            i, f, o = gates.sigmoid().chunk(3, dim=1)
            c = f * c + i * z
            h = o * c
            hidden.append(h)
        return torch.stack(hidden, dim=1)


def look_up(table: Tensor, ids: Tensor) -> Tensor:
    """Return rows of a table for ids of any shape."""
    return table.index_select(0, ids.reshape(-1)).view(*ids.shape, table.shape[1])


def normalise_places(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return x, (n, places, dim), each place with mean 0 and variance 1, scaled and shifted."""
    places = x.shape[1]
    return normalise(x.flatten(1), scale.repeat(places), shift.repeat(places)).view(x.shape)
