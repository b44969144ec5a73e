"""Models outside the space from the outside: trained by name, resumed, asked, refused."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

import interstellar as ist
from interstellar.architecture.literature import ALIGNERS, LITERATURE
from interstellar.errors import ArchitectureError, SettingsError, TrainingError
from interstellar.inference.iterated_alignment import IterationSettings, iterate_run
from interstellar.rivals.r_gcn import RGCN
from interstellar.runs.experiment import read_experiment
from interstellar.training.settings import ModelKind
from tests.cli.run_command import assert_refused, run_command

Capture = pytest.CaptureFixture[str]
LINKS, PAIRS = "synthetic:entities=20", "synthetic-alignment:entities=20"
SURE_OF_LITTLE = IterationSettings(epochs=1, least_precision=0.05)
SMALL: Any = {"dim": 4, "negatives": 3, "epochs": 2, "progress": False}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rival") / "run"
    ist.train(LINKS, "rotate", out=path, **SMALL)
    return path


def test_a_rival_is_trained_by_its_name_and_answers(run: Path) -> None:
    model = ist.open(run)

    assert model.result["architecture"] == "RotatE"
    assert read_experiment(run / "experiment.toml").settings.model is ModelKind.RIVAL
    assert model.evaluate() == pytest.approx(model.result["metrics"]["test"], rel=1e-5)
    assert isinstance(model.graph, ist.KnowledgeGraph)
    subject, relation = model.graph.entities.name(0), model.graph.relations.name(0)
    assert len(model.predict(subject=subject, relation=relation, k=3)) == 3


@pytest.mark.parametrize("name", ["RotatE", "RSN-LSTM"])
def test_a_rival_that_is_prolonged_is_the_one_that_was_trained_as_long(
    name: str, tmp_path: Path
) -> None:
    whole, longer = tmp_path / "whole", tmp_path / "longer"
    ist.train(LINKS, name, out=whole, **(SMALL | {"epochs": 6}))
    ist.train(LINKS, name, out=longer, **(SMALL | {"epochs": 3}))
    ist.train(LINKS, name, out=longer, resume=True, **(SMALL | {"epochs": 6}))

    weights = [load_file(path / "state.safetensors") for path in (whole, longer)]

    for key, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][key]) or key.startswith("best.")


def test_a_rival_aligns_two_graphs(tmp_path: Path) -> None:
    model = ist.train(PAIRS, "TransD", out=tmp_path / "run", **SMALL)

    assert model.evaluate(decode="csls")["n"] == model.result["metrics"]["test"]["n"]
    assert len(model.align()) > 0


def test_every_setting_of_the_loss_changes_what_is_learnt(tmp_path: Path) -> None:
    found = set()
    for number, changes in enumerate(
        (
            {},
            {"loss": "margin"},
            {"loss": "softmax"},
            {"loss": "margin", "margin": 3.0},
            {"negatives": 5},
            {"n3": 0.1},
            {"dropout": 0.5},
            {"max_norm": 0.1},
            {"seed": 1},
        )
    ):
        out = tmp_path / str(number)
        given: Any = SMALL | changes
        found.add(ist.train(LINKS, "RotatE", out=out, **given).result["weights_sha256"])

    assert len(found) == 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--architecture", "RotatE", "--model", "walks"), "the model is walks"),
        (("--architecture", "ComplEx", "--model", "rival"), "which an architecture such as RotatE"),
        (("--architecture", "ComplEx", "--loss", "margin"), "belongs to a rival such as RotatE"),
        (("--architecture", "RotatE", "--loss", "hinge"), "loss 'hinge' is unknown"),
        (("--architecture", "RotatE", "--layers", "3"), "layers is 3, but RotatE has none"),
        (("--architecture", "TuckER", "--margin", "3"), "loss is softmax, which no margin changes"),
        (("--architecture", "RotatE", "--depth", "3"), "belongs to a propagation"),
        (
            ("--architecture", "RotatE", "--label-smoothing", "0.1"),
            "labels can be smoothed over all entities only",
        ),
        (("--architecture", "GCN-Align"), "GCN-Align is not for link-prediction"),
        (("--architecture", "RotateE"), "Did you mean RotatE"),
        (("--architecture", "RotatE", "--loss", "hard"), "RotatE learns triplets"),
    ],
)
def test_what_does_not_fit_is_refused(
    capfd: Capture, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    outcome = run_command(capfd, "train", LINKS, *arguments, "--out", tmp_path / "run")

    assert_refused(outcome, said)
    assert not (tmp_path / "run").exists()


def test_hard_ones_are_among_all_entities_of_the_other_graph(
    capfd: Capture, tmp_path: Path
) -> None:
    told = ("--architecture", "Dual-AMN", "--negatives", "5", "--out", tmp_path / "run")

    outcome = run_command(capfd, "train", "synthetic-alignment", *told)

    assert_refused(outcome, "Leave negatives out")


def test_a_run_asks_for_what_another_kind_of_model_has(run: Path) -> None:
    model = ist.open(run)
    assert isinstance(model.graph, ist.KnowledgeGraph)
    query: Any = {
        "subject": model.graph.entities.name(0),
        "relation": model.graph.relations.name(0),
    }
    with pytest.raises(SettingsError, match="needs a network along walks"):
        model.predict(**query, explain=True)
    with pytest.raises(SettingsError, match="an embedding of each entity"):
        ist.open(run, graph=LINKS)


def test_a_propagation_is_trained_by_its_name_and_single_choices_may_be_changed(
    tmp_path: Path,
) -> None:
    small: Any = {"dim": 4, "depth": 2, "epochs": 1, "progress": False, "update": "residual"}
    model = ist.train(LINKS, "red-gnn", out=tmp_path / "run", **small)

    told = read_experiment(model.path / "experiment.toml").settings.propagation
    assert told is not None
    assert (told.aggregation, told.attention, told.update) == ("sum", "query", "residual")


def test_models_lists_every_name_with_its_task(capfd: Capture) -> None:
    models = run_command(capfd, "models", "--json").json["models"]
    aligned = run_command(capfd, "models", "--task", "entity-alignment")

    by_name = {model["name"]: model for model in models}
    assert by_name["TransE"]["in_space"]
    assert not by_name["RotatE"]["in_space"]
    assert "GCN-Align" in aligned.out
    assert "NBFNet" not in aligned.out
    assert_refused(run_command(capfd, "models", "--task", "links"), "link-prediction")


def test_show_says_what_a_rival_is(capfd: Capture, tmp_path: Path) -> None:
    shown = run_command(capfd, "show", "rotate", "--json").json

    assert shown["paper"] == "Sun et al. 2019"
    assert "outside" in run_command(capfd, "show", "RotatE").out
    drawn = run_command(capfd, "show", "RotatE", "--svg", tmp_path / "a.svg")
    assert_refused(drawn, "outside the search space")
    assert run_command(capfd, "show", "NBFNet", "--json").json["paper"] == "Zhu et al. 2021"


def test_the_settings_of_a_rival_are_tuned_and_taken_by_a_training(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    given: Any = SMALL | {"trials": 2}

    tuned = ist.tune(LINKS, "RotatE", out=tmp_path / "tuned", **given)
    model = ist.train(LINKS, tuned, settings=tuned, out=tmp_path / "run", epochs=1, progress=False)

    assert tuned.best.formula == "RotatE"
    assert model.result["architecture"] == "RotatE"
    found = read_experiment(model.path / "experiment.toml").settings
    assert found.learning_rate == tuned.best.settings["learning_rate"]
    assert [t.score for t in ist.SearchResult.open(tuned.path).trials] == [
        t.score for t in tuned.trials
    ]


def test_a_report_says_what_a_rival_is(run: Path, tmp_path: Path) -> None:
    page = ist.report([run], tmp_path / "page.html").read_text(encoding="utf-8")

    assert "A relation turns each complex coordinate by an angle." in page


def test_vectors_are_exported_as_they_are_stored(run: Path, capfd: Capture, tmp_path: Path) -> None:
    weights = load_file(run / "weights.safetensors")
    whole, text = tmp_path / "all.parquet", tmp_path / "all.tsv"

    written = run_command(capfd, "export", run, "--out", whole, "--json").json
    ist.export(run, text)

    assert (written["tables"], written["dim"]) == (["subjects", "relations"], 4)
    rows = pq.read_table(whole)
    vectors = rows["vector"].to_pylist()
    n = written["entities"]
    assert vectors[:n] == weights["entities"].tolist()
    assert vectors[n:] == weights["relations"].tolist()  # angles, half as many
    assert len(vectors[n]) == 2
    *_, last = text.read_text().splitlines()
    assert last.split("\t")[-2:] == ["", ""]
    assert len(last.split("\t")) == len(text.read_text().splitlines()[0].split("\t"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("vectors.tsv", "--table", "objects"), "has one vector of each entity"),
        (("vectors.vec", "--table", "all"), "are of one length"),
    ],
)
def test_vectors_that_there_are_not_or_do_not_fit_are_refused(
    run: Path, capfd: Capture, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    name, *more = arguments

    outcome = run_command(capfd, "export", run, "--out", tmp_path / name, *more)

    assert_refused(outcome, said)
    assert list(tmp_path.iterdir()) == []


def test_what_a_graph_convolution_compares_is_exported(tmp_path: Path) -> None:
    model = ist.train(PAIRS, "GCN-Align", out=tmp_path / "run", **SMALL)

    written = model.export(tmp_path / "vectors.parquet")

    assert (written.tables, written.rows) == (("subjects",), 40)
    rows = pq.read_table(written.path)
    compared = torch.tensor(rows["vector"].to_pylist())
    torch.testing.assert_close(compared, model.trained.subjects)
    assert set(rows["graph"].to_pylist()) == {1, 2}


@pytest.mark.parametrize(("name", "tables"), [("RSN-LSTM", 2), ("RotatE", 1)])
def test_a_rival_takes_in_new_triplets(name: str, tables: int, tmp_path: Path) -> None:
    small: Any = {"dim": 4, "negatives": 3, "epochs": 1, "progress": False}
    model = ist.train(LINKS, name, out=tmp_path / "run", **small)
    assert isinstance(model.graph, ist.KnowledgeGraph)
    old = model.graph.entities.name(0)

    newer = model.update([("newcomer", "newly", old)], out=tmp_path / "new", epochs=1)

    assert isinstance(newer.graph, ist.KnowledgeGraph)
    assert len(newer.predict(subject="newcomer", relation="newly", k=2)) == 2
    exported = newer.export(tmp_path / "vectors.parquet", table="all")
    assert exported.rows == tables * len(newer.graph.entities) + 2 * exported.relations


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", "--try-first", "RotatE"), "RotatE is outside the search space"),
        (("search", "--model", "rival"), "which an architecture such as RotatE names"),
        (("search", "--settings", "{run}"), "those of a model outside the search space"),
        (("train", "--architecture", "RotatE", "--path-length", "3"), "learns single ones"),
    ],
)
def test_searches_and_paths_are_not_for_a_rival(
    run: Path, capfd: Capture, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    command, *flags = (argument.format(run=run) for argument in arguments)
    trials = () if command == "train" else ("--trials", "1")

    outcome = run_command(capfd, command, LINKS, *flags, *trials, "--out", tmp_path / "found")

    assert_refused(outcome, said)
    assert not (tmp_path / "found").exists()


def test_another_graph_and_an_explanation_are_refused_with_what_to_do(
    run: Path, capfd: Capture
) -> None:
    other = run_command(capfd, "evaluate", run, "--graph", LINKS)
    graph = ist.open(run).graph
    query = ("--subject", graph.all_entities.name(0), "--relation", graph.all_relations.name(0))
    explained = run_command(capfd, "predict", run, *query, "--explain")

    assert_refused(other, "of the model rival", "Train with the model propagation")
    assert explained.code == 2
    assert "needs a network along walks" in explained.err
    assert "Train with the model walks" in explained.err


def test_a_model_is_shown_by_its_name(run: Path) -> None:
    assert repr(ist.open(run)).startswith("<Model RotatE of synthetic")


@pytest.mark.parametrize("name", ["BootEA", "RSN-LSTM", "IPTransE"])
def test_rounds_of_an_alignment_go_on_from_what_was_learnt(
    name: str, capfd: Capture, tmp_path: Path
) -> None:
    small: Any = {"dim": 16, "epochs": 6, "batch_size": 256, "progress": False}
    small |= (
        {"dim": 32, "epochs": 12, "batch_size": 128, "learning_rate": 0.02, "margin": 2.0}
        if name == "BootEA"
        else {"path_length": 2}
    )
    run = ist.train("synthetic-alignment:entities=120", name, out=tmp_path / "run", **small).path

    found = iterate_run(run, n_rounds=1, device=torch.device("cpu"), settings=SURE_OF_LITTLE)

    assert found.rounds[1].proposed > 0
    before, after = (
        load_file(path / "weights.safetensors")["entities"].flatten()
        for path in (run, run / "iterations" / "1")
    )
    assert torch.cosine_similarity(before, after, dim=0) > 0.7  # about 0 for another draw
    shown = run_command(capfd, "align", run, "--out", tmp_path / "pairs.tsv", "--json").json
    assert shown["pairs"] > 0


@pytest.mark.parametrize("data", [LINKS, PAIRS])
@pytest.mark.parametrize("name", [*LITERATURE, *ALIGNERS])
def test_every_model_by_people_that_is_in_the_space_is_trained_by_its_name(
    name: str, data: str
) -> None:
    model = ist.train(data, name, dim=4, epochs=1, progress=False)

    known = ist.find_model(name)
    assert known is not None
    assert known.is_in_space
    valid = model.metrics["valid"]
    assert valid is not None
    assert 0 < valid["mrr"] <= 1
    if name == "IPTransE":
        length = read_experiment(model.path / "experiment.toml").settings.walk.length
        assert length == {LINKS: 3, PAIRS: 7}[data]


def test_a_graph_that_no_memory_holds_is_said_with_advice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def encode(*_: object) -> None:
        raise torch.OutOfMemoryError("a fake limit")

    monkeypatch.setattr(RGCN, "encode_entities", encode)

    with pytest.raises(TrainingError, match=r"Lower the dimension .* the layers, or"):
        ist.train(LINKS, "R-GCN", out=tmp_path / "run", dim=4, progress=False)


def test_a_propagation_is_said_to_be_one_where_it_cannot_be_tuned() -> None:
    with pytest.raises(ArchitectureError, match="NBFNet is a propagation"):
        ist.tune(LINKS, "NBFNet", trials=1, progress=False)
