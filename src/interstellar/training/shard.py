"""The rows of entities that one of several processes holds, and what it does of a training step.

Process p holds the rows E_p of the table, with their gradients and what the optimizer remembers of
them. For outputs v and true answers t, both given to all, it computes the logits z_o = v · o of
its own entities, and of each row

    s_p = log Σ_{o in E_p} exp z_o      u_p = Σ_{o in E_p} z_o      t_p = z_t if t in E_p, else 0

These few numbers are gathered; the logits are not. With S = log Σ_p exp s_p, a row's loss and the
gradient by its logits are those of the whole table (`model/softmax_loss.py`),

    L = S − (1 − ε) Σ_p t_p − ε / n Σ_p u_p        ∂L/∂z_o = exp(z_o − S) − (1 − ε) [o = t] − ε / n

and of the gradient by v = Σ_o ∂L/∂z_o · o each process has the terms of its own entities, which are
added up. The gradient by a row of the table needs nobody else.
"""

from contextlib import nullcontext
from typing import final

import torch
from torch import Tensor

from interstellar.device import mixed_products
from interstellar.model.embedding_table import multiply_out
from interstellar.model.n3 import add_slopes
from interstellar.training.exchange import Exchange
from interstellar.training.optimizers import FlatOptimizer, FlatParameters
from interstellar.training.ready_step import first_plan


@final
class Shard:
    """The tables of one process. All methods are commands: all processes carry them out at once.

    Ids are those of the whole table. What is added up is whole on the leader only.
    """

    def __init__(
        self,
        exchange: Exchange,
        parameters: FlatParameters,
        optimizer: FlatOptimizer,
        n_entities: int,
    ) -> None:
        self.exchange = exchange
        self.parameters = parameters
        self.optimizer = optimizer
        self.n_entities = n_entities
        self.rows = exchange.rows_of(exchange.number, n_entities)
        self._gradients = parameters.layout.split(parameters.gradients)
        self.copies: dict[str, dict[str, Tensor]] = {}
        """Of the state, by name, and there of some of its tensors."""
        self._chunk_rows: int | None = None

    def look_up(self, ids: Tensor, *, table: str, columns: tuple[int, int]) -> Tensor:
        """Return rows of a table, from one column to another, for (n,) ids."""
        here, places = self._find(ids)
        values = self.parameters.views[table][:, slice(*columns)]
        rows = values.new_zeros(len(ids), values.shape[1])
        rows[here] = values[places]
        return self.exchange.add_up(rows)

    def add(self, ids: Tensor, slopes: Tensor, *, table: str, columns: tuple[int, int]) -> None:
        """Add to the gradients of rows that were looked up."""
        here, places = self._find(ids)
        self._gradients[table][:, slice(*columns)].index_add_(0, places, slopes[here])

    def add_n3(self, ids: Tensor, *, table: str, weight: float, half: int) -> None:
        """Add the gradient of the regulariser N3 for rows, as often as they are given."""
        _, places = self._find(ids.reshape(-1))
        with torch.no_grad():
            add_slopes(self._gradients[table], self.parameters.views[table], places, weight, half)

    def softmax(
        self, v: Tensor, true: Tensor, *, smoothing: float, is_mixed: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of each row and the gradient of their sum by v; add that by the table.

        Where it is mixed, matrices are multiplied in TF32.
        """
        values, gradient = self.parameters.views["entities"], self._gradients["entities"]
        losses, v_gradient = v.new_empty(len(v)), torch.empty_like(v)
        n_at_once = self._rows_at_once(len(v))
        with mixed_products() if is_mixed else nullcontext():
            for start in range(0, len(v), n_at_once):
                part = slice(start, start + n_at_once)
                logits = multiply_out(v[part], values)
                losses[part], slopes = self._cross_entropy(logits, true[part], smoothing)
                torch.mm(slopes, values, out=v_gradient[part])
                gradient.addmm_(slopes.T, v[part])
        return losses, self.exchange.add_up(v_gradient)

    def multiply_out(self, v: Tensor) -> Tensor:
        """Return the logits of all entities, (rows, n_entities)."""
        number, n = self.exchange.number, self.exchange.n_processes
        own = multiply_out(v, self.parameters.views["entities"])
        logits = own.new_empty(len(v), self.n_entities if number == 0 else 0)
        blocks = [self.exchange.rows_of(other, self.n_entities) for other in range(n)]
        self.exchange.collect(own, [logits[:, block.start : block.stop] for block in blocks])
        return logits

    def measure_gradient(self) -> Tensor:
        """Return the squared length of all gradients together."""
        length = torch.linalg.vector_norm(self.parameters.gradients)
        return self.exchange.add_up(length.square())

    def update(self, told: Tensor) -> None:
        """Move the parameters; told are factor, whether the loss is bad, rate, updates so far."""
        factor, is_bad, self.optimizer.learning_rate[...], self.optimizer.n_updates[...] = told
        self.optimizer.update(factor, is_bad.int())
        if told.device.type == "cuda":  # there the loss of one process sets these gradients anew
            self.parameters.gradients.zero_()

    def is_finite(self) -> bool:
        """Return whether all parameters are numbers."""
        return bool(self.exchange.least(int(torch.isfinite(self.parameters.values).all())))

    def copy(self, *, name: str, keys: list[str]) -> None:
        """Keep a copy of some tensors of the state under a name."""
        tensors = self.tensors()
        self.copies[name] = {key: tensors[key].clone() for key in keys}

    def forget(self, *, name: str) -> None:
        """Give up a copy."""
        self.copies.pop(name, None)

    def restore(self, *, name: str) -> None:
        """Set the state to what it was in a copy, as far as that goes."""
        tensors = self.tensors()
        for key, tensor in self.copies[name].items():
            tensors[key].copy_(tensor)

    def collect(self, *, name: str | None, key: str, table: str, first: int, n: int) -> Tensor:
        """Return rows of a table in a tensor of a copy, or of the state where none is named."""
        tensors = self.tensors() if name is None else self.copies[name]
        values = self.parameters.layout.split(tensors[key])[table]
        here, places = self._find(torch.arange(first, first + n, device=values.device))
        rows = values.new_zeros(n, values.shape[1])
        rows[here] = values[places]
        return self.exchange.add_up(rows)

    def put(self, rows: Tensor, *, key: str, table: str, first: int) -> None:
        """Set some rows of a table in a tensor of the state."""
        here, places = self._find(torch.arange(first, first + len(rows), device=rows.device))
        self.parameters.layout.split(self.tensors()[key])[table][places] = rows[here]

    def tensors(self) -> dict[str, Tensor]:
        """Return the state of this process by name."""
        return {"parameters": self.parameters.values} | self.optimizer.state_tensors()

    def _find(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return which of some ids are here, and the places of their rows."""
        places = ids.long() - self.rows.start
        [here] = ((places >= 0) & (places < len(self.rows))).nonzero(as_tuple=True)
        return here, places[here]

    def _rows_at_once(self, n_rows: int) -> int:
        """Return how many rows have logits at the same time: on all processes as many."""
        if self._chunk_rows is None:
            plan = first_plan(n_rows, len(self.rows), self.exchange.device, is_mixed=False)
            self._chunk_rows = self.exchange.least(plan.loss.chunk_rows)
        return self._chunk_rows

    def _cross_entropy(
        self, logits: Tensor, true: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of each row, and the gradient by its logits here, in their place."""
        here, places = self._find(true)
        s_p, u_p = torch.logsumexp(logits, dim=1), logits.sum(dim=1)
        t_p = torch.zeros_like(s_p)
        t_p[here] = logits[here, places]
        s, u, t = self.exchange.gather(torch.stack([s_p, u_p, t_p])).unbind(dim=1)
        S = torch.logsumexp(s, dim=0)
        losses = S - (1 - smoothing) * t.sum(dim=0) - smoothing / self.n_entities * u.sum(dim=0)
        slopes = logits.sub_(S.unsqueeze(1)).exp_().sub_(smoothing / self.n_entities)
        slopes[here, places] -= 1 - smoothing
        return losses, slopes


COMMANDS = (
    Shard.look_up,
    Shard.add,
    Shard.add_n3,
    Shard.softmax,
    Shard.multiply_out,
    Shard.measure_gradient,
    Shard.update,
    Shard.is_finite,
    Shard.copy,
    Shard.forget,
    Shard.restore,
    Shard.collect,
    Shard.put,
)
"""What the leader may ask for."""
