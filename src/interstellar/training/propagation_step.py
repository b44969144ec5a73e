"""What a batch of queries costs in the training of a propagation.

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

from interstellar.device import mixed_products
from interstellar.model.propagation_graph import Edges
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.training.autograd_step import AutogradStep, ready_on_card
from interstellar.training.optimizers import FlatParameters
from interstellar.training.ready_step import uses_mixed_precision
from interstellar.training.settings import Precision, PropagationSettings, TrainingSettings

CPU_BYTES = 2**30
"""What a part of a batch may take on the CPU."""


def ready_propagation_step(
    network: PropagationNetwork,
    paths: Tensor,
    settings: TrainingSettings,
    parameters: FlatParameters,
) -> tuple[AutogradStep, Callable[[], None]]:
    """Return a step that fits into the memory, and the function that does it.

    Where nodes are left out, the sizes of a step depend on its queries: it cannot be captured.
    """
    step = propagation_step(network, paths, settings, parameters)
    if paths.device.type == "cpu":
        step.loss.n_parts = fit_parts(network, step.batch_size)
        return step, step.compute
    advice = (
        "the memory of this device does not hold the propagation of one query. Lower the dimension "
        "or the depth."
    )
    return ready_on_card(step, can_capture=network.n_kept is None, advice=advice)


def fit_parts(network: PropagationNetwork, n_queries: int) -> int:
    """Return in how many parts the CPU computes so many queries."""
    graph, n_layers, n_nodes = network.graph, len(network.layers), network.nodes_a_query
    n_edges = graph.n_edges * n_nodes // graph.n_entities
    n_numbers = n_layers * network.size.dim * (8 * n_nodes + 2 * n_edges)
    return min(n_queries, -(-4 * n_numbers * n_queries // CPU_BYTES))


def propagation_step(
    network: PropagationNetwork,
    paths: Tensor,
    settings: TrainingSettings,
    parameters: FlatParameters,
) -> AutogradStep:
    """Return a step on the device of the paths, (n, 3): training triplets and their inverses."""
    assert settings.propagation is not None
    return AutogradStep(
        PropagationLoss(network, paths, settings, settings.propagation),
        paths,
        settings,
        parameters,
        rows_an_epoch=settings.propagation.queries_per_epoch,
    )


@final
class PropagationLoss:
    """What a batch of queries costs.

    With mixed precision, matrices are multiplied in TF32; where it was asked for, states are kept
    in bfloat16 too.
    """

    def __init__(
        self,
        network: PropagationNetwork,
        paths: Tensor,
        settings: TrainingSettings,
        propagation: PropagationSettings,
    ) -> None:
        self.network = network
        self.n_parts = 1
        self._left_out = propagation.left_out
        self._is_mixed = uses_mixed_precision(settings.precision, paths.device)
        self._state_dtype = torch.bfloat16 if settings.precision is Precision.MIXED else None
        self._known = TrainingAnswers(paths, 2 * network.size.n_relations)

    def count_multiply_adds(self, batch_size: int) -> int:
        """Return about how many a step takes: those of nodes and edges, and twice backward."""
        graph, dim = self.network.graph, self.network.size.dim
        n_weights: int = sum(p.numel() for p in self.network.layers.parameters() if p.dim() == 2)
        of_nodes, of_edges = graph.n_entities * n_weights, graph.n_edges * dim
        return 3 * batch_size * (of_nodes + of_edges)

    def add_gradients(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Add the gradients of the mean loss; nothing is drawn."""
        del generator
        return self.add_gradients_of(batch, batch)

    def add_gradients_of(self, queries: Tensor, batch: Tensor) -> Tensor:
        """Add the gradients of what some queries of a batch add to its mean loss; return that."""
        loss = torch.zeros((), device=batch.device)
        with mixed_products() if self._is_mixed else nullcontext():
            edges = self.network.graph.edges_without(batch, self._left_out)
            for part in queries.chunk(self.n_parts):
                part_loss = self._loss(edges, *part.T) / len(batch)
                part_loss.backward()  # type: ignore[no-untyped-call]
                loss += part_loss.detach()
        return loss

    def _loss(self, edges: Edges, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        logits = self.network.logits_over(edges, subjects, relations, state_dtype=self._state_dtype)
        logits = self._known.mask(logits, subjects, relations, objects)
        return functional.cross_entropy(logits, objects, reduction="sum")


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
