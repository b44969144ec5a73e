import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.errors import SettingsError
from interstellar.rivals.neighbour_sum import NeighbourSum, count_at, simple_conv
from tests.rivals.small_networks import vectors

SOURCES, TARGETS = np.array([2, 0, 1, 1, 2]), np.array([1, 1, 3, 0, 1])
"""Of three sources and four targets; target 2 has no edge, and one edge stands there twice."""


def small_sum() -> NeighbourSum:
    return NeighbourSum(SOURCES, TARGETS, n_sources=3, n_targets=4)


def literal_sum(x: Tensor, weights: Tensor) -> Tensor:
    z = torch.zeros(4, x.shape[1], dtype=x.dtype)
    for source, target, weight in zip(SOURCES, TARGETS, weights, strict=True):
        z[target] = z[target] + weight * x[source]
    return z


def test_each_target_has_the_weighted_sum_of_its_sources() -> None:
    x, weights = vectors(3, 2), vectors(5)

    z = small_sum().add_up(x, weights)

    torch.testing.assert_close(z, literal_sum(x, weights))


def test_gradients_to_vectors_and_weights_are_those_of_the_formula() -> None:
    x = vectors(3, 2).double().requires_grad_()
    weights = vectors(5).double().requires_grad_()

    assert torch.autograd.gradcheck(small_sum().add_up, (x, weights))


def test_products_on_the_cpu_and_pytorch_geometric_agree() -> None:
    x, weights, edges = vectors(3, 2), vectors(5), small_sum()

    by_conv = simple_conv()((x, None), edges.ends, weights, size=(3, 4))

    torch.testing.assert_close(edges.add_up(x, weights), by_conv)


def test_edges_are_not_saved_with_the_weights() -> None:
    assert not small_sum().state_dict()


def test_a_missing_pytorch_geometric_is_reported_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "torch_geometric":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    simple_conv.cache_clear()
    x, weights = torch.zeros(3, 2, device="meta"), torch.zeros(5, device="meta")

    with pytest.raises(SettingsError, match=r'pip install "interstellar-kg\[rivals\]"'):
        small_sum().to("meta").add_up(x, weights)
    assert small_sum().add_up(vectors(3, 2), vectors(5)).shape == (4, 2)  # the CPU needs none


def test_a_node_without_edges_counts_as_one() -> None:
    assert count_at(TARGETS, 4).tolist() == [1, 3, 1, 1]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_sum_on_a_card_is_that_on_the_cpu() -> None:
    x, weights = vectors(3, 2), vectors(5)

    z = small_sum().to("cuda").add_up(x.cuda(), weights.cuda())

    torch.testing.assert_close(z.cpu(), small_sum().add_up(x, weights))
