"""The propagation network against its equation, written down edge by edge."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula import to_formula
from interstellar.architecture.literature import PTRANSE_MUL
from interstellar.architecture.propagation import (
    Aggregation,
    Attention,
    LeftOut,
    Propagation,
    RelationVectors,
    Update,
    canonical_propagation,
    from_text,
)
from interstellar.data.triplets import Triplets
from interstellar.model.path_cell import choose
from interstellar.model.propagation_graph import Edges, PropagationGraph
from interstellar.model.propagation_layer import MIN_SCALE, PropagationLayer, PropagationSize
from interstellar.model.propagation_network import PropagationNetwork
from tests.architecture.strategies import propagations
from tests.model.test_aggregation import N_ENTITIES, N_RELATIONS, TRIPLETS, build_graph, reduce

DIM = 4
BATCH = torch.tensor([[0, 0, 1], [1, N_RELATIONS, 0], [6, 1, 2]])


def build(propagation: Propagation, dim: int = DIM, seed: int = 0) -> PropagationNetwork:
    size = PropagationSize(n_relations=N_RELATIONS, dim=dim)
    network = PropagationNetwork(propagation, size, build_graph())
    network.initialise(torch.Generator().manual_seed(seed))
    return network


def ask(
    network: PropagationNetwork, edges: Edges, state_dtype: torch.dtype | None = None
) -> Tensor:
    return network.logits_over(edges, BATCH[:, 0], BATCH[:, 1], state_dtype=state_dtype)


def ask_edge_by_edge(network: PropagationNetwork, edges: Edges, u: int, q: int) -> Tensor:
    """Return the logits of one query, (n_entities,), by the equation of the module's docstring."""
    s = network.queries[q]
    h_0 = torch.zeros(N_ENTITIES, len(s), dtype=s.dtype)
    h_0[u] = s
    h = h_prev = h_0
    for layer in network.layers:
        assert isinstance(layer, PropagationLayer)
        h_prev = h
        h = torch.stack([new_state(layer, edges, s, h_prev, h_0, v) for v in range(N_ENTITIES)])
    logits = [read(network, s, h_prev[v], h[v]) for v in range(N_ENTITIES)]
    return torch.stack(logits)


def new_state(
    layer: PropagationLayer, edges: Edges, s: Tensor, h: Tensor, h_0: Tensor, v: int
) -> Tensor:
    graph, received = edges.graph, [h_0[v]]
    kept = torch.ones(graph.n_edges) if edges.kept is None else edges.kept
    received += [
        message(layer, s, h[graph.sources[e]], int(graph.relations[e]))
        for e in range(graph.n_edges)
        if int(graph.targets[e]) == v and bool(kept[e])
    ]
    m = reduce(torch.stack(received).unsqueeze(1), layer.aggregation)[0].flatten()
    if layer.aggregation is Aggregation.PNA:
        logs = (edges.degrees + 1).double().log()
        k = logs[v] / logs.mean()
        m = torch.cat([m, k * m, m / k.clamp(min=MIN_SCALE)])
    y = functional.linear(torch.cat([h[v], m]), layer.transform.weight, layer.transform.bias)
    x = (y - y.mean()) / (y.var(correction=0) + 1e-5).sqrt()
    x = (x * layer.transform.scale + layer.transform.shift).relu()
    return h[v] + x if layer.gate is None else layer.gate.weigh(h[v], x)


def message(layer: PropagationLayer, s: Tensor, h: Tensor, relation: int) -> Tensor:
    cell, table = layer.cell, layer.relations
    if table.kind is RelationVectors.OWN:
        r = table.vectors[relation]
    else:
        r = table.weight[relation] @ s + table.bias[relation]
    x_r, b = read_source(layer, cell.architecture.macro.relation_source, s, h), cell.link(4, r)
    a = cell.link(3, x_r)
    O_r = cell.relation_operator(a, b)
    if layer.attention is None:
        return O_r
    inner = layer.attention.W_e(b) + layer.attention.W_q(s)
    if a is not None:
        inner = inner + layer.attention.W_h(a)
    alpha: Tensor = layer.attention.w(inner.relu()).sigmoid()
    return alpha * O_r


def read_source(layer: PropagationLayer, source: str, s: Tensor, h: Tensor) -> Tensor | None:
    cell = layer.cell
    O_s = None
    if source == "subject_output":
        O_s = cell.subject_operator(cell.link(1, s), cell.link(2, h))
    return choose(source, s, h, O_s)  # type: ignore[arg-type]


def read(network: PropagationNetwork, s: Tensor, h_prev: Tensor, h: Tensor) -> Tensor:
    last = network.layers[-1]
    assert isinstance(last, PropagationLayer)
    cell = last.cell
    x_v = read_source(last, cell.architecture.macro.output_source, s, h_prev)
    O_v = cell.output_operator(cell.link(5, x_v), cell.link(6, h))
    inner = network.reader.inner(torch.cat([O_v, s])).relu()
    logit: Tensor = network.reader.outer(inner)[0]
    return logit


def assert_follows_the_equation(propagation: Propagation) -> None:
    network = build(propagation).double()
    edges = build_graph().edges_without(BATCH, LeftOut.BETWEEN)

    found = ask(network, edges)

    expected = [ask_edge_by_edge(network, edges, u, q) for u, q, _ in BATCH.tolist()]
    torch.testing.assert_close(found, torch.stack(expected))
    weights = found.detach().cos()
    gradients = (
        torch.autograd.grad(y, tuple(network.parameters()), weights, materialize_grads=True)
        for y in (found, torch.stack(expected))
    )
    torch.testing.assert_close(*gradients)


@settings(max_examples=25)
@given(propagations)
def test_any_architecture_follows_the_equation(propagation: Propagation) -> None:
    assert_follows_the_equation(propagation)


@pytest.mark.parametrize(
    ("aggregation", "relations", "attention", "update"),
    [
        *product(Aggregation, RelationVectors, [Attention.NONE], [Update.RESIDUAL]),
        *product([Aggregation.PNA], RelationVectors, [Attention.QUERY], Update),
    ],
)
def test_every_choice_follows_the_equation(
    aggregation: Aggregation, relations: RelationVectors, attention: Attention, update: Update
) -> None:
    assert_follows_the_equation(
        Propagation(
            cell=PTRANSE_MUL,
            aggregation=aggregation,
            relations=relations,
            attention=attention,
            update=update,
            depth=2,
        )
    )


@pytest.mark.parametrize("relations", RelationVectors)
def test_a_canonical_form_is_the_same_network_with_other_parameters(
    relations: RelationVectors,
) -> None:
    """As the rules `drop_relation_matrix` and `drop_query_beside_output` say."""
    cell = "O_r = tanh(W3 h gated W4 r); v = W5 s + W6 O_r"
    propagation = from_text(f"{cell}; attention = query; relations = {relations}; depth = 2")
    canonical = canonical_propagation(propagation)
    old, new = build(propagation).double(), build(canonical).double()
    new.load_state_dict({name: old.state_dict()[name] for name in new.state_dict()})

    with torch.no_grad():
        for ours, theirs in zip(new.layers, old.layers, strict=True):
            assert isinstance(ours, PropagationLayer)
            assert isinstance(theirs, PropagationLayer)
            W_4, table = theirs.cell.linear(4), theirs.relations
            assert W_4 is not None
            if relations is RelationVectors.OWN:
                ours.relations.vectors.copy_(W_4(table.vectors))
            else:
                ours.relations.weight.copy_(W_4.weight @ table.weight)
                ours.relations.bias.copy_(W_4(table.bias))
        last = old.layers[-1]
        assert isinstance(last, PropagationLayer)
        W_5, W_6, inner = last.cell.linear(5), last.cell.linear(6), old.reader.inner
        assert W_5 is not None
        assert W_6 is not None
        A, C = inner.weight.chunk(2, dim=1)
        new.reader.inner.weight.copy_(torch.cat([A @ W_6.weight, C + A @ W_5.weight], dim=1))
        new.reader.inner.bias.copy_(inner.bias + A @ W_6.bias)

    assert to_formula(canonical.cell) == "O_r = tanh(W3 h gated r); v = O_r"
    edges = build_graph().all_edges()
    torch.testing.assert_close(ask(new, edges), ask(old, edges))


@settings(max_examples=20)
@given(propagations, st.permutations(range(N_ENTITIES)))
def test_other_ids_of_entities_give_the_same_logits_at_other_places(
    propagation: Propagation, new_ids: list[int]
) -> None:
    network = build(propagation).double()
    moved = TRIPLETS.copy()
    moved[:, 0], moved[:, 2] = np.take(new_ids, TRIPLETS[:, 0]), np.take(new_ids, TRIPLETS[:, 2])
    graph = PropagationGraph(moved, n_entities=N_ENTITIES, n_relations=N_RELATIONS)
    ids = torch.tensor(new_ids)

    found = network.logits_over(graph.all_edges(), ids[BATCH[:, 0]], BATCH[:, 1])

    expected = ask(network, build_graph().all_edges())
    torch.testing.assert_close(found[:, ids], expected)


def test_queries_of_a_batch_do_not_see_each_other() -> None:
    network, edges = build(from_text("O_r = h ⊗ r; v = O_r")), build_graph().all_edges()

    together = ask(network, edges)

    alone = [network.logits_over(edges, b[:1], b[1:2]) for b in BATCH]
    torch.testing.assert_close(together, torch.cat(alone))


def test_what_the_batch_asks_for_is_learnt_from_the_rest_of_the_graph() -> None:
    """With the triplet's own edges left out, whether it is there changes no logit."""
    network = build(from_text("O_r = h ⊙ r; v = O_r; depth = 2"))
    batch = torch.tensor([[0, 0, 1]])
    without = np.array([t for t in TRIPLETS.tolist() if t != [0, 0, 1]], dtype=np.int32)
    smaller = PropagationGraph(without, n_entities=N_ENTITIES, n_relations=N_RELATIONS)

    found = network.logits_over(
        build_graph().edges_without(batch, LeftOut.TRIPLETS), batch[:, 0], batch[:, 1]
    )

    expected = network.logits_over(smaller.all_edges(), batch[:, 0], batch[:, 1])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("attention", Attention)
def test_an_edge_of_weight_0_is_as_one_left_out_and_the_gradient_says_what_it_adds(
    attention: Attention,
) -> None:
    line = f"O_r = h ⊙ r; v = O_r; aggregation = sum; depth = 2; attention = {attention}"
    network, graph = build(from_text(line)).double(), build_graph()
    left_out = graph.edges_without(BATCH[:1], LeftOut.TRIPLETS)
    assert left_out.kept is not None
    kept = left_out.kept.double().unsqueeze(1).expand(-1, 3)
    ones = [torch.ones_like(kept).requires_grad_() for _ in range(2)]
    subjects, relations = BATCH[:, 0], BATCH[:, 1]

    found = network.logits_over(graph.all_edges(), subjects, relations, [kept, kept])
    whole = network.logits_over(graph.all_edges(), subjects, relations, ones)

    torch.testing.assert_close(found, ask(network, left_out))
    torch.testing.assert_close(whole, ask(network, graph.all_edges()))
    slopes = torch.autograd.grad(whole[0, 2], ones)
    more = [one.detach().clone() for one in ones]
    more[1][3, 0] += 1e-6
    risen = network.logits_over(graph.all_edges(), subjects, relations, more)[0, 2] - whole[0, 2]
    torch.testing.assert_close(slopes[1][3, 0], risen.detach() / 1e-6, rtol=1e-3, atol=1e-6)


def test_only_the_weights_that_are_used_exist() -> None:
    cell = "O_s = W1 s + W2 h; O_r = W3 h ⊙ W4 r; v = W5 O_s + W6 O_r"
    network = build(from_text(cell + "; depth = 3"))

    logits = ask(network, build_graph().all_edges())

    slopes = torch.autograd.grad(logits.cos().sum(), tuple(network.parameters()), allow_unused=True)
    assert all(slope is not None for slope in slopes)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@settings(max_examples=60)
@given(propagations)
def test_cuda_computes_what_the_cpu_does(propagation: Propagation) -> None:
    on_cpu, on_cuda = build(propagation, dim=16), build(propagation, dim=16).cuda()
    graph = build_graph()

    found = on_cuda.logits_over(graph.to(torch.device("cuda")).all_edges(), *BATCH[:, :2].T.cuda())
    expected = ask(on_cpu, graph.all_edges())

    torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-4)
    ours, theirs = (
        torch.autograd.grad(logits.cos().sum(), tuple(network.parameters()), materialize_grads=True)
        for network, logits in ((on_cuda, found), (on_cpu, expected))
    )
    for of_cuda, of_cpu in zip(ours, theirs, strict=True):
        torch.testing.assert_close(of_cuda.cpu(), of_cpu, rtol=1e-2, atol=1e-3)


def plant_rule(n: int, seed: int) -> tuple[Triplets, Triplets]:
    """Return facts of two random relations, and those of a third that is one after the other."""
    rng = np.random.default_rng(seed)
    ids, first, second = np.arange(n), rng.permutation(n), rng.permutation(n)
    facts = [[ids, 0 * ids, first], [ids, 0 * ids + 1, second]]
    implied = np.stack([ids, 0 * ids + 2, second[first]], axis=1)
    return np.concatenate([np.stack(f, axis=1) for f in facts]).astype(np.int32), implied


def test_a_rule_of_two_steps_is_learnt_and_holds_for_entities_never_seen() -> None:
    facts, implied = plant_rule(40, seed=0)
    whole = np.concatenate([facts, implied.astype(np.int32)])
    graph = PropagationGraph(whole, n_entities=40, n_relations=3)
    network = PropagationNetwork(
        from_text("O_r = h ⊙ r; v = O_r; aggregation = mean; depth = 2"),
        PropagationSize(n_relations=3, dim=8),
        graph,
    )
    network.initialise(torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)

    for step in range(60):
        batch = torch.from_numpy(implied[step % 4 :: 4])
        edges = graph.edges_without(batch, LeftOut.TRIPLETS)
        loss = functional.cross_entropy(
            network.logits_over(edges, batch[:, 0], batch[:, 1]), batch[:, 2]
        )
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()

    facts, implied = plant_rule(30, seed=1)
    other = PropagationGraph(facts, n_entities=30, n_relations=3)
    asked = torch.from_numpy(implied)
    answers = network.logits_over(other.all_edges(), asked[:, 0], asked[:, 1]).argmax(dim=1)
    assert (answers == asked[:, 2]).double().mean() > 0.9


def test_the_literature_is_two_points_of_the_space() -> None:
    nbfnet, red_gnn = (
        from_text("O_r = h ⊙ r; v = O_r; relations = query"),
        from_text("O_r = h + r; v = O_r; aggregation = sum; attention = query"),
    )

    for propagation in (nbfnet, red_gnn):
        assert isinstance(propagation.cell, Architecture)
        assert ask(build(propagation), build_graph().all_edges()).isfinite().all()
