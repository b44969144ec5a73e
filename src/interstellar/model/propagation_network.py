"""The cell as the message of a propagation: all paths from a query's subject at once.

For the query (u, q, ?) let s be the vector of q. A node v has the states h_0[v] = s if v = u, else
0, and for the layers t = 1 … L

    O_s[v] = act_s(c_s(W_1 s, W_2 h_{t-1}[v]))
    O_r(v, r) = act_r(c_r(W_3 x_r[v], W_4 r_t))           x_r ∈ {s, h_{t-1}[v], O_s[v], 0}
    m[v] = aggregate({α O_r(v′, r) : edge (v′, r, v)} ∪ {h_0[v]})
    h_t[v] = h_{t-1}[v] + relu(norm(W [h_{t-1}[v]; m[v]] + b))     or a gate in place of the sum

where r_t is a vector of relation r that each layer has for itself, or W_r s + b_r, and α is 1 or
σ(w · relu(W_h W_3 x_r[v′] + W_e W_4 r_t + W_q s + b)). In the end h_L stands for O_r:

    O_v[v] = c_v(W_5 x_v[v], W_6 h_L[v])                  x_v ∈ {s, h_{L-1}[v], O_s[v], 0}
    logit(v) = w · relu(A O_v[v] + C s + c) + c_0

W_1 … W_6, the gates and W are each layer's own. Every matrix is applied to nodes or to relations,
none to edges. No entity has a vector of its own: the network answers on any graph that has its
relations. With O_r = h ⊙ r this is NBFNet (Zhu et al. 2021), with α (h + r) nearly RED-GNN (Zhang
and Yao 2022).
"""

from collections.abc import Sequence
from typing import Any, Protocol, final

import torch
from torch import Tensor, nn

from interstellar.architecture.formula import to_formula
from interstellar.architecture.propagation import Propagation
from interstellar.model.aggregation import has_kernels
from interstellar.model.messages import Boundary
from interstellar.model.propagation_graph import Edges, PropagationGraph
from interstellar.model.propagation_layer import PropagationLayer, PropagationSize, Reader
from interstellar.model.pruned_propagation import answer_pruned

STATE_NUMBERS, CARD_STATE_NUMBERS = 2**22, 2**27
"""Of the states of all nodes for the queries that are answered at once; there are some of them."""


class Helpers(Protocol):
    """Several processes with the same network."""

    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities), as objects."""


@final
class PropagationNetwork(nn.Module):
    """Everything that is trained: query vectors, layers, what reads the last state."""

    def __init__(
        self,
        propagation: Propagation,
        size: PropagationSize,
        graph: PropagationGraph,
        n_kept: int | None = None,
    ) -> None:
        super().__init__()
        self.propagation = propagation
        self.size = size
        self.graph = graph
        """On which it is asked; it moves with the weights."""
        self.n_kept = n_kept
        """Nodes that a query keeps after each layer (`pruned_propagation.py`); None: all."""
        self.helpers: Helpers | None = None
        """Other processes that answer queries as well."""
        self.queries = nn.Parameter(torch.empty(2 * size.n_relations, size.dim))
        depth = propagation.depth
        self.layers = nn.ModuleList(
            PropagationLayer(propagation, size, is_last=t == depth) for t in range(1, depth + 1)
        )
        self.reader = Reader(size.dim)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw vectors from N(0, 1), matrices and biases within ±1/√(length of their input)."""
        parameters = dict(self.named_parameters())
        for name, parameter in parameters.items():
            owner, _, kind = name.rpartition(".")
            match kind:
                case "queries" | "vectors":
                    parameter.normal_(generator=generator)
                case "scale" | "shift":
                    parameter.fill_(kind == "scale")
                case _:
                    bound = parameters[f"{owner}.weight"].shape[-1] ** -0.5
                    parameter.uniform_(-bound, bound, generator=generator)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.queries.device

    @property
    def steps(self) -> "list[PropagationLayer]":
        """The layers, as what they are."""
        return [layer for layer in self.layers if isinstance(layer, PropagationLayer)]

    @property
    def nodes_a_query(self) -> int:
        """About how many nodes there are for a query: all, or those that some kept ones reach."""
        n, n_edges = self.graph.n_entities, self.graph.n_edges
        return n if self.n_kept is None else min(n, self.n_kept * (1 + n_edges // max(1, n)))

    @property
    def formula(self) -> str:
        """The cell, as people read it."""
        return to_formula(self.propagation.cell)

    def on(self, graph: PropagationGraph) -> "PropagationNetwork":
        """Return the same weights for another graph with the same relations."""
        network = PropagationNetwork(self.propagation, self.size, graph, self.n_kept)
        network.load_state_dict(self.state_dict())
        return network.to(self.device)

    def _apply(self, fn: Any, recurse: bool = True) -> "PropagationNetwork":
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.graph = self.graph.to(self.device)
        return self

    @torch.no_grad()
    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities), as objects."""
        if self.helpers is not None:
            return self.helpers.logits(subject_ids, relation_ids)
        return self.logits_here(subject_ids, relation_ids)

    @torch.no_grad()
    def logits_here(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the same, computed by this process alone, a few queries at once."""
        most = STATE_NUMBERS if self.device.type == "cpu" else CARD_STATE_NUMBERS
        n = max(1, most // (self.nodes_a_query * self.size.dim))
        edges = self.graph.all_edges()
        parts = zip(*(torch.split(ids, n) for ids in (subject_ids, relation_ids)), strict=True)
        return torch.cat([self.logits_over(edges, *part) for part in parts])

    def logits_over(
        self,
        edges: Edges,
        subjects: Tensor,
        relations: Tensor,
        weights: Sequence[Tensor] | None = None,
        *,
        state_dtype: torch.dtype | None = None,
    ) -> Tensor:
        """Return the logit of each entity as the answer of each query, (batch, n_entities).

        Subjects and relations are (batch,). Queries are independent of each other. Weights,
        (n_edges, batch) for each layer, multiply messages: the gradient by them says what an edge
        adds to an answer. States are kept in `state_dtype` where kernels compute, and else, or
        where it is None, in the type of the parameters. Weights and types of states are those of
        whole propagations.
        """
        s = self.queries[relations]
        if self.n_kept is not None and weights is None:
            return answer_pruned(self.steps, self.reader, edges, subjects, s, self.n_kept)
        is_half = state_dtype is not None and has_kernels(s.device)
        boundary = Boundary(subjects, s.to(state_dtype) if is_half else s)
        h = boundary.spread(edges.graph.n_entities)
        h_prev, last = h, None
        for t, layer in enumerate(self.steps):
            h_prev, last = h, layer
            r = layer.relations.vectors_for(s)
            messages = layer.messages(h, edges, s, r, None if weights is None else weights[t])
            h = layer.step(h, messages, edges, boundary)
        assert last is not None
        return self.reader.read(last.output(s, h_prev.to(s.dtype), h.to(s.dtype)), s).T
