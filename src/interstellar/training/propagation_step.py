"""One training step of a propagation: a batch of queries in, all parameters moved a little.

The loss is the mean cross-entropy of the true answer among all entities that are not known to be
another answer. While a batch is asked for, its own edges are left out of the graph: the answer
would be read off them.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from interstellar.device import is_out_of_memory, mixed_products
from interstellar.errors import TrainingError
from interstellar.model.propagation_graph import Edges
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.training.optimizers import FlatOptimizer, FlatParameters
from interstellar.training.ready_step import keeping, uses_mixed_precision
from interstellar.training.settings import Precision, PropagationSettings, TrainingSettings

CPU_BYTES = 2**30
"""What a part of a batch may take on the CPU."""
N_SUMS = 1024
"""Of which the norm of the gradient is made."""


def ready_propagation_step(
    network: PropagationNetwork,
    paths: Tensor,
    settings: TrainingSettings,
    parameters: FlatParameters,
) -> tuple["PropagationStep", Callable[[], None]]:
    """Return a step that fits into the memory, and the function that does it."""
    step = PropagationStep(network, paths, settings, parameters)
    if paths.device.type == "cpu":
        graph, n_layers, n_nodes = network.graph, len(network.layers), network.nodes_a_query
        n_edges = graph.n_edges * n_nodes // graph.n_entities
        n_numbers = n_layers * network.size.dim * (8 * n_nodes + 2 * n_edges)
        step.n_parts = min(step.batch_size, -(-4 * n_numbers * step.batch_size // CPU_BYTES))
        return step, step.compute
    while True:
        try:
            with keeping(tuple(step.state_tensors().values())):
                step.compute()
            return step, step.compute
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        torch.cuda.empty_cache()
        parameters.gradients.zero_()
        step.n_parts *= 2
        if step.n_parts > step.batch_size:
            raise TrainingError(
                "the memory of this device does not hold the propagation of one query. Lower the "
                "dimension or the depth, or train on another device."
            )


@final
class PropagationStep:
    """Computes steps on one device; all its state are tensors there."""

    def __init__(
        self,
        network: PropagationNetwork,
        paths: Tensor,
        settings: TrainingSettings,
        parameters: FlatParameters,
        *,
        n_parts: int = 1,
    ) -> None:
        """Set up on the device of the paths, (n, 3): the training triplets and their inverses.

        A batch is computed in `n_parts`, one after the other. With mixed precision, matrices are
        multiplied in TF32; where it was asked for, states are kept in bfloat16 too.
        """
        assert settings.propagation is not None
        device = paths.device
        self.network = network
        self.paths = paths
        self.settings = settings
        self.propagation: PropagationSettings = settings.propagation
        self.parameters = parameters
        self.n_parts = n_parts
        self.is_mixed = uses_mixed_precision(settings.precision, device)
        self.state_dtype = torch.bfloat16 if settings.precision is Precision.MIXED else None
        n_queries = min(len(paths), self.propagation.queries_per_epoch)
        self.batch_size = min(settings.batch_size, n_queries)
        self.n_steps = -(-n_queries // self.batch_size)
        self.order = torch.zeros(self.n_steps * self.batch_size, dtype=torch.long, device=device)
        self.n_done = torch.zeros((), dtype=torch.long, device=device)
        self.loss_sum = torch.zeros((), device=device)
        self.bad_step = torch.zeros((), dtype=torch.long, device=device)
        """The first step of the epoch whose loss was not finite, counted from 1; 0 for none."""
        self.optimizer = FlatOptimizer(
            parameters,
            kind=settings.optimizer,
            weight_decay=settings.weight_decay,
            max_norm=None,
            row_length=network.size.dim,
        )
        self._known = TrainingAnswers(paths, 2 * network.size.n_relations)

    def begin_epoch(self, order: Tensor, learning_rate: float, dropout_seed: int) -> None:  # noqa: ARG002 (nothing is dropped)
        """Set what changes from epoch to epoch: which queries, in which order, and the rate."""
        repeated = order.repeat(-(-len(self.order) // len(order)))
        self.order.copy_(repeated[: len(self.order)])
        self.optimizer.learning_rate.fill_(learning_rate)
        self.n_done.zero_()
        self.loss_sum.zero_()
        self.bad_step.zero_()

    def state_tensors(self) -> dict[str, Tensor]:
        """Return, by name, the tensors from which training goes on."""
        return {"parameters": self.parameters.values} | self.optimizer.state_tensors()

    def count_multiply_adds(self) -> int:
        """Return about how many a step takes: those of nodes and edges, and twice backward."""
        graph, dim = self.network.graph, self.network.size.dim
        n_weights: int = sum(p.numel() for p in self.network.layers.parameters() if p.dim() == 2)
        of_nodes, of_edges = graph.n_entities * n_weights, graph.n_edges * dim
        return 3 * self.batch_size * (of_nodes + of_edges)

    def compute(self) -> None:
        """Do one step."""
        [numbers] = self.order.view(-1, self.batch_size).index_select(0, self.n_done)
        batch = self.paths[numbers].long()
        self.n_done += 1
        loss = torch.zeros_like(self.loss_sum)
        with mixed_products() if self.is_mixed else nullcontext():
            edges = self.network.graph.edges_without(batch, self.propagation.left_out)
            for part in batch.chunk(self.n_parts):
                part_loss = self._loss(edges, *part.T) / len(batch)
                part_loss.backward()  # type: ignore[no-untyped-call]
                loss += part_loss.detach()
        self.optimizer.update(*self._account(loss))

    def _loss(self, edges: Edges, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        logits = self.network.logits_over(edges, subjects, relations, state_dtype=self.state_dtype)
        logits = self._known.mask(logits, subjects, relations, objects)
        return functional.cross_entropy(logits, objects, reduction="sum")

    def _account(self, loss: Tensor) -> tuple[Tensor, Tensor]:
        """Note the loss, and return by what the gradient is multiplied and whether it is bad."""
        norm = norm_of(self.parameters.gradients)
        is_bad = ~torch.isfinite(loss + norm)
        self.loss_sum += loss
        is_first = is_bad & (self.bad_step == 0)
        self.bad_step.copy_(torch.where(is_first, self.n_done, self.bad_step))
        self.optimizer.n_updates += ~is_bad
        most = self.settings.gradient_norm
        factor = torch.ones_like(norm) if most is None else (most / norm).clamp(max=1.0)
        return factor, is_bad


def norm_of(x: Tensor) -> Tensor:
    """Return the length of a long vector, added up alike with any number of threads."""
    n_whole = len(x) - len(x) % N_SUMS
    sums = x[:n_whole].view(-1, N_SUMS).square().sum(dim=0)
    return (sums.sum() + x[n_whole:].square().sum()).sqrt()


@final
class TrainingAnswers:
    """The objects of each query (subject, relation) of training, on one device."""

    def __init__(self, paths: Tensor, n_relations: int) -> None:
        """Sort queries with their objects; `n_relations` with inverses."""
        self._n_relations = n_relations
        keys, order = torch.sort(self._key(paths[:, 0].long(), paths[:, 1].long()), stable=True)
        self._objects = paths[order, 2].long()
        self._keys = keys
        _, counts = torch.unique_consecutive(keys, return_counts=True)
        self._numbers = torch.arange(int(counts.max()), device=paths.device)

    def mask(self, logits: Tensor, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        """Return logits (batch, n_entities) with −∞ for other answers than the objects.

        No size depends on the batch: every query has as many places as the one with most answers.
        """
        keys, own = self._key(subjects, relations), objects.unsqueeze(1)
        starts = torch.searchsorted(self._keys, keys)
        counts = torch.searchsorted(self._keys, keys, right=True) - starts
        places = (starts.unsqueeze(1) + self._numbers).clamp(max=len(self._objects) - 1)
        answers = torch.where(self._numbers < counts.unsqueeze(1), self._objects[places], own)
        is_other = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, answers, value=True)
        return logits.masked_fill(is_other.scatter_(1, own, value=False), -torch.inf)

    def _key(self, subjects: Tensor, relations: Tensor) -> Tensor:
        return subjects * self._n_relations + relations
