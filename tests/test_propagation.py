"""A propagation from the outside: trained, resumed, asked about graphs it never saw, refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import interstellar as ist
from interstellar.architecture.notation import read_architecture
from interstellar.data.graph import KnowledgeGraph
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError, InterstellarError, SettingsError
from tests.cli.run_command import assert_refused, make_run, run_command

DATA = "synthetic:entities=20"
SMALL: Any = {"model": "propagation", "dim": 4, "depth": 2, "epochs": 2, "progress": False}
NBF = "O_r = h ⊙ r; v = O_r"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("propagation") / "run"
    ist.train(DATA, NBF, out=path, **SMALL)
    return path


def permuted(graph: KnowledgeGraph, seed: int) -> KnowledgeGraph:
    """The same graph with other names and ids of its entities, and other ids of its relations."""
    rng = np.random.default_rng(seed)
    places = [rng.permutation(len(names)) for names in (graph.entities, graph.relations)]

    def move(triplets: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        columns = (places[0][triplets[:, 0]], places[1][triplets[:, 1]], places[0][triplets[:, 2]])
        return np.stack(columns, axis=1).astype(np.int32)

    relations = [graph.relations.name(i) for i in np.argsort(places[1]).tolist()]
    return KnowledgeGraph(
        name="other",
        entities=Vocabulary([f"new {i}" for i in range(len(graph.entities))]),
        relations=Vocabulary(relations),
        train=move(graph.train),
        valid=move(graph.valid),
        test=move(graph.test),
    )


def test_entities_that_training_never_saw_are_ranked_as_those_that_it_saw(run: Path) -> None:
    model = ist.open(run)
    assert isinstance(model.graph, KnowledgeGraph)
    other = permuted(model.graph, seed=1)

    asked = ist.open(run, graph=other)

    assert asked.graph.name == "other"
    assert asked.evaluate() == pytest.approx(model.evaluate(), rel=1e-4)
    assert asked.evaluate(split="valid") == pytest.approx(model.evaluate(split="valid"), rel=1e-4)
    with pytest.raises(SettingsError, match="this is another graph"):
        asked.evaluate_calibration()


def test_the_metrics_of_a_run_are_those_of_its_weights(run: Path) -> None:
    model = ist.open(run)

    assert model.evaluate() == model.metrics["test"]
    assert "propagation" in (run / "experiment.toml").read_text()


def test_the_message_of_nbfnet_is_propagated_where_no_architecture_is_given(run: Path) -> None:
    model = ist.train(DATA, **SMALL)

    assert model.architecture == read_architecture(NBF)
    assert model.result["weights_sha256"] == ist.open(run).result["weights_sha256"]


def test_answers_are_ranked_among_a_few_others_of_another_graph(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    graph = ist.open(run).graph
    assert isinstance(graph, KnowledgeGraph)
    asked = ist.open(run, graph=permuted(graph, seed=1))

    few = asked.evaluate(negatives=3, seed=1)

    assert few == asked.evaluate(negatives=3, seed=1) != asked.evaluate(negatives=3, seed=2)
    assert few["hits@10"] == 1.0
    assert few["mrr"] > asked.evaluate()["mrr"]
    settings = ("--architecture", "ComplEx", "--dim", 4, "--epochs", 1)
    walks = make_run(tmp_path / "walks", "train", DATA, *settings)
    told = run_command(capfd, "evaluate", walks, "--negatives", 3, "--seed", 5, "--json").json
    assert told["metrics"] == ist.open(walks).evaluate(negatives=3, seed=5)
    assert (told["negatives"], told["seed"]) == (3, 5)


def test_a_graph_in_a_file_is_asked_by_name(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    relations = ist.open(run).graph.all_relations.to_list()
    path = tmp_path / "other.tsv"
    path.write_text(f"anna\t{relations[0]}\tbert\nbert\t{relations[1]}\tcleo\n")
    query = ("--graph", path, "--subject", "anna", "--relation", relations[1])

    found = run_command(capfd, "predict", run, *query, "--json")

    assert {each["entity"] for each in found.json["answers"]} <= {"anna", "bert", "cleo"}
    path.write_text("anna\tis unknown to\tbert\n")
    assert_refused(run_command(capfd, "predict", run, *query), '"is unknown to"')


def test_a_query_about_an_entity_without_triplets_is_answered_and_said(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    relation = ist.open(run).graph.all_relations.name(0)
    for name, line in (("train", "a\t{}\tb"), ("valid", "a\t{}\tc"), ("test", "c\t{}\tb")):
        (tmp_path / f"{name}.txt").write_text(line.format(relation) + "\n")

    query = ("predict", run, "--graph", tmp_path, "--subject", "c", "--relation", relation)
    found = run_command(capfd, *query, "--explain")

    assert found.code == 0
    assert '"c" stands in no known triplet' in found.err
    assert "paths that lead to it: 0" in found.out
    assert "number before a path" not in found.out


def test_a_resumed_training_has_the_weights_of_one_that_was_never_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ist.train(DATA, NBF, out=tmp_path / "whole", **SMALL | {"epochs": 3})
    with monkeypatch.context() as patch:
        patch.setattr("interstellar.runs.training_run.finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ist.train(DATA, NBF, out=tmp_path / "run", **SMALL | {"epochs": 3})
    resumed = ist.train(DATA, NBF, out=tmp_path / "run", resume=True, **SMALL | {"epochs": 3})

    assert resumed.result["weights_sha256"] == whole.result["weights_sha256"]


def test_what_needs_embeddings_of_entities_is_refused_with_what_to_do(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export = run_command(capfd, "export", run, "--out", tmp_path / "e.tsv")
    assert_refused(export, "no embeddings of entities", "walks")
    assert not (tmp_path / "e.tsv").exists()


def test_answers_are_explained_by_paths_also_of_another_graph(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    relations = ist.open(run).graph.all_relations.to_list()
    path = tmp_path / "other.tsv"
    path.write_text(f"anna\t{relations[0]}\tbert\ncleo\t{relations[1]}\tbert\n")
    query = ("predict", run, "--graph", path, "--subject", "anna", "--relation", relations[2])

    found = run_command(capfd, *query, "--explain", "--json").json
    shown = run_command(capfd, *query, "--explain").out

    way = f"anna –{relations[0]}→ bert ←{relations[1]}– cleo"
    paths = {each["entity"]: [p["path"] for p in each["paths"]] for each in found["answers"]}
    assert paths == {"anna": [], "bert": [f"anna –{relations[0]}→ bert"], "cleo": [way]}
    assert found["reads_path"]
    assert way in shown
    assert "what a step of the path adds to the answer's logit" in shown
    model = ist.open(run)
    entity = model.graph.all_entities.name(0)
    [first, *_] = model.predict(subject=entity, relation=relations[0], explain=True)
    assert first.explanation is not None


def test_a_run_of_walks_cannot_be_asked_about_another_graph(tmp_path: Path) -> None:
    ist.train(DATA, "DistMult", out=tmp_path / "walks", dim=4, epochs=1, progress=False)

    with pytest.raises(SettingsError, match=r"model walks.*Train with the model propagation"):
        ist.open(tmp_path / "walks", graph=ist.load(DATA))


def test_an_alignment_is_not_propagated() -> None:
    with pytest.raises(InterstellarError, match="there are two"):
        ist.train("synthetic-alignment:entities=60", "RSN", model="propagation", progress=False)


@pytest.mark.parametrize("cell", [NBF, "O_s = s gated h; O_r = tanh(W3 O_s + r); v = s ⊗ O_r"])
@pytest.mark.parametrize("aggregation", ["sum", "max"])
def test_any_cell_is_propagated_with_any_choice(
    tmp_path: Path, cell: str, aggregation: str
) -> None:
    asked = ("--epochs", 1, "--dim", 4, "--depth", 2, "--aggregation", aggregation)
    choices = ("--attention", "query", "--relations", "query", "--update", "gate")
    train = ("train", DATA, "--architecture", cell, "--model", "propagation")

    model = ist.open(make_run(tmp_path / "run", *train, *asked, *choices))

    propagation = model.trained.experiment.settings.propagation
    assert propagation is not None
    assert (propagation.aggregation, propagation.update) == (aggregation, "gate")
    assert torch.isfinite(model.trained.network.logits(torch.tensor([0]), torch.tensor([0]))).all()


def test_a_cell_whose_message_comes_from_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"O_r = s \+ r; v = O_r cannot be propagated"):
        ist.train(DATA, "O_r = s + r; v = O_r", out=tmp_path / "run", **SMALL)

    assert not (tmp_path / "run").exists()


def test_new_facts_and_entities_are_taken_in_at_once(run: Path, tmp_path: Path) -> None:
    before = ist.open(run)
    relation, known = before.graph.all_relations.name(0), before.graph.all_entities.name(0)
    more = [("newcomer", relation, known), (known, relation, "newcomer")]

    after = before.update(more, out=tmp_path / "newer", progress=False)

    found = after.predict(subject="newcomer", relation=relation, k=3)
    assert len(found) == 3
    assert known not in {answer.entity for answer in found}
    assert after.result["continued_from"]["new_entities"] == 1
    for name, weight in after.trained.network.named_parameters():
        assert torch.equal(weight, before.trained.network.get_parameter(name))


def test_a_new_relation_must_be_learnt(run: Path, tmp_path: Path) -> None:
    before = ist.open(run)
    more = [(before.graph.all_entities.name(i), "likes", "newcomer") for i in range(4)]

    with pytest.raises(DataError, match="1 relations that the run does not know"):
        before.update(more, out=tmp_path / "refused", progress=False)
    after = before.update(more, epochs=1, out=tmp_path / "newer", progress=False)

    assert "likes" in after.graph.all_relations.to_list()
    assert after.predict(subject="newcomer", relation="likes", k=3)


def test_a_pruned_propagation_is_trained_kept_and_asked_again(tmp_path: Path) -> None:
    whole = ist.train(DATA, NBF, **SMALL)
    pruned = ist.train(DATA, NBF, nodes=3, out=tmp_path / "run", **SMALL)

    again = ist.open(tmp_path / "run")

    assert pruned.result["weights_sha256"] != whole.result["weights_sha256"]
    assert again.evaluate() == pruned.metrics["test"]
    assert again.update([("new", again.graph.all_relations.name(0), "newer")], progress=False)
    assert ist.train(DATA, NBF, nodes=10**6, **SMALL).metrics["test"] == pytest.approx(
        whole.metrics["test"], rel=1e-3
    )


def test_how_many_nodes_are_kept_must_make_sense() -> None:
    with pytest.raises(SettingsError, match="nodes is 0"):
        ist.train(DATA, NBF, nodes=0, **SMALL)
    with pytest.raises(SettingsError, match="nodes belongs to a propagation"):
        ist.train(DATA, "ComplEx", nodes=3, progress=False)
