"""One layer of a propagation, and what reads the last; the equation is in `propagation_network`."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.architecture.architecture import Combinator, Source
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
from interstellar.model.propagation_graph import Edges

N_SCALES = 3
MAX_FUSED_DIM = 32
"""Up to here a program of the fused kernel has room for its matrices."""

MIN_SCALE = 1e-2
"""A smaller scale of PNA counts as this one where it divides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationSize:
    """How many relation vectors there are, and how long."""

    n_relations: int
    """Without inverses; the inverse of r is r + n_relations."""
    dim: int


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

    @property
    def has_query_relations(self) -> bool:
        """Whether each query has relation vectors of its own."""
        return self.relations.kind is RelationVectors.QUERY

    def step(self, h: Tensor, messages: Messages, edges: Edges, boundary: Boundary) -> Tensor:
        """Return the states after this layer, (n_entities, batch, dim)."""
        statistics = aggregate(messages, edges, boundary, self.aggregation)
        if self.gate is None:
            return self.transform.update(h, statistics, edges)
        x = self.transform.apply_to(h, statistics, edges)
        return self.gate.weigh(h.to(x.dtype), x).to(h.dtype)

    def messages(
        self, h: Tensor, edges: Edges, s: Tensor, r: Tensor, weights: Tensor | None = None
    ) -> Messages:
        """Return what is sent along the edges; what all nodes would send alike is in b."""
        cell, macro = self.cell, self.cell.architecture.macro
        if macro.relation_source is Source.HIDDEN and cell.linear(3) is None:
            a: Tensor | None = h
        else:
            a = cell.link(3, self.choose(macro.relation_source, s, h.to(s.dtype)))
        b = cell.link(4, r)
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

    k is the node's scale. The long vector [h; m; k m; m / k] is never computed.
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
        W_h, W_m = self.weight[:, :dim], self.weight[:, dim:]
        h, m = h.to(W_h.dtype), statistics.to(W_h.dtype).flatten(2)
        y = functional.linear(h, W_h, self.bias)
        y = y + multiply_scaled(W_m, m, edges.scales.to(h.dtype))
        # given to `layer_norm`, the gradients of these would depend on the number of threads
        x = torch.addcmul(self.shift, functional.layer_norm(y, (dim,)), self.scale)
        return functional.relu(x)


def multiply_scaled(W_m: Tensor, m: Tensor, k: Tensor) -> Tensor:
    """Return W_m m, or W_m [m; k m; m / k] where it is thrice as wide, (n_entities, batch, dim).

    With many queries the scales go to the matrices, one of each node; with few to what is summed.
    """
    dim, width = len(W_m), m.shape[2]
    if W_m.shape[1] == width:
        return functional.linear(m, W_m)
    factors = torch.stack([torch.ones_like(k), k, 1 / k.clamp(min=MIN_SCALE)], dim=1)
    if m.shape[1] >= dim and not has_kernels(m.device):
        W_of_node = factors @ W_m.T.reshape(N_SCALES, width * dim)
        return torch.bmm(m, W_of_node.view(-1, width, dim))
    parts = functional.linear(m, W_m.view(dim, N_SCALES, width).transpose(0, 1).flatten(0, 1))
    parts = parts.view(*m.shape[:2], N_SCALES, dim)
    return (parts * factors.view(-1, 1, N_SCALES, 1)).sum(dim=2)


@final
class Reader(nn.Module):
    """logit = w · relu(A O_v + C s + c) + c_0."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.inner = nn.Linear(2 * dim, 2 * dim)
        self.outer = nn.Linear(2 * dim, 1)

    def read(self, O_v: Tensor, s: Tensor) -> Tensor:
        """Return the logits, (n_entities, batch); s is (batch, dim), or each node has its own."""
        A, C = torch.split(self.inner.weight, s.shape[-1], dim=1)
        of_query = functional.linear(s, C, self.inner.bias)
        if has_kernels(s.device) and s.dim() == 2 and s.shape[-1] <= MAX_FUSED_DIM:
            from interstellar.model.reader_kernel import read_fused  # noqa: PLC0415 (triton)

            return read_fused(O_v, of_query, A, self.outer.weight[0], self.outer.bias)
        inner = functional.linear(O_v, A).add_(of_query).relu_()
        logits: Tensor = self.outer(inner).squeeze(-1)
        return logits
