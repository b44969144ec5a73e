"""A matrix used once a step: values and gradients as if it were used plainly."""

import gc
import weakref

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from interstellar.model.recurrent_link import RecurrentLink

DIM = 4


def build_linear(*, bias: bool) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(DIM, DIM, bias=bias).double()


def go(linear: nn.Linear, link: RecurrentLink | nn.Linear, x: Tensor, n_steps: int) -> list[Tensor]:
    """Apply the matrix step after step; return the end and all gradients."""
    apply = link.apply if isinstance(link, RecurrentLink) else link
    x = x.clone().requires_grad_()
    h = x
    for _ in range(n_steps):
        h = torch.tanh(apply(h))
    return [h, *torch.autograd.grad(h.square().sum(), [x, *linear.parameters()])]


@given(n_steps=st.integers(1, 5), bias=st.booleans(), seed=st.integers(0, 1000))
def test_a_recurrent_link_has_the_values_and_gradients_of_its_matrix(
    n_steps: int, bias: bool, seed: int
) -> None:
    linear = build_linear(bias=bias)
    x = torch.randn(3, DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    found = go(linear, RecurrentLink(linear), x, n_steps)

    for one, other in zip(found, go(linear, linear, x, n_steps), strict=True):
        torch.testing.assert_close(one, other)


def test_a_step_that_nobody_reads_counts_for_nothing() -> None:
    linear = build_linear(bias=True)
    x = torch.ones(2, DIM, dtype=torch.float64)
    link = RecurrentLink(linear)

    read, _ = link.apply(x), link.apply(5 * x)
    [found] = torch.autograd.grad(read.sum(), [linear.weight])

    [expected] = torch.autograd.grad(linear(x).sum(), [linear.weight])
    torch.testing.assert_close(found, expected)


def test_nothing_of_a_pass_outlives_it() -> None:
    linear = build_linear(bias=True)
    link = RecurrentLink(linear)
    x = torch.randn(3, DIM, dtype=torch.float64, requires_grad=True)
    inner = torch.tanh(link.apply(x))
    end = link.apply(inner)
    trace = weakref.ref(inner)

    end.sum().backward()  # type: ignore[no-untyped-call]
    del inner, end, link
    gc.collect()

    assert trace() is None
