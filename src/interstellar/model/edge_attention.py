"""Attention in a propagation: one weight for each edge and query."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from interstellar.model.aggregation import has_kernels
from interstellar.model.propagation_graph import Edges, PropagationGraph

ATTENTION_DIM = 8


@final
class EdgeAttention(nn.Module):
    """α = σ(w · relu(W_h a + W_e b + W_q s + bias) + bias_w), one number an edge and query."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.W_h = nn.Linear(dim, ATTENTION_DIM, bias=False)
        self.W_e = nn.Linear(dim, ATTENTION_DIM, bias=False)
        self.W_q = nn.Linear(dim, ATTENTION_DIM)
        self.w = nn.Linear(ATTENTION_DIM, 1)

    def weigh(self, a: Tensor | None, b: Tensor, s: Tensor, edges: Edges) -> Tensor:
        """Return α, (n_edges, batch); a is (n_entities, batch, dim), or the same for all nodes."""
        at_node: Tensor = self.W_q(s) if a is None else self.W_q(s) + self.W_h(a.to(s.dtype))
        at_node = at_node.expand(edges.graph.n_entities, -1, -1)
        at_relation, w, bias = self.W_e(b), self.w.weight[0], self.w.bias
        if has_kernels(s.device):
            from interstellar.model.attention_kernel import attend_fused  # noqa: PLC0415 (triton)

            return attend_fused(at_node, at_relation, w, bias, edges.graph)
        return attend(at_node, at_relation, w, bias, edges.graph)


def attend(
    at_node: Tensor, at_relation: Tensor, w: Tensor, bias: Tensor, graph: PropagationGraph
) -> Tensor:
    """Return σ(w · relu(at_node[source] + at_relation[relation]) + bias), (n_edges, batch)."""
    inner = functional.relu(at_node[graph.sources] + at_relation[graph.relations])
    return torch.sigmoid(inner @ w + bias)
