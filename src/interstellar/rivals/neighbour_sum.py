"""Weighted sums over the neighbours of all nodes: what every graph convolution is made of.

    z_o = Σ over edges e = (s, o) of w_e · x_s

On a card PyTorch Geometric gathers and scatters (`SimpleConv`). On the CPU that takes far longer
than a product of sparse matrices, so there the weights become the values of such a matrix.
"""

import warnings
from functools import cache
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from interstellar.errors import SettingsError

Ids: TypeAlias = npt.NDArray[np.integer]


@final
class NeighbourSum(nn.Module):
    """The edges of a graph, which move with the weights of a network and are not saved."""

    ends: Tensor
    target_order: Tensor
    target_starts: Tensor
    target_columns: Tensor
    source_order: Tensor
    source_starts: Tensor
    source_columns: Tensor

    def __init__(self, sources: Ids, targets: Ids, *, n_sources: int, n_targets: int) -> None:
        """Take the ends of edges; weights are given in the order of these."""
        super().__init__()
        self.shape = n_targets, n_sources
        ends = torch.from_numpy(np.stack([sources, targets]).astype(np.int64))
        self._keep("ends", ends)
        self._keep_by("target", ends[1], ends[0], n_targets)
        self._keep_by("source", ends[0], ends[1], n_sources)
        with warnings.catch_warnings():  # torch says once in a process that such matrices are new
            warnings.simplefilter("ignore", UserWarning)
            self.by_target(torch.zeros(len(sources)))

    def _keep_by(self, end: str, rows: Tensor, columns: Tensor, n_rows: int) -> None:
        order = rows.argsort(stable=True)
        counts = torch.bincount(rows, minlength=n_rows)
        self._keep(f"{end}_order", order)
        self._keep(f"{end}_starts", torch.cat([counts.new_zeros(1), counts.cumsum(0)]))
        self._keep(f"{end}_columns", columns[order])

    def _keep(self, name: str, tensor: Tensor) -> None:
        self.register_buffer(name, tensor, persistent=False)

    def add_up(self, x: Tensor, weights: Tensor) -> Tensor:
        """Return z, (n_targets, dim), of x, (n_sources, dim), with weights w, (n_edges,)."""
        if x.device.type == "cpu":
            product: Tensor = _SparseProduct.apply(self, x, weights)  # type: ignore[no-untyped-call]
            return product
        scattered: Tensor = simple_conv()((x, None), self.ends, weights, size=self.shape[::-1])
        return scattered

    def by_target(self, weights: Tensor) -> Tensor:
        """Return the sparse matrix of the weights, (n_targets, n_sources)."""
        return csr(self.target_starts, self.target_columns, weights[self.target_order], self.shape)

    def by_source(self, weights: Tensor) -> Tensor:
        """Return its transpose."""
        values, shape = weights[self.source_order], self.shape[::-1]
        return csr(self.source_starts, self.source_columns, values, shape)


@final
class _SparseProduct(torch.autograd.Function):
    """The same on the CPU, with gradients to the vectors and, where they are learnt, weights."""

    @staticmethod
    def forward(ctx: Any, edges: NeighbourSum, x: Tensor, weights: Tensor) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(x, weights)
        return edges.by_target(weights) @ x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        [gradient] = gradients
        edges: NeighbourSum = ctx.edges
        x, weights = ctx.saved_tensors
        _, needs_x, needs_weights = ctx.needs_input_grad
        to_x = edges.by_source(weights) @ gradient if needs_x else None
        if not needs_weights:
            return None, to_x, None
        sampled = torch.sparse.sampled_addmm(
            edges.by_target(torch.zeros_like(weights)), gradient, x.T, beta=0.0
        )
        to_weights = torch.empty_like(weights)
        to_weights[edges.target_order] = sampled.values()
        return None, to_x, to_weights


def csr(starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a sparse matrix by rows; nothing is checked."""
    return torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=False)


@cache
def simple_conv() -> nn.Module:
    """Return PyTorch Geometric's plain sum over neighbours, which a card needs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its own, of torch.jit
            from torch_geometric.nn import SimpleConv  # noqa: PLC0415 (two seconds)
    except ModuleNotFoundError:
        raise SettingsError(
            "graph convolutions on a GPU need PyTorch Geometric, which is not installed. Install "
            'it by `pip install "interstellar-kg[rivals]"`, or choose another model.'
        ) from None
    conv: nn.Module = SimpleConv(aggr="sum")
    return conv


def count_at(nodes: Ids, n_nodes: int) -> Tensor:
    """Return how many edges have an end at each node, at least 1 so that one can divide by it."""
    return torch.from_numpy(np.bincount(nodes, minlength=n_nodes)).clamp(min=1).float()
