"""Plain text out, and in again."""

from pathlib import Path

import pytest

from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.data.writing import write_text
from interstellar.errors import DataError, SettingsError
from tests.tiny_graphs import write_rsn_folder


def names(triplets: Triplets, entities: Vocabulary, relations: Vocabulary) -> set[tuple[str, ...]]:
    return {(entities.name(s), relations.name(r), entities.name(o)) for s, r, o in triplets}


def facts(graph: AnyGraph) -> list[set[tuple[str, ...]]]:
    if isinstance(graph, KnowledgeGraph):
        return [
            names(part, graph.entities, graph.relations)
            for part in (graph.train, graph.valid, graph.test)
        ]
    sides = [names(s.triplets, s.entities, s.relations) for s in (graph.first, graph.second)]
    pairs: list[set[tuple[str, ...]]] = [
        {(graph.first.entities.name(a), graph.second.entities.name(b)) for a, b in part}
        for part in (graph.seeds, graph.valid, graph.test)
    ]
    return sides + pairs


@pytest.mark.parametrize("name", ["geography-S2", "synthetic-alignment:entities=60"])
def test_what_is_written_reads_back_the_same(tmp_path: Path, name: str) -> None:
    graph = load(name)

    again = load(write_text(graph, tmp_path / "out"))

    assert facts(again) == facts(graph)
    if isinstance(graph, KnowledgeGraph):
        assert isinstance(again, KnowledgeGraph)
        assert graph.answers is not None
        assert again.answers is not None
        assert {again.entities.name(i) for i in again.answers} == {
            graph.entities.name(i) for i in graph.answers
        }


def test_an_rsn_set_keeps_its_splits_in_openea_form(tmp_path: Path) -> None:
    graph = load(write_rsn_folder(tmp_path / "in"))

    again = load(write_text(graph, tmp_path / "out"))

    assert isinstance(again, GraphPair)
    assert facts(again) == facts(graph)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="exists, and nothing is overwritten"):
        write_text(load("geography-S1"), tmp_path)


def test_a_name_that_text_cannot_hold_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    rows = [("a\tb", "r", "c"), ("c", "r", "a\tb"), ("c", "r", "c"), ("a\tb", "r", "a\tb")]
    graph = load(rows)

    with pytest.raises(DataError, match="holds a tab or a line break"):
        write_text(graph, tmp_path / "out")

    assert list(tmp_path.iterdir()) == []
