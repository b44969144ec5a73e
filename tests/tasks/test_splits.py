from dataclasses import replace

import pytest

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.errors import SettingsError
from interstellar.tasks.splits import Split, count_held_out, require_validation


def test_what_is_held_out_is_counted() -> None:
    graph = interstellar.load("geography-S3")

    assert (count_held_out(graph, Split.VALID), count_held_out(graph, Split.TEST)) == (24, 24)


def test_a_graph_without_validation_is_refused_with_what_to_do() -> None:
    graph = interstellar.load("geography-S3")
    assert isinstance(graph, KnowledgeGraph)

    with pytest.raises(SettingsError, match=r"nothing out for validation.*--split 90/10/0"):
        require_validation(replace(graph, valid=graph.valid[:0]))
