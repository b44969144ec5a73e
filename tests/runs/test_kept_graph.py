import shutil
from pathlib import Path

import numpy as np
import pytest

import interstellar
from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph
from interstellar.errors import DataError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.kept_graph import arrays_of, graph_sha256, load_graph, save_graph

DATA = ("geography-S3", "synthetic:entities=50,seed=1", "synthetic-alignment:entities=40,seed=2")


def keep(graph: AnyGraph, folder: Path) -> RunFolder:
    run = RunFolder.create(folder / "run", experiment="", environment={})
    save_graph(run, graph)
    return run


@pytest.mark.parametrize("data", DATA)
def test_a_graph_comes_back_as_it_was(tmp_path: Path, data: str) -> None:
    graph = interstellar.load(data)

    found = load_graph(keep(graph, tmp_path))

    assert type(found) is type(graph)
    assert found.name == graph.name
    assert found.all_entities == graph.all_entities
    assert found.all_relations == graph.all_relations
    for name, ids in arrays_of(graph).items():
        np.testing.assert_array_equal(arrays_of(found)[name], ids)
    assert graph_sha256(found) == graph_sha256(graph)


def test_the_two_sides_of_a_pair_are_told_apart_again(tmp_path: Path) -> None:
    graph = interstellar.load(DATA[2])
    assert isinstance(graph, GraphPair)

    found = load_graph(keep(graph, tmp_path))

    assert isinstance(found, GraphPair)
    assert found.source.entities == graph.source.entities
    assert found.target.relations == graph.target.relations


LABELLED = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:de rdfs:label "Germany" .
ex:de ex:near ex:fr . ex:fr ex:near ex:it . ex:it ex:near ex:de .
"""


def test_labels_of_entities_are_kept_also_of_two_graphs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.ttl").write_text(LABELLED)
    iris = [f"http://example.org/{name}" for name in ("de", "fr", "it")]
    (tmp_path / "pairs.tsv").write_text("".join(f"{iri}\t{iri}\n" for iri in iris))
    one = interstellar.load(tmp_path / "one.ttl", labels=True)
    two = interstellar.load(
        tmp_path / "one.ttl",
        second=tmp_path / "two.ttl",
        pairs=tmp_path / "pairs.tsv",
        labels=True,
    )

    found = load_graph(keep(one, tmp_path))
    (tmp_path / "pair").mkdir()
    pair = load_graph(keep(two, tmp_path / "pair"))

    assert found.all_entities.labels == {iris[0]: "Germany"}
    assert isinstance(pair, GraphPair)
    assert pair.source.entities.labels[iris[0]] == pair.target.entities.labels[iris[0]] == "Germany"


def test_a_graph_is_kept_apart_from_one_that_differs_in_a_single_valid_triplet() -> None:
    graph = interstellar.load(DATA[0])
    assert isinstance(graph, KnowledgeGraph)
    other = interstellar.load(DATA[0])
    assert isinstance(other, KnowledgeGraph)

    other.valid[0, 2] += 1

    assert graph_sha256(other) != graph_sha256(graph)


def test_names_with_tabs_and_newlines_are_kept(tmp_path: Path) -> None:
    graph = interstellar.load([("a\tb", "r\n", "c"), ("c", "r\n", "a\tb"), ("é", "r\n", "c")])

    assert load_graph(keep(graph, tmp_path)).all_entities == graph.all_entities


@pytest.mark.parametrize("n_bytes", [0, 7, 100, -5])
def test_a_cut_file_is_refused(tmp_path: Path, n_bytes: int) -> None:
    run = keep(interstellar.load(DATA[0]), tmp_path)
    run.graph_file.write_bytes(run.graph_file.read_bytes()[:n_bytes])

    with pytest.raises(DataError, match="cut or altered"):
        load_graph(run)


def test_an_altered_id_is_refused(tmp_path: Path) -> None:
    run = keep(interstellar.load(DATA[0]), tmp_path)
    content = bytearray(run.graph_file.read_bytes())
    content[-4:] = (2**31 - 1).to_bytes(4, "little")
    run.graph_file.write_bytes(content)

    with pytest.raises(DataError, match="cut or altered"):
        load_graph(run)


def test_a_run_without_a_graph_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = keep(interstellar.load(DATA[0]), tmp_path)
    run.graph_file.unlink()

    with pytest.raises(DataError, match="train it anew"):
        load_graph(run)


def test_the_graph_of_another_run_is_refused(tmp_path: Path) -> None:
    run = keep(interstellar.load(DATA[0]), tmp_path)
    (tmp_path / "other").mkdir()
    other = keep(interstellar.load(DATA[1]), tmp_path / "other")
    shutil.copy(other.graph_file, run.graph_file)

    with pytest.raises(DataError, match="cut or altered"):
        load_graph(run)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    run = keep(interstellar.load(DATA[0]), tmp_path)
    content = run.graph_file.read_bytes().replace(b'"version":"1"', b'"version":"9"')
    run.graph_file.write_bytes(content)

    with pytest.raises(DataError, match=r"version '9'.*Use the version that wrote it"):
        load_graph(run)
