"""Link prediction: which object completes (subject, relation, ?), and which subject (?, r, o).

Filtered ranks in both directions, all entities as candidates, also those unseen in training.
AUC-PR puts the answers of all queries in one order. Along walks that is the order of logits, as in
the paper. Those of a propagation hold a number of each query's own, which a softmax does not see
and so nothing in its training sets: there it is the order of probabilities among the answers.
"""

from typing import final

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.known_answers import KnownAnswers
from interstellar.data.triplets import with_inverses
from interstellar.evaluation.metrics import Metrics, auc_pr_among
from interstellar.evaluation.ranks import rank_objects
from interstellar.evaluation.sampled_ranks import rank_among_drawn
from interstellar.model.path_network import NetworkForm
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.randomness import spawn
from interstellar.rivals.network import Network, for_many
from interstellar.tasks.splits import Split, held_out

FORM = NetworkForm(has_batch_norm=False, is_two_way=True)


@final
class LinkPrediction:
    """One graph, whose held-out triplets are to be found."""

    def __init__(self, graph: KnowledgeGraph, measured: int | None = None) -> None:
        """Prepare a graph, of whose splits at most so many triplets are measured."""
        self.graph = graph
        self.measured = measured
        self.form = FORM
        self.known = KnownAnswers.of(graph)

    def measure(self, network: Network, split: Split) -> Metrics:
        triplets = held_out(self.graph, split, self.measured)
        device, compute_logits = network.device, for_many(network).logits
        ranks = rank_objects(
            compute_logits,
            with_inverses(triplets, len(self.graph.relations)),
            self.known,
            n_entities=len(self.graph.entities),
            device=device,
        )
        auc_pr = None
        if self.graph.answers is not None:
            auc_pr = auc_pr_among(
                compute_logits,
                triplets,
                self.known,
                answers=self.graph.answers,
                device=device,
                within_query=isinstance(network, PropagationNetwork),
            )
        return Metrics.of(ranks, auc_pr=auc_pr)

    def measure_among(
        self, network: Network, split: Split, n_negatives: int, *, seed: int
    ) -> Metrics:
        """Return the metrics of the true answers among so many others drawn at random."""
        ranks = rank_among_drawn(
            for_many(network).logits,
            with_inverses(held_out(self.graph, split, self.measured), len(self.graph.relations)),
            self.known,
            n_negatives=n_negatives,
            rng=spawn(seed, "negatives of an evaluation"),
            device=network.device,
        )
        return Metrics.of(ranks)
