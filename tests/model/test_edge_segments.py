"""Segments cover every node's edges once, and remember where the parts of a hub are."""

import pytest
import torch

from interstellar.model.edge_segments import Segments

STARTS = torch.tensor([0, 3, 3, 11, 12, 18])


def test_every_edge_is_in_one_segment_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interstellar.model.edge_segments.SEGMENT", 4)

    segments = Segments.of(STARTS)

    columns = (segments.nodes, segments.firsts, segments.ends)
    listed = sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert listed == [
        (0, 0, 3),
        (1, 3, 3),
        (2, 3, 7),
        (2, 7, 11),
        (3, 11, 12),
        (4, 12, 16),
        (4, 16, 18),
    ]
    sizes = segments.ends - segments.firsts
    assert (sizes.diff() <= 0).all()


def test_hubs_have_slots_in_the_order_of_their_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interstellar.model.edge_segments.SEGMENT", 4)

    segments = Segments.of(STARTS)

    assert segments.hubs.tolist() == [2, 4]
    assert segments.hub_slots.tolist() == [0, 2, 4]
    assert segments.n_slots == 4
    is_of_hub = torch.isin(segments.nodes, segments.hubs)
    firsts, slots = segments.firsts[is_of_hub].tolist(), segments.slots[is_of_hub].tolist()
    assert sorted(zip(firsts, slots, strict=True)) == [(3, 0), (7, 1), (12, 2), (16, 3)]
    assert (segments.slots[~is_of_hub] == -1).all()


def test_small_nodes_have_one_segment_each() -> None:
    segments = Segments.of(STARTS)

    assert sorted(segments.nodes.tolist()) == [0, 1, 2, 3, 4]
    assert segments.n_slots == len(segments.hubs) == 0
