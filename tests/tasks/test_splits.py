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


def test_a_part_of_a_split_is_always_the_same() -> None:
    graph = interstellar.load("synthetic:entities=100")

    first, second = (held_out(graph, Split.VALID, 5) for _ in range(2))

    assert len(first) == 5
    assert (first == second).all()
    assert held_out(graph, Split.VALID, 10**6) is graph.valid
