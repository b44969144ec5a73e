"""A propagation that several processes train: each computes the gradients of some queries.

A propagation has few parameters, so all processes have all of them: the leader sends them along
with each batch, and moves them alone by the sum of the gradients. Where queries are ranked, they
are split as well.
"""

from collections.abc import Callable
from functools import partial
from typing import final

import torch
from torch import Tensor

from interstellar.device import is_out_of_memory
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.rivals.network import Network
from interstellar.training.autograd_step import AutogradStep
from interstellar.training.exchange import Crew, Exchange
from interstellar.training.optimizers import FlatParameters
from interstellar.training.propagation_step import PropagationLoss, fit_parts, propagation_step
from interstellar.training.settings import TrainingSettings
from interstellar.training.state import OneDevice


@final
class BatchShare:
    """What one process does for a batch. All methods are commands."""

    def __init__(
        self, exchange: Exchange, loss: PropagationLoss, parameters: FlatParameters
    ) -> None:
        self.exchange = exchange
        self.loss = loss
        self.parameters = parameters

    def add_gradients(self, parameters: Tensor, batch: Tensor) -> Tensor:
        """Return the mean loss of a batch; its gradients are the leader's."""
        self.parameters.values.copy_(parameters)
        loss = self.exchange.add_up(self._add_own(batch))
        self.exchange.add_up(self.parameters.gradients)
        return loss

    def logits(self, parameters: Tensor, queries: Tensor) -> Tensor:
        """Return the logits of all entities for queries, subjects and relations, (2, n)."""
        self.parameters.values.copy_(parameters)
        number, n = self.exchange.number, self.exchange.n_processes
        network = self.loss.network
        own = network.logits_here(*queries.tensor_split(n, dim=1)[number])
        n_rows = queries.shape[1] if self.exchange.is_leader else 0
        logits = own.new_empty(n_rows, network.graph.n_entities)
        self.exchange.collect(own, logits.tensor_split(n))
        return logits

    def _add_own(self, batch: Tensor) -> Tensor:
        own = batch.tensor_split(self.exchange.n_processes)[self.exchange.number]
        while True:
            self.parameters.gradients.zero_()
            try:
                return self.loss.add_gradients_of(own, batch)
            except RuntimeError as error:
                if not is_out_of_memory(error) or self.loss.n_parts >= len(own):
                    raise
            torch.cuda.empty_cache()
            self.loss.n_parts *= 2


COMMANDS = (BatchShare.add_gradients, BatchShare.logits)
"""What the leader may ask for."""


def share_for(
    exchange: Exchange, network: PropagationNetwork, paths: Tensor, settings: TrainingSettings
) -> BatchShare:
    """Return what a process does for each batch of queries from the rows of a training."""
    step = propagation_step(network, paths, settings, FlatParameters(network, exchange.device))
    return share_of(exchange, step)


def share_of(exchange: Exchange, step: AutogradStep) -> BatchShare:
    """Return the share of a process that has a whole step."""
    loss = step.loss
    assert isinstance(loss, PropagationLoss)
    if exchange.device.type == "cpu":
        loss.n_parts = fit_parts(loss.network, -(-step.batch_size // exchange.n_processes))
    return BatchShare(exchange, loss, step.parameters)


@final
class SplitLoss:
    """What a batch costs, as the leader finds out together with all others."""

    def __init__(self, share: BatchShare) -> None:
        self._share = share
        self._crew = Crew(share.exchange, share)
        self.n_parts = 1
        """Of what the leader gives out; each process may cut its share (`BatchShare`)."""

    def add_gradients(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        del generator
        return self._crew.do(BatchShare.add_gradients, self._share.parameters.values, batch)

    def count_multiply_adds(self, batch_size: int) -> int:
        n = self._share.exchange.n_processes
        return self._share.loss.count_multiply_adds(-(-batch_size // n))

    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities)."""
        queries = torch.stack([subject_ids, relation_ids])
        return self._crew.do(BatchShare.logits, self._share.parameters.values, queries)


def begin_split(
    network: Network,
    paths: Tensor,
    settings: TrainingSettings,
    *,
    exchange: Exchange,
) -> OneDevice:
    """Return the state of a training whose batches are split."""
    return OneDevice(network, paths, settings, ready=partial(_ready, exchange))


def _ready(
    exchange: Exchange,
    network: Network,
    paths: Tensor,
    settings: TrainingSettings,
    parameters: FlatParameters,
) -> tuple[AutogradStep, Callable[[], None]]:
    assert isinstance(network, PropagationNetwork)
    step = propagation_step(network, paths, settings, parameters)
    step.loss = network.helpers = SplitLoss(share_of(exchange, step))
    return step, step.compute
