"""Entity alignment: which entity of the second graph means the same as one of the first.

The alignment is read from the subject table by cosine; the architecture takes part in training
only. Candidates are the partners that any reference pair names.
"""

from typing import final

import numpy as np
from torch import Tensor

from interstellar.data.graph import GraphPair
from interstellar.evaluation.alignment import Candidates, rank_partners
from interstellar.evaluation.metrics import Metrics
from interstellar.evaluation.similarity import Decoding
from interstellar.model.path_network import NetworkForm, PathNetwork
from interstellar.tasks.splits import Split

FORM = NetworkForm(has_batch_norm=True, is_two_way=False, max_norm=None)


@final
class EntityAlignment:
    """Two graphs, whose held-out pairs are to be found."""

    def __init__(self, graph: GraphPair) -> None:
        self.graph = graph
        self.form = FORM

    def measure(self, network: PathNetwork, split: Split) -> Metrics:
        return self.measure_decoded(network.subjects, split, Candidates.REFERENCE, Decoding.COSINE)

    def measure_decoded(
        self, subjects: Tensor, split: Split, candidates: Candidates, decoding: Decoding
    ) -> Metrics:
        """Return the metrics of a subject table with any candidates and decoding."""
        n_first = len(self.graph.first.entities)
        first, second = subjects.detach()[:n_first], subjects.detach()[n_first:]
        pairs = {Split.VALID: self.graph.valid, Split.TEST: self.graph.test}[split]
        ranks = rank_partners(
            first,
            second,
            pairs,
            reference=np.concatenate([self.graph.valid, self.graph.test]),
            candidates=candidates,
            decoding=decoding,
        )
        return Metrics.of(ranks)
