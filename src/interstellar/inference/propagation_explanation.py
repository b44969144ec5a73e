"""Why a propagation answers: the paths to the answer along which its logit was made.

Let every message be multiplied by a weight w_e of its edge, in all layers the same. While all edges
fade in together, from w = 0 to the graph as it is at w = 1, the answer's logit grows by what each
edge adds to it (integrated gradients, Sundararajan et al. 2017):

    g_e = ∫₀¹ ∂ logit(a | s, r; w_1 = w_2 = … = α) / ∂ w_e dα        Σ_e g_e = logit(1) − logit(0)

A path from s to a speaks for a by the mean of what its edges add, against it where that is below 0:

    support = (g_{e_1} + … + g_{e_k}) / k

The mean is NBFNet's (Zhu et al. 2021): a sum, as of a linear model of the logit, over the length,
so that long paths do not win by being long; a product would lose the sign. Two things differ.
NBFNet takes the gradient at w = 1, where a strong message may be past what it can add: with PNA the
path of a rule that was learnt then often speaks against its own conclusion. And NBFNet counts the
i-th edge of a path in layer i alone; but states are kept from layer to layer and the boundary comes
anew in each, so that a path of k edges is walked in any k of the L layers.

What it does not say: that the network would answer otherwise without the path, since others may
lead to the same, or that the path is a reason in the world.

The best paths of each length are found by a beam search that knows the best sum with which each
node can still reach the answer. So it loses none of the best walks; of paths, which visit no entity
twice, it can lose one to a crowd of walks that do.
"""

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt
import torch

from interstellar.architecture.architecture import Source
from interstellar.architecture.propagation import LeftOut, canonical_propagation
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import Triplets
from interstellar.evaluation.chunks import exact_products
from interstellar.inference.explanation import Explanation, SupportingPath, order_paths
from interstellar.model.propagation_network import PropagationNetwork

MEANING = "what a step of the path adds to the answer's logit, on average"
N_POINTS = 4
"""At which the integral is taken, in the middle of equal parts."""
WIDTH = 1024
"""Paths of each length that are followed at once, and edges of a node that are looked at."""

Ids: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@final
class PropagationExplainer:
    """A propagation and the graph it is asked about, ready to say why."""

    def __init__(self, network: PropagationNetwork, graph: KnowledgeGraph) -> None:
        self._network = network
        self._graph = graph
        edges = network.graph
        columns = torch.stack([edges.sources, edges.relations, edges.targets], dim=1)
        self._edges: Ids = columns.cpu().numpy()

    @property
    def reads_path(self) -> bool:
        """Whether messages tell what reached the node that sends them."""
        cell = canonical_propagation(self._network.propagation).cell
        return cell.macro.relation_source not in (Source.SUBJECT, Source.ZERO)

    def explain(self, entity: int, relation: int, answer: int) -> Explanation:
        """Return the paths from a query's entity to an answer; the triplet asked for is no path."""
        shares, is_there = self.weigh_edges(entity, relation, answer)
        sources, _, targets = self._edges.T
        is_open = is_there & (sources != answer) & (targets != entity) & (sources != targets)
        search = _Search.of(self._edges[is_open], shares[is_open], self._network, answer)
        paths: list[Triplets] = []
        supports: list[float] = []
        is_complete = True
        for length in range(1, len(search.steps) + 1):
            found, sums, is_whole = search.find(entity, length)
            is_complete &= is_whole
            paths += list(search.edges[found].astype(np.int32))
            supports += (sums / length).tolist()
        largest = max(map(abs, supports), default=0.0) or 1.0
        order = order_paths(paths, [support / largest for support in supports])
        return Explanation(
            paths=tuple(SupportingPath(paths[i], supports[i], self._graph) for i in order),
            is_complete=is_complete,
            reads_path=self.reads_path,
            meaning=MEANING,
        )

    def weigh_edges(
        self, entity: int, relation: int, answer: int
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return what each edge adds to an answer's logit, g_e, and which edges are there.

        The triplet asked for is not, if it is known. One propagation is in memory at a time.
        """
        network = self._network
        asked = torch.tensor([[entity, relation, answer]], device=network.device)
        edges = network.graph.edges_without(asked, LeftOut.TRIPLETS)
        assert edges.kept is not None
        total = np.zeros(network.graph.n_edges)
        for i in range(N_POINTS):
            weights = network.queries.new_full((len(total), 1), (i + 0.5) / N_POINTS)
            weights.requires_grad_()
            in_all_layers = [weights] * len(network.layers)
            with torch.enable_grad(), exact_products(network.device):
                logits = network.logits_over(edges, asked[:, 0], asked[:, 1], in_all_layers)
                [gradients] = torch.autograd.grad(logits[0, answer], [weights])
            total += gradients.squeeze(1).double().cpu().numpy() / N_POINTS
        return total, edges.kept.cpu().numpy()


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Edges (source, relation, target) with what each adds, on the way to one answer."""

    edges: Ids
    shares: Floats
    steps: "list[_Steps]"
    """Of a path that takes i more steps afterwards, the next step."""

    @classmethod
    def of(cls, edges: Ids, shares: Floats, network: PropagationNetwork, answer: int) -> "_Search":
        """Find the best way on from each node, for every number of steps up to the depth."""
        best = np.full(network.graph.n_entities, -np.inf)
        best[answer] = 0.0
        steps = []
        for _ in network.layers:
            sums = shares + best[edges[:, 2]]
            useful = np.flatnonzero(sums > -np.inf)
            useful = useful[np.lexsort((-sums[useful], edges[useful, 0]))]
            steps.append(_Steps(useful, edges[useful, 0], sums[useful]))
            best = np.full_like(best, -np.inf)
            np.maximum.at(best, edges[useful, 0], sums[useful])
        return cls(edges, shares, steps)

    def find(self, entity: int, length: int) -> tuple[Ids, Floats, bool]:
        """Return the best paths as rows of edges, their sums, and whether none was left out."""
        paths, sums = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
        is_complete = True
        for steps in reversed(self.steps[:length]):
            ends = self.edges[paths[:, -1], 2] if paths.shape[1] else np.array([entity])
            old, places, is_whole = steps.follow(ends)
            new = steps.edges[places]
            targets = self.edges[new, 2]
            is_new = (targets[:, None] != self.edges[paths[old], 0]).all(axis=1)
            old, new, places = old[is_new], new[is_new], places[is_new]
            best = np.argsort(-(sums[old] + steps.sums[places]), kind="stable")[:WIDTH]
            is_complete &= is_whole and len(old) <= WIDTH
            old, new = old[best], new[best]
            paths, sums = np.column_stack([paths[old], new]), sums[old] + self.shares[new]
        return paths, sums, is_complete


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """The edges along which the answer can still be reached, by source, the best first."""

    edges: Ids
    sources: Ids
    sums: Floats
    """Of what the edge adds and what the best way on does."""

    def follow(self, ends: Ids) -> tuple[Ids, Ids, bool]:
        """Return each step from each end: the end's place, the step's, and whether these are all.

        Of a node only the best `WIDTH` steps are taken.
        """
        firsts = np.searchsorted(self.sources, ends)
        n_steps = np.searchsorted(self.sources, ends, side="right") - firsts
        counts = np.minimum(n_steps, WIDTH)
        old = np.repeat(np.arange(len(ends)), counts)
        nth = np.arange(len(old)) - (np.cumsum(counts) - counts)[old]
        return old, firsts[old] + nth, bool((n_steps <= WIDTH).all())
