"""Where the ranks of a network come from."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.statistics import count_hops
from interstellar.data.vocabulary import Vocabulary
from interstellar.records.run_folder import RunFolder
from interstellar.reporting.rank_study import (
    BEYOND,
    RankStudy,
    RelationKind,
    count_ranks,
    relation_kinds,
    study_run,
)
from interstellar.runs.kept_graph import load_graph
from tests.reporting.written_runs import KEPT
from tests.runs.small_runs import train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(folder)
    return folder


@pytest.fixture(scope="module")
def study(run: Path) -> RankStudy:
    found = study_run(run, "cpu")
    assert found is not None
    return found


def test_all_relations_together_have_the_metrics_of_the_run(run: Path, study: RankStudy) -> None:
    test = json.loads((run / "result.json").read_text())["metrics"]["test"]

    for groups in (study.by_relation, study.by_kind, study.by_hops):
        n = sum(group.both.n for group in groups)
        assert n == test["n"] == sum(study.counts)
        mrr = sum(group.both.n * group.both.mrr for group in groups) / n
        assert mrr == pytest.approx(test["mrr"])
        hits = sum(group.both.n * group.both.hits_at_10 for group in groups) / n
        assert hits == pytest.approx(test["hits@10"])
    assert sum(share for _, share in study.shares) == pytest.approx(1)
    assert study.counts[0] / test["n"] == pytest.approx(test["hits@1"])


def test_both_ways_are_the_objects_and_the_subjects(study: RankStudy) -> None:
    for group in study.by_relation:
        assert group.both.n == 2 * group.objects.n == 2 * group.subjects.n
        mean = (group.objects.mrr + group.subjects.mrr) / 2
        assert group.both.mrr == pytest.approx(mean)


def test_relations_are_named_and_the_frequent_first(run: Path, study: RankStudy) -> None:
    graph = load_graph(RunFolder(run))
    assert isinstance(graph, KnowledgeGraph)
    names = {graph.relations.name(i) for i in graph.test[:, 1].tolist()}

    sizes = [group.both.n for group in study.by_relation]

    assert {group.name for group in study.by_relation} == names
    assert sizes == sorted(sizes, reverse=True)


def test_distances_are_those_of_data_info(run: Path, study: RankStudy) -> None:
    graph = load_graph(RunFolder(run))
    assert isinstance(graph, KnowledgeGraph)
    shares = count_hops(graph)["test"]

    for group in study.by_hops:
        assert 100 * group.objects.n / len(graph.test) == pytest.approx(shares[group.name])


def test_kinds_of_relations_are_those_of_bordes_over_all_splits() -> None:
    one, many = [(0, 0, 1), (2, 0, 3)], [(0, 1, 1), (0, 1, 2), (0, 1, 3)]
    back = [(o, 2, s) for s, _, o in many]
    all_ways = [(s, 3, o) for s in (0, 1) for o in (2, 3)]
    rare = [(0, 4, 1), (0, 4, 2), (5, 4, 3)]  # 1.5 objects a subject are many, 1 subject is one
    triplets = np.array([*one, *many, *back, *all_ways, *rare], dtype=np.int32)
    graph = KnowledgeGraph(
        name="kinds",
        entities=Vocabulary([f"e{i}" for i in range(6)]),
        relations=Vocabulary([f"r{i}" for i in range(6)]),
        train=triplets[::2],
        valid=triplets[1::4],
        test=triplets[3::4],
    )

    assert relation_kinds(graph) == ["1-1", "1-N", "N-1", "N-N", "1-N", "1-1"]
    assert set(relation_kinds(graph)) <= set(RelationKind)


def test_ranks_are_counted_by_their_place() -> None:
    ranks = np.array([1.0, 1.5, 2.0, 3.0, 10.0, 10.5, 1000.0, 1000.5, 40000.0])

    assert count_ranks(ranks) == (1, 3, 1, 1, 0, 1, 2)
    assert BEYOND == "> 1000"


def test_an_alignment_has_no_ranks_of_links() -> None:
    assert study_run(KEPT / "aligned", "cpu") is None


def test_a_run_is_asked_without_being_written_to(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    (copy / "calibration.json").unlink()
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}

    study_run(copy, "cpu")

    assert before == {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_finds_the_same_ranks(run: Path, study: RankStudy) -> None:
    found = study_run(run, "cuda")

    assert found is not None
    assert found.by_kind[0].both.mrr == pytest.approx(study.by_kind[0].both.mrr, rel=1e-3)
