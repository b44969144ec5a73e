"""Graphs that PyKEEN and PyTorch Geometric hold."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.datasets import Nations
from pykeen.datasets.base import Dataset, EagerDataset
from pykeen.triples import CoreTriplesFactory, TriplesFactory

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.splitting import SplitShares
from interstellar.errors import DataError
from tests.imported_modules import list_imported
from tests.tiny_graphs import EUROPE

TRIPLES = np.array(EUROPE)


def read(source: object) -> KnowledgeGraph:
    graph = load(source)
    assert isinstance(graph, KnowledgeGraph)
    return graph


def test_a_set_keeps_its_splits_names_and_ids() -> None:
    dataset: Dataset = Nations()
    assert dataset.validation is not None
    assert isinstance(dataset.training, TriplesFactory)

    graph = read(dataset)

    assert graph.name == "Nations"
    assert dict(zip(graph.entities.to_list(), range(14), strict=True)) == dataset.entity_to_id
    assert graph.relations.name(3) == dataset.training.relation_id_to_label[3]
    for triplets, factory in (
        (graph.train, dataset.training),
        (graph.valid, dataset.validation),
        (graph.test, dataset.testing),
    ):
        np.testing.assert_array_equal(triplets, factory.mapped_triples.numpy())


@pytest.mark.parametrize("has_inverses", [False, True])
def test_a_factory_is_split_as_a_file_is(has_inverses: bool) -> None:
    factory = TriplesFactory.from_labeled_triples(TRIPLES, create_inverse_triples=has_inverses)

    graph = read(factory)

    assert graph.entities.to_list() == sorted({"france", "spain", "portugal", "europe", "italy"})
    assert graph.relations.to_list() == ["locatedin", "neighbor"]
    assert len(graph.train) + len(graph.valid) + len(graph.test) == 6
    assert "TriplesFactory has no splits" in graph.notes[0]


def test_without_labels_numbers_are_names() -> None:
    mapped = torch.tensor([[0, 0, 1], [1, 1, 3]])

    graph = read(CoreTriplesFactory(mapped, num_entities=5, num_relations=2))

    assert graph.entities.to_list() == ["0", "1", "2", "3", "4"]


def test_a_set_without_validation_has_an_empty_split_and_says_so() -> None:
    factory = TriplesFactory.from_labeled_triples(TRIPLES)

    graph = read(EagerDataset(factory, factory))

    assert len(graph.valid) == 0
    assert "has no validation triplets" in graph.notes[0]


def test_parts_with_other_entities_are_refused() -> None:
    training = TriplesFactory.from_labeled_triples(TRIPLES)
    testing = TriplesFactory.from_labeled_triples(np.array([("mars", "neighbor", "venus")]))

    with pytest.raises(DataError, match="testing numbers its entities otherwise"):
        load(EagerDataset(training, testing))


def test_a_split_of_a_set_is_refused() -> None:
    nations: Dataset = Nations()

    with pytest.raises(DataError, match="has splits of its own"):
        load(nations, split=SplitShares(train=0.8, valid=0.1, test=0.1))


def test_reading_graphs_imports_neither_pykeen_nor_torch() -> None:
    code = "from interstellar import load; load([('a', 'r', 'b')])"

    assert list_imported(code, "pykeen", "torch", "torch_geometric") == []


EDGES = torch.tensor([[0, 1, 0, 2], [1, 2, 2, 0]])
TYPES = torch.tensor([0, 0, 1, 1])


class Data(SimpleNamespace):
    """What PyG's `Data` is to a reader: attributes, and an iterator over them."""

    def __iter__(self) -> Any:
        return iter(vars(self).items())


def data(**others: Any) -> Data:
    return Data(**{"edge_index": EDGES, "edge_type": TYPES, "num_nodes": 4} | others)


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
        load(data(**masks), split=SplitShares(train=0.8, valid=0.1, test=0.1))


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
