"""Edges by target and by source, and which of them are left out."""

import numpy as np
import pytest
import torch

from interstellar.architecture.propagation import LeftOut
from interstellar.data.triplets import Triplets, with_inverses
from interstellar.model.propagation_graph import PropagationGraph

N_ENTITIES, N_RELATIONS = 20, 3


def draw_triplets(n: int = 60) -> Triplets:
    rng = np.random.default_rng(0)
    ends = rng.integers(N_ENTITIES - 2, size=(2, n))  # the last two are isolated
    return np.stack([ends[0], rng.integers(N_RELATIONS, size=n), ends[1]], axis=1).astype(np.int32)


def build(triplets: Triplets) -> PropagationGraph:
    return PropagationGraph(triplets, n_entities=N_ENTITIES, n_relations=N_RELATIONS)


def listed(graph: PropagationGraph) -> list[tuple[int, ...]]:
    columns = (graph.sources, graph.relations, graph.targets)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_every_triplet_is_an_edge_and_its_inverse_another_by_the_node_they_reach() -> None:
    triplets = draw_triplets()

    graph = build(triplets)

    assert sorted(listed(graph)) == sorted(
        map(tuple, with_inverses(triplets, N_RELATIONS).tolist())
    )
    for v in range(N_ENTITIES):
        assert set(graph.targets[graph.starts[v] : graph.starts[v + 1]].tolist()) <= {v}
    assert int(graph.starts[-1]) == graph.n_edges


def test_outgoing_edges_are_all_edges_by_source_and_relation() -> None:
    graph = build(draw_triplets())
    out, edges = graph.outgoing, listed(graph)

    assert sorted(out.edges.tolist()) == list(range(graph.n_edges))
    assert [edges[e] for e in out.edges] == sorted(edges, key=lambda edge: edge[:2])
    for v, first, end in zip(*(x.tolist() for x in out.segments.tables[:3]), strict=True):
        assert all(edges[e][0] == v for e in out.edges[first:end].tolist())
    found = zip(out.relations.tolist(), out.targets.tolist(), strict=True)
    assert list(found) == [edges[e][1:] for e in out.edges]
    numbered = graph.starts[out.targets.long()] + out.numbers
    assert torch.equal(numbered, out.edges.long())


@pytest.mark.parametrize("most", [3, 128])
def test_runs_end_where_the_relation_or_the_segment_changes_and_stand_by_relation(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.model.propagation_graph.CHUNK", 3)
    monkeypatch.setattr("interstellar.model.edge_segments.SEGMENT", most)
    graph = build(draw_triplets())
    out, edges = graph.outgoing, listed(graph)
    firsts = sorted(set(out.segments.firsts.tolist()))
    segment_of_edge = np.searchsorted(firsts, np.arange(graph.n_edges), side="right")
    run_of_edge = [(i, edges[e][1]) for i, e in zip(segment_of_edge, out.edges, strict=True)]

    following = [*run_of_edge[1:], None]
    is_last = [here != after for here, after in zip(run_of_edge, following, strict=True)]

    assert [end >= 0 for end in out.run_ends.tolist()] == is_last
    ends = [
        (end, run) for end, run in zip(out.run_ends.tolist(), run_of_edge, strict=True) if end >= 0
    ]
    relations = [relation for _, (_, relation) in sorted(ends)]
    assert [end for end, _ in sorted(ends)] == list(range(out.n_runs))
    for r in range(2 * N_RELATIONS):
        chunks = out.chunk_starts[out.chunks_of_relation[r] : out.chunks_of_relation[r + 1] + 1]
        places = relations[int(chunks[0]) : int(chunks[-1])]
        assert set(places) <= {r}
        assert len(places) == relations.count(r)
        assert (chunks.diff() <= 3).all()


@pytest.mark.parametrize("rule", LeftOut)
def test_what_gives_a_batch_away_is_left_out(rule: LeftOut) -> None:
    triplets = draw_triplets()
    batch = torch.tensor(
        [
            [*triplets[0]],
            [triplets[5][2], triplets[5][1] + N_RELATIONS, triplets[5][0]],
            [18, 0, 19],
        ]
    )
    graph = build(triplets)

    kept = graph.edges_without(batch, rule).kept

    asked = {tuple(triplets[0].tolist()), tuple(triplets[5].tolist())}
    both = asked | {(o, r + N_RELATIONS, s) for s, r, o in asked}
    pairs = {(s, o) for s, _, o in both}
    expected = [
        edge not in both if rule is LeftOut.TRIPLETS else (edge[0], edge[2]) not in pairs
        for edge in listed(graph)
    ]
    assert kept is not None
    assert kept.tolist() == expected


def test_a_random_share_of_triplets_is_left_out_with_their_inverses() -> None:
    triplets = draw_triplets()
    graph = build(triplets)
    before = graph.edges_without(torch.from_numpy(triplets[:7].astype(np.int64)), LeftOut.TRIPLETS)
    assert before.kept is not None
    generator = torch.Generator().manual_seed(0)
    drawn = [before.without_some(0.3, generator).kept for _ in range(50)]
    stay = torch.stack([kept for kept in drawn if kept is not None])

    place = {edge: i for i, edge in enumerate(listed(graph))}
    inverse = [place[(o, (r + N_RELATIONS) % (2 * N_RELATIONS), s)] for s, r, o in listed(graph)]

    assert not stay[:, ~before.kept].any()
    assert torch.equal(stay, stay[:, inverse])
    assert stay[:, before.kept].float().mean().item() == pytest.approx(0.7, abs=0.05)
    whole = graph.all_edges().without_some(0.0, generator).kept
    assert whole is not None
    assert bool(whole.all())


def test_degrees_count_only_edges_that_are_kept() -> None:
    triplets = draw_triplets()
    graph = build(triplets)
    edges = graph.edges_without(torch.from_numpy(triplets[:7].astype(np.int64)), LeftOut.BETWEEN)
    assert edges.kept is not None

    expected = [int(edges.kept[graph.targets == v].sum()) for v in range(N_ENTITIES)]

    assert edges.degrees.tolist() == expected


def test_a_graph_without_triplets_has_no_edges() -> None:
    graph = build(draw_triplets(0))

    edges = graph.edges_without(torch.tensor([[0, 0, 1]]), LeftOut.TRIPLETS)

    assert edges.degrees.tolist() == [0] * N_ENTITIES
    assert len(edges.flow.sources) == 0
