"""The state of a training along walks whose tables are spread over processes: the leader's view.

The leader does alone what is little: it draws batches and dropout, and computes the cell with its
gradients. It looks up rows of entities wherever they are, sends them their gradients back, and lets
all processes compute the softmax and move their rows (`training/shard.py`). So a training is the
same with any number of processes, but for the order in which numbers are added up.
"""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from interstellar.device import mixed_products
from interstellar.model.n3 import add_slopes, rows_read
from interstellar.model.path_network import (
    SUBJECTS,
    NetworkForm,
    NetworkSize,
    PathNetwork,
    draw_rows,
)
from interstellar.model.relation_loss import add_relation_loss
from interstellar.model.softmax_loss import LossPlan, estimate_softmax_loss
from interstellar.rivals.network import Network
from interstellar.training.exchange import Crew, Exchange
from interstellar.training.optimizers import FlatOptimizer, FlatParameters, Layout, room
from interstellar.training.ready_step import refuse_unfit, uses_mixed_precision
from interstellar.training.settings import TrainingSettings
from interstellar.training.shard import Shard
from interstellar.training.state import Snapshot
from interstellar.training.step import StepPlan, TrainingStep
from interstellar.training.tensor_files import Pieces

TABLES = ("entities", SUBJECTS)
"""The parameters that are spread; the leader has all others."""
BLOCK_NUMBERS = 2**20
"""Of a table that are gathered or set at once."""
BEST = "best"


def shard_for(
    exchange: Exchange,
    size: NetworkSize,
    form: NetworkForm,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> Shard:
    """Return the rows of a process that follows, with the initial values that the seed gives."""
    rows = exchange.rows_of(exchange.number, size.n_entities)
    entities = torch.empty(len(rows), (1 + form.is_two_way) * size.dim)
    subjects = entities[:, size.dim :] if form.is_two_way else torch.empty(len(rows), size.dim)
    for table in (entities[:, : size.dim], subjects):
        draw_rows(table, rows.start, size.n_entities, generator)
    tables = nn.Module()
    tables.register_parameter("entities", nn.Parameter(entities))
    if not form.is_two_way:
        tables.register_parameter(SUBJECTS, nn.Parameter(subjects))
    parameters = FlatParameters(tables, exchange.device)
    optimizer = FlatOptimizer(
        parameters,
        kind=settings.optimizer,
        weight_decay=settings.weight_decay,
        max_norm=settings.max_norm if form.is_two_way else None,
        row_length=size.dim,
    )
    return Shard(exchange, parameters, optimizer, size.n_entities)


def spread(network: PathNetwork, exchange: Exchange) -> None:
    """Leave a network only the rows of the leader; before its initial values are drawn."""
    rows = exchange.rows_of(exchange.number, network.size.n_entities)
    network.first_row = rows.start
    for name, table in network.named_parameters():
        if name in TABLES:
            setattr(network, name, nn.Parameter(torch.empty(len(rows), table.shape[1])))


@final
class ShardedState:
    """What the leader has of a training, and how it asks for the rest."""

    def __init__(
        self,
        network: Network,
        paths: Tensor,
        settings: TrainingSettings,
        exchange: Exchange,
    ) -> None:
        assert isinstance(network, PathNetwork)
        refuse_unfit(network, paths, settings)
        self._is_mixed = uses_mixed_precision(settings.precision, paths.device)
        parameters = FlatParameters(network, paths.device)
        self.step = TrainingStep(network, paths, settings, StepPlan(LossPlan(1)), parameters)
        self._shard = Shard(exchange, parameters, self.step.optimizer, network.size.n_entities)
        self._crew = Crew(exchange, self._shard)
        network.spread = ShardedTables(self._crew, network)
        self._layout = Layout(
            {
                name: torch.Size([network.size.n_entities, *shape[1:]]) if name in TABLES else shape
                for name, shape in parameters.layout.shapes.items()
            }
        )
        self._n_copies = 0
        self.at_epoch = self._former = self.clone()
        self.keep_best()

    @property
    def can_be_saved(self) -> bool:
        return self._crew.is_whole

    def compute(self) -> None:
        self._forget_former()
        with mixed_products() if self._is_mixed else nullcontext():
            losses = self._add_gradients(*self.step.gather())
        self._crew.do(Shard.update, self._account(losses))

    def is_finite(self) -> bool:
        return self._crew.do(Shard.is_finite)

    def clone(self) -> str:
        self._n_copies += 1
        name = f"copy {self._n_copies}"
        self._crew.do(Shard.copy, name=name, keys=list(self._shard.tensors()))
        return name

    def undo_epoch(self) -> None:
        self._crew.do(Shard.restore, name=self.at_epoch)

    def keep_best(self) -> None:
        self._crew.do(Shard.copy, name=BEST, keys=["parameters"])

    def restore_best(self) -> None:
        self._forget_former()
        self._crew.do(Shard.restore, name=BEST)

    def saved_tensors(self) -> Snapshot:
        name, size = self.at_epoch, (self._layout.n_numbers,)
        state = {
            key: Pieces(size, partial(self._vector, name, key)) if tensor.dim() else tensor
            for key, tensor in self._shard.copies[name].items()
        }
        best = self.best_parameters()
        return state | {f"{BEST}.{name}": pieces for name, pieces in best.items()}

    def best_parameters(self) -> Snapshot:
        return {
            name: Pieces(tuple(shape), partial(self._rows, BEST, "parameters", name))
            for name, shape in self._layout.shapes.items()
        }

    def resume(self, tensors: Mapping[str, Tensor]) -> None:
        self._put("parameters", {name: tensors[f"{BEST}.{name}"] for name in self._layout.shapes})
        self.keep_best()
        for key, tensor in self._shard.tensors().items():
            if tensor.dim():
                self._put(key, self._layout.split(tensors[key]))
            else:
                tensor.copy_(tensors[key])
        self.at_epoch = self.clone()

    def begin_from(self, parameters: Mapping[str, Tensor]) -> None:
        shapes = {name: tensor.shape for name, tensor in parameters.items()}
        assert shapes == self._layout.shapes
        self._put("parameters", parameters)
        self.at_epoch = self.clone()
        self.keep_best()

    def _forget_former(self) -> None:
        """Let go of the copy before `at_epoch`, which was kept until that was noted."""
        if self._former != self.at_epoch:
            self._crew.do(Shard.forget, name=self._former)
            self._former = self.at_epoch

    def _add_gradients(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        """Add the gradients of a batch, wherever they belong; return the loss of each row."""
        network, settings = self.step.network, self.step.settings
        v, true = network.outputs(subjects, relations, self.step.generator), objects.reshape(-1)
        losses, gradient = self._softmax(v, true)
        if v.requires_grad:  # an output that is zero whatever is learnt has nothing behind it
            v.backward(gradient)  # type: ignore[no-untyped-call]
        if settings.relation_prediction:
            triplets = (subjects.reshape(-1), relations.reshape(-1), true)
            losses = losses + add_relation_loss(network, triplets, settings.relation_prediction)
        if settings.n3:
            half, read = network.size.dim // 2, rows_read(network, subjects, relations, objects)
            of_relations, table = read.pop("relations"), network.relations
            assert table.grad is not None
            with torch.no_grad():
                add_slopes(table.grad, table, of_relations, settings.n3, half)
            for name, ids in read.items():
                self._crew.do(Shard.add_n3, ids, table=name, weight=settings.n3, half=half)
        return losses

    def _softmax(self, v: Tensor, true: Tensor) -> tuple[Tensor, Tensor]:
        network, settings = self.step.network, self.step.settings
        n_entities, n_negatives = network.size.n_entities, settings.n_negatives
        if n_negatives is None:
            told: Any = {"smoothing": settings.label_smoothing, "is_mixed": self._is_mixed}
            return self._crew.do(Shard.softmax, v, true, **told)
        generator = self.step.generator
        negatives = torch.randint(n_entities, (n_negatives,), generator=generator, device=v.device)
        return estimate_softmax_loss(v, network.look_up_entities, true, negatives, n_entities)

    def _account(self, losses: Tensor) -> Tensor:
        """Note the loss as `TrainingStep.account` does; return what `Shard.update` is told."""
        step, loss = self.step, losses.mean()
        is_bad = ~torch.isfinite(loss)
        step.n_done += 1
        step.loss_sum += loss
        is_first = is_bad & (step.bad_step == 0)
        step.bad_step.copy_(torch.where(is_first, step.n_done, step.bad_step))
        n_updates = step.optimizer.n_updates + ~is_bad
        factor = torch.full_like(loss, len(losses))
        if step.settings.gradient_norm is not None:
            factor = step.settings.gradient_norm / self._crew.do(Shard.measure_gradient).sqrt()
        return torch.stack([factor, is_bad.float(), step.optimizer.learning_rate, n_updates])

    def _vector(self, name: str, key: str) -> Iterator[Tensor]:
        """Yield a tensor of a copy as one process alone would have it, with its zeros."""
        for table, shape in self._layout.shapes.items():
            yield from self._rows(name, key, table)
            yield torch.zeros(room(shape) - shape.numel())

    def _rows(self, name: str, key: str, table: str) -> Iterator[Tensor]:
        """Yield all rows of a parameter in a tensor of a copy."""
        if table in TABLES:
            shape, place = self._layout.shapes[table], {"name": name, "key": key, "table": table}
            yield from gather(self._crew, shape, **place)
        else:
            yield self._shard.parameters.layout.split(self._shard.copies[name][key])[table]

    def _put(self, key: str, parameters: Mapping[str, Tensor]) -> None:
        """Set a tensor of the state, all processes' rows of it."""
        own = self._shard.parameters.layout.split(self._shard.tensors()[key])
        for table, whole in parameters.items():
            if table not in TABLES:
                own[table].copy_(whole)
                continue
            for rows in blocks_of(whole.shape):
                part = whole[rows.start : rows.stop]
                self._crew.do(Shard.put, part, key=key, table=table, first=rows.start)


@final
class ShardedTables:
    """The tables of a network, as the leader sees them."""

    def __init__(self, crew: Crew, network: PathNetwork) -> None:
        self._crew = crew
        self._anchor = network.entities
        self._shapes = {
            name: torch.Size([network.size.n_entities, table.shape[1]])
            for name, table in network.named_parameters()
            if name in TABLES
        }

    def look_up(self, ids: Tensor, *, table: str, columns: tuple[int, int]) -> Tensor:
        place = {"table": table, "columns": columns}
        rows: Tensor = _LookUp.apply(self._anchor, self._crew, ids.reshape(-1), place)  # type: ignore[no-untyped-call]
        return rows.view(*ids.shape, -1)

    def multiply_out(self, v: Tensor) -> Tensor:
        return self._crew.do(Shard.multiply_out, v)

    def gather(self, *, table: str) -> Tensor:
        place = {"name": None, "key": "parameters", "table": table}
        return torch.cat(list(gather(self._crew, self._shapes[table], **place)))


class _LookUp(torch.autograd.Function):
    """`anchor` is any tensor with a gradient, without which autograd would not ask for ours."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, crew: Crew, ids: Tensor, place: Any) -> Tensor:
        del anchor
        ctx.crew, ctx.ids, ctx.place = crew, ids, place
        return crew.do(Shard.look_up, ids, **place)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_rows: Tensor) -> tuple[None, None, None, None]:
        ctx.crew.do(Shard.add, ctx.ids, of_rows, **ctx.place)
        return None, None, None, None


def gather(crew: Crew, shape: torch.Size, **place: Any) -> Iterator[Tensor]:
    """Yield all rows of a table, some at once, on the CPU."""
    for rows in blocks_of(shape):
        yield crew.do(Shard.collect, first=rows.start, n=len(rows), **place).cpu()


def blocks_of(shape: torch.Size) -> Iterator[range]:
    """Yield the rows of a table, so many at once as are moved at once."""
    n, n_at_once = shape[0], max(1, BLOCK_NUMBERS // shape[1])
    for start in range(0, n, n_at_once):
        yield range(start, min(n, start + n_at_once))
