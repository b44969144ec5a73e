"""Sums and extremes of bags against loops, and what a flow says of edges."""

import numpy as np
import pytest
import torch
from torch import Tensor

from interstellar.model.message_flow import Bags, pack_rows, unpack_rows
from interstellar.model.propagation_graph import Edges, PropagationGraph

N_ENTITIES, N_RELATIONS = 12, 2
DTYPES = (torch.float32, torch.float64)


def draw_bags(n_rows: int) -> Bags:
    generator = torch.Generator().manual_seed(0)
    starts = torch.tensor([0, 0, 3, 4, 4, 30, 30])  # the first, the fourth and the last are empty
    return Bags(starts, torch.randint(n_rows, (30,), generator=generator))


def draw_table(dtype: torch.dtype) -> Tensor:
    table = torch.randn(9, 5, generator=torch.Generator().manual_seed(1)).to(dtype)
    table[:, 1] *= 1e-36
    table[::2, 2] = 0.0
    table[:, 3] = table[0, 3]  # all alike
    table[:, 4] = torch.tensor([-0.0, 0.0, 1e-45] * 3)
    return table


def draw_graph() -> PropagationGraph:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, n, 60) for n in (N_ENTITIES - 2, N_RELATIONS, N_ENTITIES - 1)]
    triplets = np.stack(columns, axis=1).astype(np.int32)
    return PropagationGraph(triplets, n_entities=N_ENTITIES, n_relations=N_RELATIONS)


def listed(bags: Bags) -> list[tuple[int, int]]:
    """Return every bag with each of its rows."""
    numbers = torch.repeat_interleave(bags.starts.diff())
    return list(zip(numbers.tolist(), bags.rows.tolist(), strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_bag_is_added_up_and_its_extremes_are_found_with_their_rows(dtype: torch.dtype) -> None:
    table = draw_table(dtype)
    bags = draw_bags(len(table))

    sums = bags.add_up(table)
    (high, high_rows), (low, low_rows) = bags.find_extremes(table)

    for i, (start, end) in enumerate(zip(bags.starts[:-1], bags.starts[1:], strict=True)):
        rows = bags.rows[start:end]
        torch.testing.assert_close(sums[i], table[rows].sum(dim=0))
        if len(rows):
            assert (high[i] == table[rows].amax(dim=0)).all()
            assert (low[i] == table[rows].amin(dim=0)).all()
            for found, at in ((high[i], high_rows[i]), (low[i], low_rows[i])):
                assert set(at.tolist()) <= set(rows.tolist())
                assert (table.gather(0, at.long().unsqueeze(0))[0] == found).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_are_the_same_without_their_rows(dtype: torch.dtype) -> None:
    table = draw_table(dtype)
    bags = draw_bags(len(table))

    (high, _), (low, _) = bags.find_extremes(table)

    assert (bags.find_extreme(table, "amax") == high).all()
    assert (bags.find_extreme(table, "amin") == low).all()


def test_numbers_keep_their_order_with_rows_in_their_last_bits() -> None:
    table = torch.tensor([[-3e38, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1e-38, 1.0, 3e38]]).T.contiguous()

    packed = pack_rows(table)
    numbers, rows = unpack_rows(packed)

    assert (numbers == table).all()
    assert rows.flatten().tolist() == list(range(9))
    assert (packed.diff(dim=0) > 0).all()


@pytest.mark.parametrize("is_cut", [False, True], ids=["all edges", "some edges"])
def test_every_kept_edge_brings_its_own_message_to_its_target(is_cut: bool) -> None:
    graph = draw_graph()
    kept = torch.rand(graph.n_edges, generator=torch.Generator().manual_seed(0)) < 0.7
    edges = Edges(graph, kept if is_cut else None)
    columns = (graph.sources, graph.relations, graph.targets)
    expected = sorted(zip(*(x[kept if is_cut else ...].tolist() for x in columns), strict=True))

    for flow in (edges.flow, edges.flow_of_edges):
        ends = list(zip(flow.sources.tolist(), flow.relations.tolist(), strict=True))
        brought = [(*ends[i], v) for v, i in listed(flow.arrivals)]
        sent = [(*ends[i], v) for i, v in listed(flow.departures)]
        assert sorted(brought) == sorted(sent) == expected


def test_a_node_sends_one_message_with_each_relation_unless_edges_have_their_own() -> None:
    graph = draw_graph()

    pairs = set(zip(graph.sources.tolist(), graph.relations.tolist(), strict=True))

    assert len(graph.flow.sources) == len(pairs) < graph.n_edges
    assert graph.flow_of_edges.edges.tolist() == list(range(graph.n_edges))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_rows", "length"), [(0, 5), (9, 0)], ids=["no rows", "no columns"])
def test_nothing_adds_up_to_nothing(dtype: torch.dtype, n_rows: int, length: int) -> None:
    bags = Bags(torch.tensor([0, 0, n_rows]), torch.arange(n_rows))
    table = torch.ones(n_rows, length, dtype=dtype)

    assert bags.add_up(table).tolist() == [[0.0] * length] * 2
    for found, _ in bags.find_extremes(table):
        assert found.tolist() == [[0.0] * length] * 2
