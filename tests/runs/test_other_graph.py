"""Another graph has its own entities, and relations numbered as the run knows them."""

from pathlib import Path

import numpy as np
import pytest

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, SettingsError
from interstellar.runs.other_graph import read_other_graph

RELATIONS = Vocabulary(["knows", "likes", "meets"])
TEXT = "x\tmeets\ty\ny\tlikes\tz\nz\tmeets\tx\n"


def named(graph: KnowledgeGraph, split: str) -> set[tuple[str, str, str]]:
    names = graph.entities, graph.relations, graph.entities
    return {
        (names[0].name(s), names[1].name(r), names[2].name(o))
        for s, r, o in graph.split(split).tolist()
    }


def test_all_triplets_of_a_plain_file_are_facts_with_the_ids_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text(TEXT)

    graph = read_other_graph(path, RELATIONS)

    assert graph.relations == RELATIONS
    assert named(graph, "train") == {tuple(line.split("\t")) for line in TEXT.splitlines()}
    assert len(graph.valid) == len(graph.test) == 0
    assert set(graph.train[:, 1].tolist()) == {1, 2}


def test_a_folder_keeps_its_splits(tmp_path: Path) -> None:
    held_out = {"valid": "z\tlikes\ty\n", "test": "x\tlikes\tz\n"}
    for name, text in {"train": TEXT, **held_out}.items():
        (tmp_path / f"{name}.txt").write_text(text)

    graph = read_other_graph(tmp_path, RELATIONS)

    assert named(graph, "test") == {("x", "likes", "z")}
    assert len(graph.train) == 3


def test_a_graph_that_is_loaded_already_is_renumbered_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text(TEXT)
    loaded = load(path, split="100/0/0")
    before = loaded.train.copy()

    graph = read_other_graph(loaded, RELATIONS)

    assert named(graph, "train") == named(loaded, "train")
    assert np.array_equal(loaded.train, before)


def test_relations_that_the_run_does_not_know_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text(TEXT + "".join(f"x\tr{i}\ty\n" for i in range(7)))

    with pytest.raises(DataError, match=r'does not know: "r0", "r1", "r2", "r3", "r4" and 2 more'):
        read_other_graph(path, RELATIONS)


def test_two_graphs_are_refused() -> None:
    with pytest.raises(SettingsError, match="no single graph"):
        read_other_graph("synthetic-alignment:entities=60", RELATIONS)
