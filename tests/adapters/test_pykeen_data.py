"""Graphs handed to PyKEEN and back."""

import subprocess
import sys

import numpy as np
import pytest
from pykeen.datasets import Dataset, Nations
from pykeen.triples import TriplesFactory

from interstellar.adapters.pykeen_data import to_factories
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load


def test_a_graph_goes_to_pykeen_and_back_with_its_ids() -> None:
    graph = load("geography-S1")
    assert isinstance(graph, KnowledgeGraph)

    factories = to_factories(graph)

    assert factories.train.num_entities == len(graph.entities)
    assert factories.test.entity_to_id["france"] == graph.entities.id("france")
    np.testing.assert_array_equal(factories.valid.mapped_triples.numpy(), graph.valid)


def test_pykeens_own_sets_come_back_as_they_were() -> None:
    dataset: Dataset = Nations()  # type: ignore[no-untyped-call]
    assert isinstance(dataset.training, TriplesFactory)
    graph = load(dataset)
    assert isinstance(graph, KnowledgeGraph)

    factories = to_factories(graph)

    assert factories.train.entity_to_id == dataset.training.entity_to_id
    assert factories.train.relation_to_id == dataset.training.relation_to_id
    assert factories.test.mapped_triples.equal(dataset.testing.mapped_triples)


@pytest.mark.parametrize("module", ["pykeen_data", "pykeen_model"])
def test_without_pykeen_there_is_advice(module: str) -> None:
    code = (
        "import sys; sys.modules['pykeen'] = None\n"
        "from interstellar.errors import SettingsError\n"
        f"try: import interstellar.adapters.{module}\n"
        "except SettingsError as error: print(error)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install interstellar-kg[pykeen]" in done.stdout
