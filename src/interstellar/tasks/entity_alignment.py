"""Entity alignment: which entity of the second graph means the same as one of the first.

The alignment is read from the subject table, by cosine unless said otherwise; the architecture
takes part in training only. Candidates are the partners that any reference pair names.
"""

from collections.abc import Callable
from functools import partial
from typing import final

import numpy as np
from torch import Tensor

from interstellar.data.graph import GraphPair
from interstellar.evaluation.alignment import Candidates, find_partners, rank_partners
from interstellar.evaluation.metrics import AssignmentMetrics, Metrics
from interstellar.evaluation.similarity import Decoding
from interstellar.model.path_network import NetworkForm
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.randomness import spawn
from interstellar.rivals.network import Network
from interstellar.tasks.splits import Split, held_out

FORM = NetworkForm(has_batch_norm=True, is_two_way=False)


@final
class EntityAlignment:
    """Two graphs, whose held-out pairs are to be found."""

    def __init__(self, graph: GraphPair, measured: int | None = None) -> None:
        """Prepare two graphs, of whose splits at most so many pairs are measured."""
        self.graph = graph
        self.measured = measured
        self.form = FORM

    def measure(self, network: Network, split: Split) -> Metrics:
        assert not isinstance(network, PropagationNetwork), "which has no embeddings"
        return self.measure_decoded(network.subjects, split, Candidates.REFERENCE, Decoding.COSINE)

    def measure_decoded(
        self, subjects: Tensor, split: Split, candidates: Candidates, decoding: Decoding
    ) -> Metrics:
        """Return the metrics of a subject table with any candidates and a decoding with ranks."""
        return Metrics.of(self._ask(rank_partners, subjects, split, candidates, decoding))

    def measure_matched(
        self, subjects: Tensor, split: Split, candidates: Candidates, decoding: Decoding
    ) -> AssignmentMetrics:
        """Return the metrics of a subject table with a one-to-one decoding."""
        find = partial(find_partners, rng=spawn(0, "ties between partners"))
        return AssignmentMetrics.of(self._ask(find, subjects, split, candidates, decoding))

    def tables(self, subjects: Tensor) -> tuple[Tensor, Tensor]:
        """Return the embeddings of the first graph's entities and those of the second's."""
        n_first = len(self.graph.source.entities)
        return subjects.detach()[:n_first], subjects.detach()[n_first:]

    def _ask(
        self,
        find: Callable[..., Tensor],
        subjects: Tensor,
        split: Split,
        candidates: Candidates,
        decoding: Decoding,
    ) -> Tensor:
        """Return what a function of `evaluation.alignment` finds for the pairs of a split."""
        return find(
            *self.tables(subjects),
            held_out(self.graph, split, self.measured),
            reference=np.concatenate([self.graph.valid, self.graph.test]),
            candidates=candidates,
            decoding=decoding,
        )
