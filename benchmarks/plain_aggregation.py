"""The aggregation written down plainly: all messages at once, `index_add` and `scatter_reduce`."""

from torch import Tensor

from interstellar.architecture.propagation import Aggregation
from interstellar.model.aggregation import finish
from interstellar.model.messages import Boundary, Messages, combine_parts
from interstellar.model.propagation_graph import Edges


def aggregate_plainly(
    messages: Messages, edges: Edges, boundary: Boundary, aggregation: Aggregation
) -> Tensor:
    """Do what `aggregate` does, with autograd and memory for every message."""
    graph = edges.graph
    h_0 = boundary.spread(graph.n_entities)
    kept = slice(None) if edges.kept is None else edges.kept
    sources, relations, targets = (x[kept] for x in (graph.sources, graph.relations, graph.targets))
    places = (sources, relations, sources, relations, kept)
    parts = [None if x is None else x[at] for x, at in zip(messages.tensors, places, strict=True)]
    m = combine_parts(messages, parts).expand(-1, h_0.shape[1], -1)
    total = h_0.index_add(0, targets, m)
    squares, high, low = h_0, h_0, h_0
    if aggregation in (Aggregation.MAX, Aggregation.PNA):
        index = targets.view(-1, 1, 1).expand_as(m)
        high, low = (h_0.scatter_reduce(0, index, m, reduce) for reduce in ("amax", "amin"))
        squares = h_0.square().index_add(0, targets, m.square())
    n = (edges.degrees + 1).to(h_0.dtype).view(-1, 1, 1)
    return finish(aggregation, n, total, squares, high, low)
