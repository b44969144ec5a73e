"""PyTorch Geometric's `Data`, in the shape of a stand-in: PyG itself is not needed to read it."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.splitting import Split
from interstellar.errors import DataError

EDGES = torch.tensor([[0, 1, 0, 2], [1, 2, 2, 0]])
TYPES = torch.tensor([0, 0, 1, 1])


class Data(SimpleNamespace):
    """What PyG's `Data` is to a reader: attributes, and an iterator over them."""

    def __iter__(self) -> Any:
        return iter(vars(self).items())


def data(**others: Any) -> Data:
    return Data(**{"edge_index": EDGES, "edge_type": TYPES, "num_nodes": 4} | others)


def read(source: object) -> KnowledgeGraph:
    graph = load(source)
    assert isinstance(graph, KnowledgeGraph)
    return graph


def test_edges_become_triplets_and_nodes_keep_their_numbers() -> None:
    graph = read(data())

    found = [tuple(row) for row in (*graph.train, *graph.valid, *graph.test)]
    assert sorted(found) == [(0, 0, 1), (0, 1, 2), (1, 0, 2), (2, 1, 0)]
    assert graph.entities.to_list() == ["0", "1", "2", "3"]
    assert graph.relations.to_list() == ["0", "1"]
    assert "Data has no splits" in graph.notes[0]


def test_names_are_taken_where_there_are_any() -> None:
    graph = read(data(entity_names=["a", "b", "c", "d"], relation_names=("knows", "likes")))

    assert graph.entities.to_list() == ["a", "b", "c", "d"]
    assert graph.relations.to_list() == ["knows", "likes"]


def test_masks_over_edges_are_splits() -> None:
    masks = {
        "train_mask": torch.tensor([True, True, False, False]),
        "val_mask": torch.tensor([False, False, True, False]),
        "test_mask": torch.tensor([False, False, False, True]),
    }

    graph = read(data(**masks))

    assert graph.train.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert graph.valid.tolist() == [[0, 1, 2]]
    assert graph.test.tolist() == [[2, 1, 0]]
    with pytest.raises(DataError, match="has splits of its own"):
        load(data(**masks), split=Split(train=0.8, valid=0.1, test=0.1))


def test_masks_over_nodes_are_not() -> None:
    mask = torch.ones(5, dtype=torch.bool)

    graph = read(data(num_nodes=5, train_mask=mask, val_mask=mask, test_mask=mask))

    assert "has no splits" in graph.notes[0]


def test_edges_of_each_split_are_taken_without_the_inverses_beside_them() -> None:
    parts = {
        f"{part}_edge_{what}": values
        for part, row in (("train", 0), ("valid", 2), ("test", 3))
        for what, values in (("index", EDGES[:, row : row + 1]), ("type", TYPES[row : row + 1]))
    }

    graph = read(data(edge_type=TYPES + 2, **parts))

    assert graph.train.tolist() == [[0, 0, 1]]
    assert graph.test.tolist() == [[2, 1, 0]]
    assert graph.relations.to_list() == ["0", "1"]


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"edge_type": None}, "has no edge_type"),
        ({"edge_types": [], "node_types": []}, "several kinds of nodes.*to_homogeneous"),
        ({"edge_index": EDGES.T}, r"edge_index is of shape \(4, 2\)"),
        ({"edge_type": TYPES[:2]}, "All must be equally long"),
        ({"edge_index": EDGES.float()}, "the entity ids are of type float32"),
        ({"edge_index": EDGES - 1}, "the entity ids go from -1 to 1"),
        ({"num_nodes": 2}, "the entity ids go from 0 to 2, but only 0 to 1 have a name"),
        ({"entity_names": ["a", "b"]}, "but only 0 to 1 have a name"),
        ({"entity_names": ["a", "b", "c", None]}, "the entity names hold None"),
        ({"relation_names": ["a", "a"]}, "the relation name 'a' stands for two ids"),
    ],
)
def test_what_is_no_graph_of_triplets_is_a_fault(others: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        load(data(**others))
