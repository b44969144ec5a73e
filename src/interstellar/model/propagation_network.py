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
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.architecture.architecture import Combinator, Source
from interstellar.architecture.formula import to_formula
from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    Propagation,
    RelationVectors,
    Update,
)
from interstellar.model.aggregation import aggregate, has_kernels, n_statistics
from interstellar.model.combinators import Gate
from interstellar.model.edge_attention import EdgeAttention
from interstellar.model.messages import Boundary, Messages
from interstellar.model.path_cell import CellWeights, PathCell, choose
from interstellar.model.propagation_graph import Edges, PropagationGraph

N_SCALES = 3
MAX_FUSED_DIM = 32
"""Up to here a program of the fused kernel has room for its matrices."""

STATE_NUMBERS, CARD_STATE_NUMBERS = 2**22, 2**27
"""Of the states of all nodes for the queries that are answered at once; there are some of them."""
MIN_SCALE = 1e-2
"""A smaller scale of PNA counts as this one where it divides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationSize:
    """How many relation vectors there are, and how long."""

    n_relations: int
    """Without inverses; the inverse of r is r + n_relations."""
    dim: int


@final
class PropagationNetwork(nn.Module):
    """Everything that is trained: query vectors, layers, what reads the last state."""

    def __init__(
        self, propagation: Propagation, size: PropagationSize, graph: PropagationGraph
    ) -> None:
        super().__init__()
        self.propagation = propagation
        self.size = size
        self.graph = graph
        """On which it is asked; it moves with the weights."""
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
    def formula(self) -> str:
        """The cell, as people read it."""
        return to_formula(self.propagation.cell)

    def on(self, graph: PropagationGraph) -> "PropagationNetwork":
        """Return the same weights for another graph with the same relations."""
        network = PropagationNetwork(self.propagation, self.size, graph)
        network.load_state_dict(self.state_dict())
        return network.to(self.device)

    def _apply(self, fn: Any, recurse: bool = True) -> "PropagationNetwork":
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.graph = self.graph.to(self.device)
        return self

    @torch.no_grad()
    def logits(self, subject_ids: Tensor, relation_ids: Tensor) -> Tensor:
        """Return the logits of all entities, (n, n_entities), as objects; a few queries at once."""
        most = STATE_NUMBERS if self.device.type == "cpu" else CARD_STATE_NUMBERS
        n = max(1, most // (self.graph.n_entities * self.size.dim))
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
        where it is None, in the type of the parameters.
        """
        s = self.queries[relations]
        is_half = state_dtype is not None and has_kernels(s.device)
        boundary = Boundary(subjects, s.to(state_dtype) if is_half else s)
        h = boundary.spread(edges.graph.n_entities)
        h_prev, last = h, None
        for t, layer in enumerate(self.layers):
            assert isinstance(layer, PropagationLayer)
            h_prev, last = h, layer
            messages = layer.messages(h, edges, s, None if weights is None else weights[t])
            h = layer.step(h, messages, edges, boundary)
        assert last is not None
        return self.reader.read(last.output(s, h_prev.to(s.dtype), h.to(s.dtype)), s).T


@final
class PropagationLayer(nn.Module):
    """One layer: h_t from h_{t-1}."""

    def __init__(self, propagation: Propagation, size: PropagationSize, *, is_last: bool) -> None:
        super().__init__()
        self.aggregation = propagation.aggregation
        self.cell = build_cell(propagation, size.dim, is_last=is_last)
        self.relations = RelationTable(propagation.relations, size)
        self.attention = None
        if propagation.attention is Attention.QUERY:
            self.attention = EdgeAttention(size.dim)
        n_scales = N_SCALES if self.aggregation is Aggregation.PNA else 1
        self.transform = Transform(size.dim, n_statistics(self.aggregation) * n_scales)
        self.gate = Gate(size.dim) if propagation.update is Update.GATE else None

    def step(self, h: Tensor, messages: Messages, edges: Edges, boundary: Boundary) -> Tensor:
        """Return the states after this layer, (n_entities, batch, dim)."""
        statistics = aggregate(messages, edges, boundary, self.aggregation)
        if self.gate is None:
            return self.transform.update(h, statistics, edges)
        x = self.transform.apply_to(h, statistics, edges)
        return self.gate.weigh(h.to(x.dtype), x).to(h.dtype)

    def messages(self, h: Tensor, edges: Edges, s: Tensor, weights: Tensor | None) -> Messages:
        """Return what is sent along the edges; what all nodes would send alike is in b."""
        cell, macro = self.cell, self.cell.architecture.macro
        if macro.relation_source is Source.HIDDEN and cell.linear(3) is None:
            a: Tensor | None = h
        else:
            a = cell.link(3, self.choose(macro.relation_source, s, h.to(s.dtype)))
        b = cell.link(4, self.relations.vectors_for(s))
        attention = weights
        if self.attention is not None:
            alpha = self.attention.weigh(a, b, s, edges)
            attention = alpha if weights is None else alpha * weights
        if a is None or a.dim() < h.dim():
            alike = None if a is None else a.expand(len(b), -1, -1)
            b = cell.relation_operator(alike, b if alike is None else b.expand_as(alike))
            return Messages(b=b, attention=attention)
        gate = cell.gate("r")
        return Messages(
            combinator=macro.relation,
            activation=cell.architecture.micro.relation_activation,
            a=a.to(h.dtype),
            b=b,
            gate_a=None if gate is None else gate.W_a(a.to(s.dtype)).to(h.dtype),
            gate_b=None if gate is None else gate.W_b(b),
            attention=attention,
        )

    def output(self, s: Tensor, h_prev: Tensor, h: Tensor) -> Tensor:
        """Return O_v of every node, (n_entities, batch, dim); of the last layer only."""
        cell = self.cell
        x = cell.link(5, self.choose(cell.architecture.macro.output_source, s, h_prev))
        return cell.output_operator(None if x is None else x.expand_as(h), cell.link(6, h))

    def choose(self, source: Source, s: Tensor, h: Tensor) -> Tensor | None:
        """Return what a connection reads; only (batch, dim) where all nodes have the same."""
        O_s = None
        if source is Source.SUBJECT_OUTPUT:
            W_1_s = self.cell.link(1, s).expand_as(h)
            O_s = self.cell.subject_operator(W_1_s, self.cell.link(2, h))
        return choose(source, s, h, O_s)


def build_cell(propagation: Propagation, dim: int, *, is_last: bool) -> PathCell:
    """Return the cell of a layer with just the weights that it uses: only the last has an O_v."""
    macro, trained = propagation.cell.macro, propagation.cell.micro.trained
    sources = [macro.relation_source] + [macro.output_source] * is_last
    links, operators = {3, 4}, {"r": macro.relation}
    if Source.SUBJECT_OUTPUT in sources:
        links, operators = links | {1, 2}, operators | {"s": macro.subject}
    if is_last:
        links, operators = links | {5, 6}, operators | {"v": macro.output}
    gates = frozenset(name for name, c in operators.items() if c is Combinator.GATED)
    return PathCell(propagation.cell, CellWeights(dim, links=trained & links, gates=gates))


@final
class RelationTable(nn.Module):
    """r_t of one layer."""

    def __init__(self, kind: RelationVectors, size: PropagationSize) -> None:
        super().__init__()
        self.kind = kind
        n, dim = 2 * size.n_relations, size.dim
        if kind is RelationVectors.OWN:
            self.vectors = nn.Parameter(torch.empty(n, dim))
        else:
            self.weight = nn.Parameter(torch.empty(n, dim, dim))
            self.bias = nn.Parameter(torch.empty(n, dim))

    def vectors_for(self, s: Tensor) -> Tensor:
        """Return the relation vectors for some queries, (2 · n_relations, batch or 1, dim)."""
        if self.kind is RelationVectors.OWN:
            return self.vectors.unsqueeze(1)
        return torch.matmul(s, self.weight.transpose(1, 2)) + self.bias.unsqueeze(1)


@final
class Transform(nn.Module):
    """x = relu(norm(W [h; statistics] + b)), where PNA's statistics come thrice: 1, k and 1/k.

    k is the node's scale. Of W [h; m; k m; m / k] each part is computed by itself, so that the
    long vector never is.
    """

    def __init__(self, dim: int, n_vectors: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, (1 + n_vectors) * dim))
        self.bias = nn.Parameter(torch.empty(dim))
        self.scale = nn.Parameter(torch.empty(dim))
        self.shift = nn.Parameter(torch.empty(dim))

    def update(self, h: Tensor, statistics: Tensor, edges: Edges) -> Tensor:
        """Return h + x, (n_entities, batch, dim)."""
        if has_kernels(h.device) and h.shape[-1] <= MAX_FUSED_DIM:
            return self.apply_fused(h, statistics, edges)
        return h + self.apply_to(h, statistics, edges).to(h.dtype)

    def apply_fused(self, h: Tensor, statistics: Tensor, edges: Edges) -> Tensor:
        """Return h + x by one kernel."""
        from interstellar.model.transform_kernel import transform_fused  # noqa: PLC0415 (triton)

        scales = edges.scales.to(torch.float32)
        parameters = (self.weight, self.bias, self.scale, self.shift)
        return transform_fused(h, statistics, scales, *parameters)

    def apply_to(self, h: Tensor, statistics: Tensor, edges: Edges) -> Tensor:
        """Return x, (n_entities, batch, dim)."""
        dim = h.shape[-1]
        W_h, *W_m = torch.split(self.weight, self.widths(statistics), dim=1)
        h, m = h.to(W_h.dtype), statistics.to(W_h.dtype).flatten(2)
        y = functional.linear(h, W_h, self.bias)
        k = edges.scales.to(h.dtype).view(-1, 1, 1)
        for W, factor in zip(W_m, (None, k, 1 / k.clamp(min=MIN_SCALE)), strict=False):
            part = functional.linear(m, W)
            y = y + (part if factor is None else factor * part)
        return functional.relu(functional.layer_norm(y, (dim,), self.scale, self.shift))

    def widths(self, statistics: Tensor) -> list[int]:
        """Return the length of h, and that of the statistics as often as they come."""
        dim, width = len(self.bias), statistics.shape[2] * statistics.shape[3]
        return [dim] + [width] * ((self.weight.shape[1] - dim) // width)


@final
class Reader(nn.Module):
    """logit = w · relu(A O_v + C s + c) + c_0."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.inner = nn.Linear(2 * dim, 2 * dim)
        self.outer = nn.Linear(2 * dim, 1)

    def read(self, O_v: Tensor, s: Tensor) -> Tensor:
        """Return the logits, (n_entities, batch)."""
        A, C = torch.split(self.inner.weight, s.shape[-1], dim=1)
        of_query = functional.linear(s, C, self.inner.bias)
        if has_kernels(s.device) and s.shape[-1] <= MAX_FUSED_DIM:
            from interstellar.model.reader_kernel import read_fused  # noqa: PLC0415 (triton)

            return read_fused(O_v, of_query, A, self.outer.weight[0], self.outer.bias)
        inner = functional.linear(O_v, A).add_(of_query).relu_()
        logits: Tensor = self.outer(inner).squeeze(-1)
        return logits
