"""Names of large graphs stay in Arrow: from the file to a run, and back."""

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.loading import load
from interstellar.records import name_file
from interstellar.records.run_folder import RunFolder
from interstellar.runs.kept_graph import graph_sha256, load_graph, save_graph
from interstellar.training.settings_changes import SettingsChanges
from interstellar.workflow.training import train

N = 30_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a graph of many entities, each in two triplets or more."""
    path = tmp_path_factory.mktemp("large") / "graph.tsv"
    ends = np.random.default_rng(0).permutation(N).tolist()
    name = "http://www.example.org/entity/Q{}".format
    lines = [f"{name(i)}\tr{i % 7}\t{name(o)}\n" for i, o in enumerate(ends)]
    lines += [f"{name(i)}\tr{i % 5}\t{name((i + 1) % N)}\n" for i in range(N)]
    path.write_text("".join(lines))
    return path


def carry(graph: KnowledgeGraph, path: Path) -> KnowledgeGraph:
    """Return a graph from the folder of a run."""
    run = RunFolder.create(path, experiment="", environment={})
    save_graph(run, graph)
    found = load_graph(run)
    assert isinstance(found, KnowledgeGraph)
    return found


def test_no_name_is_kept_as_a_python_string(file: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.tsv"
    small.write_text("a\tr\tb\n" * 3)
    carry(load(small), tmp_path / "first")  # what is done for the first time imports modules
    before = sys.getallocatedblocks()

    graph = load(file)
    again = carry(graph, tmp_path / "run")
    ids = [again.entities.id(graph.entities.name(i)) for i in (0, 7, N - 1)]

    assert ids == [0, 7, N - 1]
    assert graph_sha256(again) == graph_sha256(graph)
    assert sys.getallocatedblocks() - before < N / 5


def test_names_go_to_a_run_and_back_block_by_block(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_file, "AT_ONCE", 2**8)
    monkeypatch.setattr(name_file, "BLOCK_BYTES", 2**14)
    names = load(file).entities.array
    run = RunFolder(tmp_path)

    tracemalloc.start()
    run.save_names("entities", names)
    found = run.read_names("entities")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.equals(names)
    assert peak < 12 * N  # a Python string of each would take 90 bytes and more


@pytest.mark.parametrize("names", [['a"b', "c\\d"], ["é", "\u2028"], ["", "x"], ["\x00\x1f\x7f"]])
def test_odd_names_among_plain_ones_come_back(names: list[str], tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    whole = load([(f"s{i}", name or "-", "o") for i, name in enumerate([*names, "p"] * 3)])

    run.save_names("relations", whole.relations.array)

    assert run.read_names("relations").equals(whole.relations.array)


def test_an_epoch_of_some_paths_is_trained_and_some_of_what_is_held_out_measured(
    file: Path, tmp_path: Path
) -> None:
    changes = SettingsChanges(
        dim=4, negatives=8, paths_per_epoch=1000, measured=25, epochs=2, batch_size=64
    )

    model = train(load(file), "ComplEx", out=tmp_path / "run", progress=False, **changes)

    assert model.metrics["valid"] is not None
    assert model.metrics["test"] is not None
    assert model.metrics["valid"]["n"] == model.metrics["test"]["n"] == 50  # both ways
    assert model.evaluate(split="test")["n"] == 50
    assert "paths_per_epoch = 1000" in (tmp_path / "run" / "experiment.toml").read_text()
