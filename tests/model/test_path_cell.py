"""The cell: its formula, and the same unrolled over paths."""

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import LITERATURE
from interstellar.model.combinators import hermitian
from interstellar.model.path_cell import CellWeights, PathCell, RecurrentLink
from tests.architecture.strategies import architectures

DIM = 6


def build(architecture: Architecture, *, seed: int = 0) -> PathCell:
    torch.manual_seed(seed)
    return PathCell(architecture, CellWeights.of(architecture, DIM)).double()


def draw_paths(n_steps: int, *, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    s, r = torch.randn(2, 3, n_steps, DIM, generator=generator, dtype=torch.float64)
    return s.requires_grad_(), r.requires_grad_(), torch.randn(3, DIM, generator=generator).double()


def go_step_by_step(cell: PathCell, s: Tensor, r: Tensor, h_0: Tensor) -> Tensor:
    """The recurrence as the paper writes it."""
    h, outputs = h_0, []
    for t in range(s.shape[1]):
        v, h = cell.step(s[:, t], r[:, t], h)
        outputs.append(v)
    return torch.stack(outputs, dim=1)


@settings(max_examples=300)
@given(architecture=architectures, n_steps=st.integers(1, 4), seed=st.integers(0, 2**16))
def test_unrolling_equals_going_step_by_step_in_values_and_gradients(
    architecture: Architecture, n_steps: int, seed: int
) -> None:
    cell = build(architecture)
    s, r, h_0 = draw_paths(n_steps, seed=seed)
    inputs = [s, r, *cell.parameters()]

    expected = go_step_by_step(cell, s, r, h_0)
    found = cell.unroll(s, r, h_0)

    torch.testing.assert_close(found, expected)
    if expected.requires_grad:
        weights = torch.randn_like(expected)
        for one, other in zip(
            torch.autograd.grad(found, inputs, weights, allow_unused=True, materialize_grads=True),
            torch.autograd.grad(
                expected, inputs, weights, allow_unused=True, materialize_grads=True
            ),
            strict=True,
        ):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("TransE", lambda s, r, _: s + r),
        ("DistMult", lambda s, r, _: s * r),
        ("ComplEx", hermitian),
        ("PTransE-add", lambda _, r, h: h + r),
        ("PTransE-mul", lambda _, r, h: h * r),
    ],
)
def test_models_of_the_literature_are_their_textbook_formula(name, formula) -> None:  # type: ignore[no-untyped-def]
    cell = build(LITERATURE[name])
    generator = torch.Generator().manual_seed(0)
    s, r, h = torch.randn(3, 4, DIM, generator=generator, dtype=torch.float64)

    v, _ = cell.step(s, r, h)

    expected = formula(s, r) if name == "ComplEx" else formula(s, r, h)
    torch.testing.assert_close(v, expected)


def test_complex_multiplies_as_complex_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 5, DIM, generator=generator)

    product = torch.complex(*a.chunk(2, dim=-1)) * torch.complex(*b.chunk(2, dim=-1))

    torch.testing.assert_close(torch.complex(*hermitian(a, b).chunk(2, dim=-1)), product)


def test_ptranse_adds_up_the_relations_of_a_path() -> None:
    cell = build(LITERATURE["PTransE-add"])
    s, r, h_0 = draw_paths(4, seed=1)

    v = cell.unroll(s, r, h_0)

    torch.testing.assert_close(v, h_0.unsqueeze(1) + r.cumsum(dim=1))


def test_rsn_is_two_plain_cells_and_a_shortcut_from_the_subject() -> None:
    cell = build(LITERATURE["RSN"])
    s, r, h = (x.detach() for x in (*draw_paths(1, seed=2)[:2], draw_paths(1, seed=2)[2]))
    W = {i: cell.linear(i) for i in range(1, 7)}

    v, h_next = cell.step(s[:, 0], r[:, 0], h)

    O_s = torch.tanh(W[1](s[:, 0]) + W[2](h))  # type: ignore[misc]
    O_r = torch.tanh(W[3](O_s) + W[4](r[:, 0]))  # type: ignore[misc]
    torch.testing.assert_close(h_next, O_r)
    torch.testing.assert_close(v, W[5](s[:, 0]) + W[6](O_r))  # type: ignore[misc]


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
