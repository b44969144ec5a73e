"""PyKEEN's factories and sets, read without importing it."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from pykeen.datasets import Nations
from pykeen.datasets.base import Dataset, EagerDataset
from pykeen.triples import CoreTriplesFactory, TriplesFactory

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.splitting import Split
from interstellar.errors import DataError
from tests.tiny_graphs import EUROPE

TRIPLES = np.array(EUROPE)


def read(source: object) -> KnowledgeGraph:
    graph = load(source)
    assert isinstance(graph, KnowledgeGraph)
    return graph


def test_a_set_keeps_its_splits_names_and_ids() -> None:
    dataset: Dataset = Nations()  # type: ignore[no-untyped-call]
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
    nations: Dataset = Nations()  # type: ignore[no-untyped-call]

    with pytest.raises(DataError, match="has splits of its own"):
        load(nations, split=Split(train=0.8, valid=0.1, test=0.1))


def test_reading_graphs_imports_neither_pykeen_nor_torch() -> None:
    code = (
        "import sys; from interstellar import load; load([('a', 'r', 'b')]);"
        "print([m for m in ('pykeen', 'torch', 'torch_geometric') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
