"""Aggregation against a loop over edges in float64, and against the sum over all paths."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.architecture.architecture import Activation, Combinator
from interstellar.architecture.propagation import Aggregation, LeftOut
from interstellar.data.triplets import Triplets
from interstellar.model.aggregation import MIN_VARIANCE, aggregate
from interstellar.model.combinators import activate, combine, weigh
from interstellar.model.messages import Boundary, Messages
from interstellar.model.propagation_graph import Edges, PropagationGraph

N_ENTITIES, N_RELATIONS, BATCH, DIM = 7, 2, 3, 4

TRIPLETS: Triplets = np.array(
    [
        *([0, 0, 1], [0, 1, 1], [0, 0, 2], [1, 0, 2]),  # two edges between 0 and 1
        *([3, 1, 3], [2, 1, 0], [4, 0, 4], [4, 1, 2], [5, 0, 2]),  # loops at 3 and 4; 6 is alone
    ],
    dtype=np.int32,
)
FORMS = [
    *product(Combinator, Activation),
    (None, Activation.IDENTITY),
]


def build_graph() -> PropagationGraph:
    return PropagationGraph(TRIPLETS, n_entities=N_ENTITIES, n_relations=N_RELATIONS)


def draw_messages(
    combinator: Combinator | None,
    activation: Activation,
    *,
    of_query: bool = False,
    has_attention: bool = False,
    dtype: torch.dtype = torch.float64,
    n_entities: int = N_ENTITIES,
    n_edges: int = 2 * len(TRIPLETS),
    batch: int = BATCH,
    dim: int = DIM,
) -> Messages:
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(dtype).requires_grad_()

    node, relation = (n_entities, batch, dim), (2 * N_RELATIONS, batch if of_query else 1, dim)
    is_gated = combinator is Combinator.GATED
    return Messages(
        combinator=combinator,
        activation=activation,
        a=None if combinator is None else draw(*node),
        b=draw(*relation),
        gate_a=draw(*node) if is_gated else None,
        gate_b=draw(*relation) if is_gated else None,
        attention=draw(n_edges, batch) if has_attention else None,
    )


def draw_boundary(dtype: torch.dtype = torch.float64) -> Boundary:
    vectors = torch.randn(BATCH, DIM, generator=torch.Generator().manual_seed(2)).to(dtype)
    return Boundary(torch.tensor([0, 6, 0]), vectors.requires_grad_())


def loop_over_edges(
    messages: Messages, edges: Edges, boundary: Boundary, aggregation: Aggregation
) -> Tensor:
    """Do what `aggregate` says, one message after the other."""
    graph, nodes = edges.graph, []
    for v in range(graph.n_entities):
        at_node = (boundary.nodes == v).to(boundary.vectors.dtype).unsqueeze(1)
        received = [boundary.vectors * at_node]
        received += [
            message_of_edge(messages, graph, e)
            for e in range(graph.n_edges)
            if int(graph.targets[e]) == v and (edges.kept is None or bool(edges.kept[e]))
        ]
        nodes.append(reduce(torch.stack(received), aggregation))
    return torch.stack(nodes)


def message_of_edge(messages: Messages, graph: PropagationGraph, e: int) -> Tensor:
    u, r = int(graph.sources[e]), int(graph.relations[e])
    m = messages.b[r].expand(BATCH, DIM)
    if messages.a is not None:
        assert messages.combinator is not None
        if messages.gate_a is not None and messages.gate_b is not None:
            m = weigh(messages.a[u], m, messages.gate_a[u] + messages.gate_b[r])
        else:
            m = combine(messages.combinator, messages.a[u], m)
    m = activate(messages.activation, m)
    return m if messages.attention is None else m * messages.attention[e].unsqueeze(1)


def reduce(m: Tensor, aggregation: Aggregation) -> Tensor:
    """Return the statistics of messages (n, batch, dim)."""
    match aggregation:
        case Aggregation.SUM:
            return m.sum(dim=0).unsqueeze(1)
        case Aggregation.MEAN:
            return m.mean(dim=0).unsqueeze(1)
        case Aggregation.MAX:
            return m.max(dim=0).values.unsqueeze(1)
        case Aggregation.PNA:
            deviation = m.var(dim=0, correction=0).clamp(min=MIN_VARIANCE).sqrt()
            extremes = (m.max(dim=0).values, m.min(dim=0).values)
            return torch.stack([m.mean(dim=0), *extremes, deviation], dim=1)


def assert_same_values_and_gradients(found: Tensor, expected: Tensor, *inputs: Tensor) -> None:
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(3)).to(found.dtype)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, weights), torch.autograd.grad(expected, inputs, weights)
    )


@pytest.mark.parametrize("aggregation", Aggregation)
@pytest.mark.parametrize(("combinator", "activation"), FORMS)
@pytest.mark.parametrize("of_query", [False, True], ids=["own", "query"])
def test_values_and_gradients_are_those_of_a_loop_over_edges(
    aggregation: Aggregation,
    combinator: Combinator | None,
    activation: Activation,
    of_query: bool,
) -> None:
    has_attention = activation is not Activation.TANH
    messages = draw_messages(combinator, activation, of_query=of_query, has_attention=has_attention)
    boundary = draw_boundary()
    batch = torch.tensor([[0, 0, 1], [2, N_RELATIONS, 1]])
    edges = build_graph().edges_without(batch, LeftOut.TRIPLETS)

    found = aggregate(messages, edges, boundary, aggregation)

    there = [x for x in messages.tensors if x is not None]
    expected = loop_over_edges(messages, edges, boundary, aggregation)
    assert_same_values_and_gradients(found, expected, boundary.vectors, *there)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("aggregation", Aggregation)
@pytest.mark.parametrize(("combinator", "activation"), FORMS)
@pytest.mark.parametrize("of_query", [False, True], ids=["own", "query"])
def test_cuda_computes_what_the_cpu_does_in_float64_also_with_a_hub(
    aggregation: Aggregation, combinator: Combinator | None, activation: Activation, of_query: bool
) -> None:
    rng = np.random.default_rng(0)
    columns = (
        rng.integers(0, 90, 800),
        rng.integers(0, N_RELATIONS, 800),
        rng.integers(0, 90, 800),
    )
    triplets = np.stack(columns, axis=1).astype(np.int32)
    triplets[:400, 2] = 5
    graph = PropagationGraph(triplets, n_entities=100, n_relations=N_RELATIONS)
    batch = torch.from_numpy(triplets[::50].astype(np.int64))
    messages = draw_messages(
        combinator,
        activation,
        of_query=of_query,
        has_attention=activation is not Activation.TANH,
        n_entities=100,
        n_edges=1600,
        batch=50,
        dim=32,
    )
    generator = torch.Generator().manual_seed(2)
    z = torch.randn(50, 32, generator=generator).double().requires_grad_()
    boundary = Boundary(torch.arange(50) * 2, z)

    device = torch.device("cuda")
    on_cuda = [None if x is None else x.to(device, torch.float32) for x in messages.tensors]
    a, b, gate_a, gate_b, attention = on_cuda
    assert b is not None
    found = aggregate(
        replace(messages, a=a, b=b, gate_a=gate_a, gate_b=gate_b, attention=attention),
        graph.to(device).edges_without(batch.to(device), LeftOut.TRIPLETS),
        Boundary(boundary.nodes.to(device), z.to(device, torch.float32)),
        aggregation,
    )

    edges = graph.edges_without(batch, LeftOut.TRIPLETS)
    expected = aggregate(messages, edges, boundary, aggregation)
    torch.testing.assert_close(found.double().cpu(), expected, rtol=1e-3, atol=1e-3)
    inputs = [z, *(x for x in messages.tensors if x is not None)]
    weights = torch.randn(expected.shape, generator=generator).double()
    slopes = torch.autograd.grad(found, inputs, weights.to(device, torch.float32))
    for ours, theirs in zip(slopes, torch.autograd.grad(expected, inputs, weights), strict=True):
        # of almost equal messages, another one may be the largest in float32
        assert (ours - theirs).norm() <= 5e-3 * theirs.norm()


@pytest.mark.parametrize("aggregation", Aggregation)
def test_small_blocks_give_what_large_ones_do(
    aggregation: Aggregation, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages, boundary = draw_messages(Combinator.MULTIPLY, Activation.TANH), draw_boundary()
    edges = build_graph().all_edges()
    whole = aggregate(messages, edges, boundary, aggregation)
    [expected] = torch.autograd.grad(whole.cos().sum(), [messages.b])

    monkeypatch.setattr("interstellar.model.aggregation.NUMBERS_AT_ONCE", 1)
    cut = aggregate(messages, edges, boundary, aggregation)

    torch.testing.assert_close(cut, whole)
    torch.testing.assert_close(torch.autograd.grad(cut.cos().sum(), [messages.b])[0], expected)


def test_an_isolated_node_has_its_boundary_alone() -> None:
    messages, boundary = draw_messages(Combinator.ADD, Activation.IDENTITY), draw_boundary()

    mean, high, low, deviation = aggregate(
        messages, build_graph().all_edges(), boundary, Aggregation.PNA
    )[6].unbind(1)

    expected = torch.zeros(BATCH, DIM, dtype=torch.float64)
    expected[1] = boundary.vectors[1].detach()
    assert all(torch.equal(found, expected) for found in (mean, high, low))
    torch.testing.assert_close(deviation, torch.full_like(deviation, MIN_VARIANCE**0.5))


@pytest.mark.parametrize("combinator", [Combinator.MULTIPLY, Combinator.HERMITIAN])
def test_products_summed_layer_by_layer_are_the_sum_over_all_paths(combinator: Combinator) -> None:
    """h_0 again at every layer lets paths begin late: so all lengths up to the depth count."""
    graph, boundary, depth = build_graph(), draw_boundary(), 3
    r = torch.randn(2 * N_RELATIONS, 1, DIM, generator=torch.Generator().manual_seed(4)).double()

    h = boundary.spread(N_ENTITIES)
    for _ in range(depth):
        messages = Messages(combinator=combinator, a=h, b=r)
        h = aggregate(messages, graph.all_edges(), boundary, Aggregation.SUM)[:, :, 0]

    columns = (graph.sources, graph.relations, graph.targets)
    edges = list(zip(*(x.tolist() for x in columns), strict=True))
    expected = torch.zeros_like(h)
    for b, (u, z) in enumerate(zip(boundary.nodes.tolist(), boundary.vectors, strict=True)):
        paths = [(u, z)]
        for length in range(depth + 1):
            for v, x in paths:
                expected[v, b] += x
            if length < depth:
                paths = [
                    (v, combine(combinator, x, r[k, 0]))
                    for w, x in paths
                    for u_, k, v in edges
                    if u_ == w
                ]
    torch.testing.assert_close(h, expected)
