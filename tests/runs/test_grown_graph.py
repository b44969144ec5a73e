"""A graph that grows: old ids stay, new names follow, and what is held out stays held out."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interstellar
from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_pairs
from interstellar.data.graph import Graph, GraphPair, KnowledgeGraph
from interstellar.data.loading import Source
from interstellar.data.vocabulary import Vocabulary
from interstellar.runs.grown_graph import (
    GrownGraph,
    Side,
    add_pairs,
    grow_graph,
    grow_pair,
    read_added,
)
from tests.tiny_graphs import (
    EUROPE,
    ring,
    write_openke_folder,
    write_rows,
    write_rsn_folder,
    write_split_folder,
)

Row = tuple[str, str, str]

FACTS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("rs"), st.sampled_from("abcdef")),
    min_size=1,
    max_size=12,
)


def europe(folder: Path) -> KnowledgeGraph:
    graph = interstellar.load(write_split_folder(folder))
    assert isinstance(graph, KnowledgeGraph)
    return graph


def rings(folder: Path) -> GraphPair:
    """Return two rings of ten; ei of the first means fi of the second, eight pairs are known."""
    pairs = write_rows(folder / "pairs.tsv", [(f"e{i}", f"f{i}") for i in range(8)])
    graph = interstellar.load(ring(10), second=ring(10, prefix="f", relation="after"), pairs=pairs)
    assert isinstance(graph, GraphPair)
    return graph


def facts(rows: Sequence[Row]) -> Graph:
    found = read_added(rows, Findings())
    assert found is not None
    return found


def grow(graph: KnowledgeGraph, rows: Sequence[Row]) -> GrownGraph:
    return grow_graph(graph, facts(rows), Findings())


def one(grown: GrownGraph) -> KnowledgeGraph:
    assert isinstance(grown.graph, KnowledgeGraph)
    return grown.graph


def two(grown: GrownGraph) -> GraphPair:
    assert isinstance(grown.graph, GraphPair)
    return grown.graph


def test_old_names_keep_their_ids_and_new_ones_count_on(tmp_path: Path) -> None:
    old = europe(tmp_path)

    grown = one(grow(old, [("malta", "uses", "euro"), ("malta", "locatedin", "europe")]))

    assert grown.entities.to_list() == [*old.entities.to_list(), "malta", "euro"]
    assert grown.relations.to_list() == [*old.relations.to_list(), "uses"]
    assert grown.train[: len(old.train)].tolist() == old.train.tolist()
    n = len(old.entities)
    europe_id, located = old.entities.id("europe"), old.relations.id("locatedin")
    assert grown.train[len(old.train) :].tolist() == [[n, 2, n + 1], [n, located, europe_id]]
    assert grown.name == f"{old.name}, updated"


def test_what_is_known_or_repeated_is_counted_and_added_once(tmp_path: Path) -> None:
    known, new = ("france", "neighbor", "spain"), ("italy", "neighbor", "france")

    grown = grow(europe(tmp_path), [known, new])

    assert (grown.growth.added, grown.growth.known) == (1, 1)
    assert grown.growth.new_entities == grown.growth.new_relations == 0


def test_a_held_out_triplet_that_is_given_stays_held_out_and_is_counted(tmp_path: Path) -> None:
    old = europe(tmp_path)
    in_valid, in_test = ("italy", "locatedin", "europe"), ("portugal", "neighbor", "spain")

    grown = grow(old, [in_valid, in_test, ("malta", "locatedin", "europe")])

    assert (grown.growth.added, grown.growth.held_out) == (1, 2)
    assert one(grown).valid.tolist() == old.valid.tolist()
    assert one(grown).test.tolist() == old.test.tolist()


def test_an_entity_in_no_triplet_gets_no_id_and_is_named(tmp_path: Path) -> None:
    listed = Graph(
        entities=Vocabulary(["nowhere", "malta", "france", "atlantis"]),
        relations=Vocabulary(["unused", "neighbor"]),
        triplets=np.array([[1, 1, 2]], dtype=np.int32),
    )

    grown = grow_graph(europe(tmp_path), listed, Findings())

    assert grown.growth.without_triplets == ("nowhere", "atlantis")
    assert one(grown).entities.to_list()[-1] == "malta"
    assert (grown.growth.new_entities, grown.growth.new_relations) == (1, 0)


def test_a_new_name_that_looks_like_an_old_one_is_said(tmp_path: Path) -> None:
    findings = Findings()

    grow_graph(europe(tmp_path), facts([("France", "neighbor", "malta")]), findings)

    assert [note for note in findings.notes if '"France" beside "france"' in note] != []


@given(old=FACTS, new=FACTS)
def test_growing_by_the_same_again_adds_nothing(old: list[Row], new: list[Row]) -> None:
    graph = interstellar.load(old)
    assert isinstance(graph, KnowledgeGraph)

    once = grow(graph, new)
    twice = grow(one(once), new)

    counts = once.growth
    assert counts.added + counts.known + counts.held_out == len(set(new))
    assert twice.growth.is_empty
    assert twice.growth.held_out == once.growth.held_out
    assert one(twice).train.tolist() == one(once).train.tolist()


def named(graph: GraphPair) -> set[Row]:
    entities, relations = graph.all_entities, graph.all_relations
    return {
        (entities.name(s), relations.name(r), entities.name(o))
        for s, r, o in graph.joint_triplets().tolist()
    }


@pytest.mark.parametrize("side", Side)
def test_of_two_graphs_the_one_that_is_meant_grows_and_all_names_keep_their_meaning(
    tmp_path: Path, side: Side
) -> None:
    old = rings(tmp_path)
    more = [("new", "made of", "e1"), ("e1", "next", "new")]

    grown = grow_pair(old, facts(more), side, Findings())

    now = two(grown)
    assert named(now) == named(old) | set(more)
    expected = (12, 10) if side is Side.SECOND else (11, 10)
    sizes = len(now.target.entities), len(now.source.entities)
    assert sizes == (expected if side is Side.SECOND else expected[::-1])
    for old_names, names, ids in (
        (old.all_entities, now.all_entities, grown.entity_ids),
        (old.all_relations, now.all_relations, grown.relation_ids),
    ):
        assert [names.name(i) for i in ids.tolist()] == old_names.to_list()


def test_more_pairs_become_seeds_and_those_held_out_stay_so(tmp_path: Path) -> None:
    old = rings(tmp_path)
    [(a, b)] = old.test.tolist()
    held_out = (old.source.entities.name(a), old.target.entities.name(b))
    seed = tuple(
        side.entities.name(i)
        for side, i in zip((old.source, old.target), old.train[0].tolist(), strict=True)
    )
    rows = [("new", "f9"), held_out, seed, ("e8", "f8")]
    table = read_pairs(write_rows(tmp_path / "more.tsv", rows), Findings())
    grown = grow_pair(old, facts([("e0", "next", "new")]), Side.FIRST, Findings())

    grown = add_pairs(grown, table, findings := Findings())

    growth, now = grown.growth, two(grown)
    assert findings.faults == []
    assert (growth.added_pairs, growth.known_pairs, growth.held_out_pairs) == (2, 1, 1)
    assert now.train[len(old.train) :].tolist() == [[10, 9], [8, 8]]
    assert now.test.tolist() == old.test.tolist()


def test_every_pair_that_cannot_be_is_named_with_its_line(tmp_path: Path) -> None:
    old = rings(tmp_path)
    rows = [("e8", "f8"), ("e1", "f9"), ("e9", "f1"), ("e9", "nobody")]
    table = read_pairs(write_rows(tmp_path / "more.tsv", rows), Findings())
    grown = grow_pair(old, facts([("e0", "next", "new")]), Side.FIRST, Findings())

    add_pairs(grown, table, findings := Findings())

    said = {(fault.line, fault.fault.split(".")[0]) for fault in findings.faults}
    assert said >= {
        (2, "gives 'e1' another partner than the run knows"),
        (3, "gives 'f1' another partner than the run knows"),
        (4, "names 'nobody', which the second graph does not hold"),
        (4, "pairs 'e9' a second time"),
    }


def read(source: Source) -> tuple[Graph, list[str]]:
    findings = Findings()
    graph = read_added(source, findings)
    assert graph is not None, findings.faults
    return graph, findings.notes


def faults_of(source: Source) -> list[str]:
    findings = Findings()
    read_added(source, findings)
    return [str(fault) for fault in findings.faults]


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_everything_in_a_file_without_splits_is_taken(tmp_path: Path, suffix: str) -> None:
    separator = "\t" if suffix == ".tsv" else ","
    file = write_rows(tmp_path / f"more{suffix}", ring(40), separator=separator)

    graph, notes = read(file)

    assert len(graph.triplets) == 40
    assert notes == []


def test_rows_of_names_are_taken() -> None:
    assert len(read(list(EUROPE))[0].triplets) == len(EUROPE)


def test_of_a_folder_with_splits_train_is_taken_and_that_is_said(tmp_path: Path) -> None:
    graph, notes = read(write_split_folder(tmp_path / "more"))

    assert len(graph.triplets) == len(EUROPE)
    assert notes == [
        "more has splits of its own: 6 triplets of train are taken, 2 of valid and test are left "
        "out."
    ]


def test_of_a_file_with_a_column_of_splits_train_is_taken(tmp_path: Path) -> None:
    rows = [("subject", "relation", "object", "split"), ("a", "r", "b", "train")]
    file = write_rows(tmp_path / "more.tsv", [*rows, ("b", "r", "c", "test")])

    graph, notes = read(file)

    assert len(graph.triplets) == 1
    assert len(notes) == 1


def test_names_that_a_form_lists_without_triplets_are_read(tmp_path: Path) -> None:
    folder = write_openke_folder(tmp_path / "more")
    (folder / "entity2id.txt").write_text("4\nann\t0\nbob\t1\ncid\t2\ndan\t3\n")

    graph, _ = read(folder)

    assert graph.entities.to_list() == ["ann", "bob", "cid", "dan"]


def test_all_triplets_of_a_factory_are_taken_with_all_its_names() -> None:
    factory = SimpleNamespace(
        mapped_triples=np.array([[0, 0, 1], [1, 0, 0]]),
        num_entities=3,
        num_relations=1,
        entity_to_id={"a": 0, "b": 1, "c": 2},
        relation_to_id={"r": 0},
    )

    graph, notes = read(factory)

    assert (len(graph.triplets), len(graph.entities), notes) == (2, 3, [])


def test_all_edges_of_a_graph_of_pyg_are_taken() -> None:
    edges, kinds = np.array([[0, 1, 2], [1, 2, 0]]), np.zeros(3, dtype=np.int64)
    data = SimpleNamespace(edge_index=edges, edge_type=kinds, num_nodes=5)

    graph, _ = read(data)

    assert (len(graph.triplets), len(graph.entities)) == (3, 5)


def test_two_graphs_are_refused(tmp_path: Path) -> None:
    [fault] = faults_of(write_rsn_folder(tmp_path / "two"))

    assert "holds two graphs" in fault


def test_all_faults_of_a_file_are_listed(tmp_path: Path) -> None:
    rows = [("a", "r", "b"), ("a", "r"), ("b", "r", "c"), ("b",)]

    faults = faults_of(write_rows(tmp_path / "more.tsv", rows))

    assert [fault.split(":")[1] for fault in faults] == ["2", "4"]


def test_a_file_without_triplets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more.tsv").write_text("")

    assert len(faults_of(tmp_path / "more.tsv")) == 1
    assert faults_of(tmp_path / "missing.tsv") != []


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    [fault] = faults_of("geografy-S1")

    assert "Did you mean geography-S1" in fault
