"""The cell unrolled over paths, with its embeddings: everything that is trained."""

import math
from dataclasses import dataclass
from typing import Protocol, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula import to_formula
from interstellar.model.embedding_table import EntityTable, look_up, multiply_out
from interstellar.model.path_cell import CellWeights, PathCell
from interstellar.model.shared_cell import SharedCell


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkForm:
    """What surrounds the cell; a task chooses it."""

    has_batch_norm: bool
    """Whether s_t, r_t and the outputs are batch-normalised (entity alignment)."""
    is_two_way: bool
    """Whether a second pass reads paths with the entity tables exchanged (link prediction)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSize:
    """How many embeddings there are, and how long."""

    n_entities: int
    n_relations: int
    """Without inverses; the inverse of r is r + n_relations."""
    dim: int


class SpreadRows(Protocol):
    """The embeddings of entities where several processes hold them, each some rows."""

    def look_up(self, ids: Tensor, *, table: str, columns: tuple[int, int]) -> Tensor:
        """Return rows of a table by name, from one column to another, (…, width)."""

    def multiply_out(self, v: Tensor) -> Tensor:
        """Return the logits of all entities, (rows, n_entities)."""

    def gather(self, *, table: str) -> Tensor:
        """Return a whole table, on the CPU."""


SUBJECTS = "one_way_subjects"
"""The table of subjects where there is one way; with two, `entities` has them too."""
DRAWN_NUMBERS = 2**22
"""Of a table that exist at once while its rows are drawn."""


@final
class PathNetwork(nn.Module):
    """Subject, object and relation tables, and the cell between them."""

    def __init__(
        self, cell: PathCell | SharedCell, size: NetworkSize, form: NetworkForm, dropout: float
    ) -> None:
        super().__init__()
        self.size = size
        self.form = form
        self.dropout = dropout
        self.n_table_rows: int | None = None
        """Rows of zeros included for which there is room behind the entities, if any was made."""
        self.spread: SpreadRows | None = None
        """Where other processes hold rows of entities, all of them; then here are only some."""
        self.first_row = 0
        """The entity of the first row that is here."""
        n_tables = 2 if form.is_two_way else 1
        self.entities = nn.Parameter(torch.empty(size.n_entities, n_tables * size.dim))
        if not form.is_two_way:
            self.one_way_subjects = nn.Parameter(torch.empty(size.n_entities, size.dim))
        self.relations = nn.Parameter(torch.empty(2 * size.n_relations, size.dim))
        self.cell = cell
        if form.has_batch_norm:
            self.step_norms = StepNorms(size.dim)
            self.output_norm = OutputNorm(size.dim)

    @classmethod
    def of(
        cls, architecture: Architecture, size: NetworkSize, form: NetworkForm, dropout: float
    ) -> "PathNetwork":
        """Return the network of one architecture."""
        cell = PathCell(architecture, CellWeights.of(architecture, size.dim))
        return cls(cell, size, form, dropout)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.entities.device

    @property
    def formula(self) -> str:
        """The cell, as people read it."""
        return to_formula(self.cell.architecture)

    @property
    def objects(self) -> Tensor:
        """The object table, (n_entities, dim)."""
        return self.entities[:, : self.size.dim]

    @property
    def subjects(self) -> Tensor:
        """The subject table, (n_entities, dim)."""
        if self.spread is not None:
            table, columns = self._subject_place
            return self.spread.gather(table=table)[:, slice(*columns)]
        return self._subjects_here

    @property
    def _subjects_here(self) -> Tensor:
        return self.entities[:, self.size.dim :] if self.form.is_two_way else self.one_way_subjects

    @property
    def _subject_place(self) -> tuple[str, tuple[int, int]]:
        dim = self.size.dim
        return ("entities", (dim, 2 * dim)) if self.form.is_two_way else (SUBJECTS, (0, dim))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw tables Xavier-uniformly, matrices and biases within ±1/√dim.

        The latter is what torch gives a linear layer by itself, and so the authors' program.
        """
        for table in (self.objects, self._subjects_here):
            draw_rows(table, self.first_row, self.size.n_entities, generator)
        for name, parameter in self.named_parameters():
            if name == "relations":
                nn.init.xavier_uniform_(parameter, generator=generator)
            elif name.endswith(("norm.affine", "norms.affine")):
                parameter[0::2], parameter[1::2] = 1, 0
            elif name.startswith("cell."):
                bound = self.size.dim**-0.5
                parameter.uniform_(-bound, bound, generator=generator)

    def entity_table(self) -> EntityTable:
        """Return what outputs are multiplied with: [objects | subjects] if there are two ways."""
        assert self.entities.grad is not None
        n_entities, dim = self.entities.shape
        n_rows = self.n_table_rows or n_entities
        shape, strides = (n_rows, dim), (dim, 1)
        return EntityTable(
            self.entities.detach().as_strided(shape, strides),
            self.entities.grad.as_strided(shape, strides),
            n_entities,
        )

    def outputs(
        self, subject_ids: Tensor, relation_ids: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Return v of every step, (batch · length, dim · ways), as training sees it.

        Subjects and relations along the paths are (batch, length); `generator` draws the dropout.
        """
        v = self.unroll(subject_ids, relation_ids).flatten(0, 1)
        if generator is not None and self.dropout > 0:
            keep = torch.empty_like(v).bernoulli_(1 - self.dropout, generator=generator)
            v = v * keep.div_(1 - self.dropout)
        return self.output_norm.normalise(v) if self.form.has_batch_norm else v

    def unroll(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return v, (batch, length, dim · ways), for paths of subjects and relations.

        The second way reads the object table and inverse relations; both are one batch.
        """
        s = self.look_up_subjects(subject_ids)
        if self.form.is_two_way:
            s = torch.cat([s, self.look_up_objects(subject_ids)])
            relation_ids = torch.cat([relation_ids, self.inverse(relation_ids)])
        r = look_up(self.relations, self.relations.grad, relation_ids)
        h_0 = s[:, 0]
        if self.form.has_batch_norm:
            s, r = self.step_norms.normalise(s, r)
        v = self.cell.unroll(s, r, h_0)
        return torch.cat(v.chunk(2), dim=-1) if self.form.is_two_way else v

    def look_up_subjects(self, ids: Tensor) -> Tensor:
        """Return rows of the subject table."""
        table, columns = self._subject_place
        return self._look_up(ids, table, columns)

    def look_up_objects(self, ids: Tensor) -> Tensor:
        """Return rows of the object table."""
        return self._look_up(ids, "entities", (0, self.size.dim))

    def look_up_entities(self, ids: Tensor) -> Tensor:
        """Return rows of all that outputs are multiplied with."""
        return self._look_up(ids, "entities", (0, self.entities.shape[1]))

    def _look_up(self, ids: Tensor, name: str, columns: tuple[int, int]) -> Tensor:
        if self.spread is not None:
            return self.spread.look_up(ids, table=name, columns=columns)
        table = self.get_parameter(name)
        place, gradient = slice(*columns), table.grad
        return look_up(table[:, place], None if gradient is None else gradient[:, place], ids)

    def inverse(self, relation_ids: Tensor) -> Tensor:
        """Return the inverse of each relation; that of an inverse is the relation itself."""
        n, ids = self.size.n_relations, relation_ids
        return torch.where(ids < n, ids + n, ids - n)

    @torch.no_grad()
    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities), as objects of single triplets."""
        v = self.unroll(subject_ids.unsqueeze(1), relation_ids.unsqueeze(1)).squeeze(1)
        if self.spread is not None:
            return self.spread.multiply_out(v)
        return multiply_out(v, self.entities)


@final
class StepNorms(nn.Module):
    """Normalises subjects and relations, each step over the batch; steps share scale and shift.

    One call for all steps: a path of L vectors is taken as one vector of L·dim channels.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.affine = nn.Parameter(torch.empty(4, dim))
        """Scale and shift of subjects, scale and shift of relations."""

    def normalise(self, s: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (batch, length, dim), with every step's statistics its own."""
        length, dim = s.shape[1:]
        affine = self.affine.unsqueeze(1).expand(4, length, dim).reshape(4, length * dim)
        s_scale, s_shift, r_scale, r_shift = affine.unbind()
        return (
            normalise(s.flatten(1), s_scale, s_shift).view_as(s),
            normalise(r.flatten(1), r_scale, r_shift).view_as(r),
        )


@final
class OutputNorm(nn.Module):
    """Normalises the outputs of all steps together."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.affine = nn.Parameter(torch.empty(2, dim))
        """Scale and shift."""

    def normalise(self, v: Tensor) -> Tensor:
        """Return v, (rows, dim), normalised over the rows."""
        scale, shift = self.affine.unbind()
        return normalise(v, scale, shift)


def draw_rows(rows: Tensor, first: int, n_entities: int, generator: torch.Generator) -> None:
    """Draw a table of entities Xavier-uniformly, and keep the rows that begin with the first.

    On the CPU, where numbers come one after the other, however many are drawn at once.
    """
    width = rows.shape[1]
    bound = math.sqrt(3) * math.sqrt(2 / (n_entities + width))  # as torch rounds it
    n_at_once = max(1, DRAWN_NUMBERS // width)
    for start in range(0, n_entities, n_at_once):
        n = min(n_at_once, n_entities - start)
        drawn = torch.empty(n, width).uniform_(-bound, bound, generator=generator)
        kept = range(max(start, first), min(start + n, first + len(rows)))
        if kept:
            rows[kept[0] - first : kept[-1] + 1 - first] = drawn[kept[0] - start :][: len(kept)]


def normalise(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return x, (rows, channels), with mean 0 and variance 1 in every channel, scaled and shifted.

    The statistics are always those of the batch: alignment is read from the embeddings, so
    that nothing is normalised after training.
    """
    return functional.batch_norm(x, None, None, scale, shift, training=True, eps=1e-5)
