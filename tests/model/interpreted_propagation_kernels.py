"""Tests of the kernels of propagation on the CPU, where Triton's interpreter is the compiler.

Not collected by themselves: `test_network_kernels.py` runs them with TRITON_INTERPRET=1, which
must be set before the kernels are imported.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.architecture.propagation import Aggregation, LeftOut, from_text
from interstellar.model import (
    aggregation,
    aggregation_kernel,
    attention_kernel,
    edge_attention,
    message_kernel,
    propagation_layer,
    propagation_network,
    reader_kernel,
    transform_kernel,
)
from interstellar.model.aggregation import aggregate, n_statistics
from interstellar.model.edge_attention import attend
from interstellar.model.propagation_layer import Reader, Transform
from tests.model.test_aggregation import (
    FORMS,
    N_ENTITIES,
    N_RELATIONS,
    assert_same_values_and_gradients,
    build_graph,
    draw_boundary,
    draw_messages,
)
from tests.model.test_propagation_network import ask, build

FEWER = (Aggregation.SUM, Aggregation.MEAN, Aggregation.MAX)
LINES = [
    "O_r = h ⊙ r; v = O_r; depth = 2",
    "O_s = tanh(W1 s gated h); O_r = O_s ⊗ r; v = s ⊙ W6 O_r; relations = query; depth = 2",
    "O_r = h gated r; v = O_r; aggregation = sum; attention = query; update = gate; depth = 2",
    "O_r = tanh(s + r); v = h + O_r; aggregation = max; attention = query; depth = 2",
]
LEFT_OUT = torch.tensor([[0, 0, 1], [2, N_RELATIONS, 1]])


@contextmanager
def using_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (aggregation, edge_attention, propagation_layer, propagation_network):
            patch.setattr(module, "has_kernels", lambda _: True)
        yield


def compare(
    combinator: Combinator | None,
    activation: Activation,
    kind: Aggregation,
    *,
    of_query: bool,
    has_attention: bool,
) -> None:
    messages = draw_messages(
        combinator, activation, of_query=of_query, has_attention=has_attention, dtype=torch.float32
    )
    boundary = draw_boundary(torch.float32)
    edges = build_graph().edges_without(LEFT_OUT, LeftOut.TRIPLETS)
    expected = aggregate(messages, edges, boundary, kind)
    with using_kernels():
        found = aggregate(messages, edges, boundary, kind)

    there = [x for x in messages.tensors if x is not None]
    assert_same_values_and_gradients(found, expected, boundary.vectors, *there)


@pytest.mark.parametrize(
    ("combinator", "activation", "kind"),
    [
        *((*form, Aggregation.PNA) for form in FORMS),
        *((Combinator.HERMITIAN, Activation.IDENTITY, kind) for kind in FEWER),
        *((None, Activation.IDENTITY, kind) for kind in FEWER),
    ],
)
def test_messages_and_their_aggregation(
    combinator: Combinator | None, activation: Activation, kind: Aggregation
) -> None:
    compare(
        combinator,
        activation,
        kind,
        of_query=kind is Aggregation.MEAN or activation is Activation.TANH,
        has_attention=activation is Activation.SIGMOID,
    )


@pytest.mark.parametrize("kind", [Aggregation.SUM, Aggregation.PNA])
@pytest.mark.parametrize("of_query", [False, True], ids=["own", "query"])
def test_a_batch_that_needs_several_programs_a_node(
    kind: Aggregation, of_query: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_kernel, "TILE", 8)

    compare(Combinator.GATED, Activation.TANH, kind, of_query=of_query, has_attention=True)


@pytest.mark.parametrize("kind", Aggregation)
def test_nodes_whose_edges_are_cut_into_segments(
    kind: Aggregation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.model.edge_segments.SEGMENT", 2)

    assert build_graph().segments.n_slots > 0
    for of_query in (False, True):
        compare(Combinator.GATED, Activation.TANH, kind, of_query=of_query, has_attention=True)


def test_extremes_of_nodes_with_too_many_edges_for_half_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aggregation_kernel, "MOST_PACKED", 1)
    form, kind = (Combinator.MULTIPLY, Activation.IDENTITY), Aggregation.PNA

    compare(*form, kind, of_query=False, has_attention=False)


@pytest.mark.parametrize(("n_rows", "n_edges"), [(1, 2), (64, 128)])
@pytest.mark.parametrize("is_shared", [False, True])
def test_attention(
    n_rows: int, n_edges: int, is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_kernel, "ROWS", n_rows)
    monkeypatch.setattr("interstellar.model.edge_segments.SEGMENT", n_edges)
    shapes = ((N_ENTITIES, 3, 6), (2 * N_RELATIONS, 1 if is_shared else 3, 6), (6,), (1,))
    generator = torch.Generator().manual_seed(0)
    p, q, w, bias = (torch.randn(s, generator=generator).requires_grad_() for s in shapes)

    found = attention_kernel.attend_fused(p, q, w, bias, build_graph())

    expected = attend(p, q, w, bias, build_graph())
    assert_same_values_and_gradients(found, expected, p, q, w, bias)


@pytest.mark.parametrize(
    ("batch", "dim", "n_programs"), [(3, 4, 3), (5, 32, 264), (70, 16, 3), (2, 24, 264)]
)
@pytest.mark.parametrize("kind", [Aggregation.SUM, Aggregation.PNA])
def test_the_transformation_of_a_layer(
    batch: int, dim: int, n_programs: int, kind: Aggregation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transform_kernel, "N_PROGRAMS", n_programs)
    n = n_statistics(kind)
    transform = Transform(dim, 3 * n if kind is Aggregation.PNA else n)
    generator = torch.Generator().manual_seed(0)
    for parameter in transform.parameters():
        torch.nn.init.normal_(parameter, generator=generator)
    shapes = ((N_ENTITIES, batch, dim), (N_ENTITIES, batch, n, dim))
    h, statistics = (torch.randn(s, generator=generator).requires_grad_() for s in shapes)
    edges = build_graph().edges_without(LEFT_OUT, LeftOut.BETWEEN)

    expected = transform.update(h, statistics, edges)
    with using_kernels():
        found = transform.update(h, statistics, edges)

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    weights, inputs = expected.detach().cos(), (h, statistics, *transform.parameters())
    gradients = [torch.autograd.grad(y, inputs, weights) for y in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("batch", "dim", "n_programs"), [(3, 4, 3), (70, 16, 132), (1, 32, 3)])
def test_the_reader_of_logits(
    batch: int, dim: int, n_programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_kernel, "N_PROGRAMS", n_programs)
    reader, generator = Reader(dim), torch.Generator().manual_seed(0)
    for parameter in reader.parameters():
        torch.nn.init.normal_(parameter, generator=generator)
    shapes = ((N_ENTITIES, batch, dim), (batch, dim))
    O_v, s = (torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)

    expected = reader.read(O_v, s)
    with using_kernels():
        found = reader.read(O_v, s)

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    weights, inputs = expected.detach().cos(), (O_v, s, *reader.parameters())
    gradients = [torch.autograd.grad(y, inputs, weights) for y in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("line", LINES)
def test_whole_networks(line: str) -> None:
    network, edges = build(from_text(line)), build_graph().all_edges()

    expected = ask(network, edges)
    with using_kernels():
        found = ask(network, edges)
        [*slopes] = torch.autograd.grad(found.cos().sum(), tuple(network.parameters()))

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    of_plain = torch.autograd.grad(expected.cos().sum(), tuple(network.parameters()))
    torch.testing.assert_close(slopes, [*of_plain], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("line", LINES)
def test_a_pruned_propagation_answers_as_the_plain_one(line: str) -> None:
    network, edges = build(from_text(line)), build_graph().all_edges()
    network.n_kept = 2

    expected = ask(network, edges)
    with using_kernels():
        found = ask(network, edges)
        slopes = torch.autograd.grad(found.cos().sum(), tuple(network.parameters()))

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    of_plain = torch.autograd.grad(expected.cos().sum(), tuple(network.parameters()))
    torch.testing.assert_close(slopes, of_plain, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("line", LINES)
def test_states_of_half_precision_change_logits_and_gradients_little(line: str) -> None:
    network, edges = build(from_text(line)), build_graph().all_edges()

    expected = ask(network, edges)
    with using_kernels():
        found = ask(network, edges, state_dtype=torch.float16)
        slopes = torch.autograd.grad(found.sum(), tuple(network.parameters()))

    assert found.dtype is torch.float32
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0.02)
    of_plain = torch.autograd.grad(expected.sum(), tuple(network.parameters()))
    for half, whole in zip(slopes, of_plain, strict=True):
        assert half.dtype is torch.float32
        assert (half - whole).norm() <= 0.05 * whole.norm() + 0.01
