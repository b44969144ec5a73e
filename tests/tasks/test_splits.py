"""What is held out, and that training needs some of it."""

from dataclasses import replace

import pytest

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.errors import SettingsError
from interstellar.tasks.splits import Split, held_out, require_validation


def test_what_is_held_out_is_the_split_of_that_name() -> None:
    graph = interstellar.load("geography-S3")

    assert held_out(graph, Split.VALID) is graph.valid
    assert held_out(graph, Split.TEST) is graph.test


def test_a_graph_without_validation_is_refused_with_what_to_do() -> None:
    graph = interstellar.load("geography-S3")
    assert isinstance(graph, KnowledgeGraph)

    with pytest.raises(SettingsError, match=r"nothing out for validation.*`split` such as 90/10/0"):
        require_validation(replace(graph, valid=graph.valid[:0]))
