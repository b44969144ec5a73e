"""Propagation along the paths that promise most: after each layer a query keeps its best nodes.

The nodes that some query keeps, once for each such query, are the nodes of one graph, in which no
edge leads from one query to another. So layers compute the nodes of all queries at once, as if
they were a single query's. In each layer

- along every edge that leaves a kept node a message is sent; the nodes it reaches are there from
  now on, with the state of a node that nothing has reached before;
- statistics are taken of the messages that are sent; the scale of PNA is that of the whole graph;
- of the nodes that are there, those with the highest logits are kept, and the query's own: the
  logit is read from the state as in the end, and multiplies the state by 1, so that it has a
  gradient (as AdaProp does; Zhang et al. 2023).

An entity that is not there in the end has the logit of a node that nothing has reached. If as many
nodes are kept as there are, all are there from the beginning, and this is the whole propagation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from interstellar.model.messages import Boundary
from interstellar.model.propagation_graph import Edges, PropagationGraph
from interstellar.model.propagation_layer import PropagationLayer, Reader


def answer_pruned(
    layers: Sequence[PropagationLayer],
    reader: Reader,
    edges: Edges,
    subjects: Tensor,
    s: Tensor,
    n_kept: int,
) -> Tensor:
    """Return the logit of each entity as the answer of each query, (batch, n_entities)."""
    n_nodes = edges.graph.n_entities
    places = Places.at_first(subjects, n_nodes, n_kept)
    h = boundary_of(places, subjects, s).spread(len(places.nodes))
    h_prev, of_place = h, s
    for layer in layers:
        nobody = h[places.nodes == n_nodes]
        reached = follow(places, edges, relations_of_queries=layer.has_query_relations)
        places, of_place = reached.places, s[reached.places.queries].unsqueeze(1)
        h_prev = nobody[places.queries].index_copy(0, reached.rows, h)
        r = layer.relations.vectors_for(s)
        if layer.has_query_relations:
            r = r.transpose(0, 1).flatten(0, 1).unsqueeze(1)
        messages = layer.messages(h_prev, reached.edges, of_place, r)
        h = layer.step(h_prev, messages, reached.edges, boundary_of(places, subjects, s))
        if layer is not layers[-1] and n_kept < n_nodes:
            logits = reader.read(h, of_place).squeeze(1)
            p = torch.sigmoid(logits).view(-1, 1, 1)
            kept = keep_best(places, logits.detach(), subjects, n_kept)
            places, h = places.take(kept), (h * (1 + (p - p.detach())))[kept]
    logits = reader.read(layers[-1].output(of_place, h_prev, h), of_place).squeeze(1)
    is_entity = places.nodes < n_nodes
    at = (places.queries[is_entity], places.nodes[is_entity])
    found = logits[~is_entity].unsqueeze(1).expand(-1, n_nodes)
    return found.index_put(at, logits[is_entity])


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Nodes that are there for queries: ascending by query, then by node.

    Every query has one more node than the graph, which no edge reaches.
    """

    queries: Tensor
    nodes: Tensor
    n_nodes: int
    """Of the graph; the number of the one more."""

    @classmethod
    def of_keys(cls, keys: Tensor, n_nodes: int) -> "Places":
        """Return the places that `keys` number."""
        return cls(keys // (n_nodes + 1), keys % (n_nodes + 1), n_nodes)

    @classmethod
    def at_first(cls, subjects: Tensor, n_nodes: int, n_kept: int) -> "Places":
        """Return the subject of each query and the one more node, or all nodes."""
        queries = torch.arange(len(subjects), device=subjects.device).unsqueeze(1)
        if n_kept >= n_nodes:
            nodes = torch.arange(n_nodes + 1, device=subjects.device).expand(len(subjects), -1)
        else:
            nodes = torch.stack([subjects, torch.full_like(subjects, n_nodes)], dim=1)
        return cls.of_keys((queries * (n_nodes + 1) + nodes).flatten(), n_nodes)

    @property
    def keys(self) -> Tensor:
        """A number for each place, ascending."""
        return self.queries * (self.n_nodes + 1) + self.nodes

    def find(self, queries: Tensor, nodes: Tensor) -> Tensor:
        """Return where nodes of queries are; all must be there."""
        return torch.searchsorted(self.keys, queries * (self.n_nodes + 1) + nodes)

    def take(self, rows: Tensor) -> "Places":
        """Return some of the places."""
        return Places(self.queries[rows], self.nodes[rows], self.n_nodes)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Where a layer begins and ends: the places after it, and the edges that lead there."""

    places: Places
    edges: Edges
    """Between places."""
    rows: Tensor
    """Where the places before it are among those after it."""


def follow(before: Places, edges: Edges, *, relations_of_queries: bool) -> Layer:
    """Return the places that are reached from others, these included.

    With `relations_of_queries` relation r of query i is relation i · 2 n_relations + r.
    """
    graph, n_queries = edges.graph, int((before.nodes == before.n_nodes).sum())
    starts, leaving = graph.leaving
    is_real = before.nodes < before.n_nodes
    nodes = torch.where(is_real, before.nodes, 0)
    counts = torch.where(is_real, starts[nodes + 1] - starts[nodes], 0)
    row = torch.repeat_interleave(counts)
    offsets = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    edge = leaving[starts[nodes][row] + offsets]
    if edges.kept is not None:
        is_kept = edges.kept[edge]
        row, edge = row[is_kept], edge[is_kept]
    queries, relations = before.queries[row], graph.relations[edge]
    reached = Places(queries, graph.targets[edge], before.n_nodes)
    after = Places.of_keys(torch.unique(torch.cat([before.keys, reached.keys])), before.n_nodes)
    if relations_of_queries:
        relations = queries * (2 * graph.n_relations) + relations
    rows = torch.searchsorted(after.keys, before.keys)
    union = PropagationGraph.of_edges(
        (rows[row], relations, torch.searchsorted(after.keys, reached.keys)),
        n_entities=len(after.nodes),
        n_relations=graph.n_relations * (n_queries if relations_of_queries else 1),
    )
    no_edges = edges.scales.new_zeros(1)  # the logarithm of its degree and itself
    scales = torch.cat([edges.scales, no_edges])[after.nodes]
    return Layer(after, Edges(union, None, scales), rows)


def keep_best(places: Places, logits: Tensor, subjects: Tensor, n_kept: int) -> Tensor:
    """Return the rows of the nodes with the highest logits of each query, ascending.

    Besides those n its subject, and the node that nothing reaches, are kept.
    """
    is_own = (places.nodes == subjects[places.queries]) | (places.nodes == places.n_nodes)
    by_logit = torch.argsort(logits.masked_fill(is_own, -torch.inf), descending=True, stable=True)
    order = by_logit[torch.argsort(places.queries[by_logit], stable=True)]
    queries = places.queries[order]
    begins = torch.searchsorted(queries, queries)
    numbers = torch.arange(len(order), device=order.device) - begins
    is_kept = torch.zeros_like(is_own).index_put((order,), numbers < n_kept) | is_own
    return is_kept.nonzero().flatten()


def boundary_of(places: Places, subjects: Tensor, s: Tensor) -> Boundary:
    """Return the vectors of the queries at their subjects."""
    queries = torch.arange(len(subjects), device=subjects.device)
    return Boundary(places.find(queries, subjects), s, is_one_query=True)
