"""The Python way: load, search, train, predict, align, save, open, update."""

import json
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import interstellar as ist
from interstellar.architecture.literature import name_of
from interstellar.architecture.search_space import Subspace
from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.search_journal import last_budget
from interstellar.workflow import aligning
from interstellar.workflow.aligning import describe_slow_matching
from tests.cli.run_command import run_command

SMALL: Any = {"dim": 8, "epochs": 2, "progress": False, "device": "cpu"}


@pytest.fixture(scope="module")
def model() -> ist.Model:
    return ist.train("geography-S1", "ComplEx", dim=16, epochs=12, progress=False, device="cpu")


@pytest.fixture(scope="module")
def pair_model() -> ist.Model:
    return ist.train(
        "synthetic-alignment:entities=60", "TransE", dim=16, epochs=5, progress=False, device="cpu"
    )


def test_a_model_knows_what_it_is(model: ist.Model) -> None:
    assert model.architecture == ist.read_architecture("ComplEx")
    assert model.graph.name == "geography-S1"
    assert model.metrics["test"] is not None
    assert model.metrics["test"]["mrr"] > 0.3
    mrr = model.metrics["test"]["mrr"]
    assert str(model) == (
        f"<Model O_r = s ⊗ r; v = O_r of geography-S1, mrr {mrr:.3f}, in {model.path}>"
    )


def test_values_of_numpy_and_torch_are_taken() -> None:
    code, cpu = np.array([0, 4, 10, 1, 1, 0, 0, 1, 1, 0, 1]), torch.device("cpu")

    model = ist.train("geography-S1", code, seed=np.int64(3), **SMALL | {"device": cpu})

    assert model.trained.experiment.seed == 3
    assert ist.open(model.path, device=cpu).device == cpu
    assert model.architecture == ist.read_architecture("Interstellar-DBP-WD")


def test_a_search_takes_values_of_numpy_and_torch_too(tmp_path: Path) -> None:
    asked: Any = SMALL | {"device": torch.device("cpu"), "trials": np.int64(1)}

    found = ist.search(seed=np.int64(3), out=tmp_path / "run", **asked)

    assert found.result["seed"] == 3
    assert len(ist.search(resume=True, out=tmp_path / "run", **asked).trials) == 1


def test_answers_have_names_scores_and_reasons(model: ist.Model) -> None:
    found = model.predict(subject="france", relation="locatedin", k=3, explain=True)

    assert [answer.rank for answer in found] == [1, 2, 3]
    assert found[0].logit >= found[1].logit >= found[2].logit
    best = found[0].explanation
    assert best is not None
    assert str(best.paths[0]).startswith("france ")
    assert best.paths[0].triplets[0][1] in ("neighbor", "locatedin")


def test_a_saved_model_answers_the_same(model: ist.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "saved")

    reopened = ist.open(tmp_path / "saved", device="cpu")

    query: Any = {"subject": "france", "relation": "neighbor"}
    assert [(a.entity, a.logit) for a in reopened.predict(**query)] == [
        (a.entity, a.logit) for a in model.predict(**query)
    ]
    assert reopened.evaluate() == model.metrics["test"]
    with pytest.raises(SettingsError, match="exists"):
        model.save(tmp_path / "saved")


def test_a_temporary_run_goes_with_its_model() -> None:
    trained = ist.train("geography-S1", "TransE", **SMALL)
    path = trained.path
    assert path.is_dir()

    del trained

    assert not path.exists()


def test_a_run_in_a_folder_of_the_users_stays(tmp_path: Path) -> None:
    trained = ist.train("geography-S1", "TransE", out=tmp_path / "run", **SMALL)
    del trained

    assert ist.open(tmp_path / "run").metrics["valid"] is not None


def test_a_command_and_a_function_make_the_same_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "geography-S1", "--architecture", "TransE", "--dim", "8", "--epochs", "2"]
    run_command(capfd, *command, "--device", "cpu", "--out", str(tmp_path / "command"))
    ist.train("geography-S1", "TransE", out=tmp_path / "function", **SMALL)

    experiments = [(tmp_path / x / "experiment.toml").read_text() for x in ("command", "function")]
    results = [
        json.loads((tmp_path / x / "result.json").read_text()) for x in ("command", "function")
    ]
    assert experiments[0] == experiments[1]
    assert results[0]["weights_sha256"] == results[1]["weights_sha256"]


def test_what_was_found_is_trained(tmp_path: Path) -> None:
    found = ist.search("geography-S3", trials=2, out=tmp_path / "found", **SMALL)

    trained = ist.train("geography-S3", found.best, **SMALL)

    assert len(found.trials) >= 2
    assert found.best.score == max(trial.score or 0 for trial in found.trials)
    assert trained.architecture == found.best.architecture
    assert ist.train("geography-S3", found, **SMALL).architecture == trained.architecture
    reopened = ist.SearchResult.open(tmp_path / "found")
    assert reopened.best == found.best
    formula, score = found.best.formula, found.best.score
    assert str(reopened) == f"<SearchResult: 2 trials, best {formula} ({score:.3f})>"


def test_the_trials_of_a_search_are_a_frame() -> None:
    first = ist.SearchPlan(strategy=StrategyName.RANDOM, try_first=("TransE",))
    found = ist.search("geography-S3", first, trials=2, **SMALL)

    frame = found.to_frame()

    assert list(frame["number"]) == [0, 1]
    assert frame["formula"][0] == "O_r = s + r; v = O_r"
    assert list(frame["score"]) == [trial.score for trial in found.trials]
    assert frame["score"].max() == found.best.score
    assert {"code", "valid_auc_pr", "epochs", "seconds", "failure"} <= set(frame.columns)


def test_a_search_begun_in_python_goes_on_from_the_command_line_and_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    asked: Any = {"seed": 5, **SMALL}
    plan = ist.SearchPlan(strategy=StrategyName.RANDOM, prune=False)
    begun = ist.search(ist.load("geography-S3"), plan, trials=1, out=out, **asked)

    command = ("search", "--resume", "--out", out, "--device", "cpu", "--json")
    same = run_command(capfd, *command).json
    more = run_command(capfd, *command, "--trials", 2).json
    back = ist.search(out=out, resume=True, trials=3, progress=False, device="cpu")

    assert same["trials"] == 1
    assert (more["trials"], more["strategy"], more["seed"]) == (2, "random", 5)
    assert len(back.trials) == 3
    assert back.trials[0] == begun.trials[0]


def test_a_search_of_triplets_in_memory_goes_on_from_its_folder(tmp_path: Path) -> None:
    rows = [(f"e{i}", "next", f"e{(i + 1) % 40}") for i in range(40)]
    ist.search(rows, trials=1, out=tmp_path / "run", **SMALL)

    found = ist.search(out=tmp_path / "run", resume=True, trials=2, progress=False, device="cpu")

    assert len(found.trials) == 2


def test_a_search_goes_on_within_the_budget_it_was_begun_with_unless_another_is_given(
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    ist.search("geography-S3", "random", trials=2, time="1h", workers=1, out=out, **SMALL)

    again = ist.search(out=out, resume=True, workers=1, progress=False, device="cpu")

    assert len(again.trials) == 2
    assert last_budget(RunFolder.open(out)) == ist.Budget(trials=2, time=3600.0)


@pytest.mark.parametrize("kind", ["training", "tuning"])
def test_only_a_search_goes_on_as_one(tmp_path: Path, kind: str) -> None:
    out: Any = {"out": tmp_path / "run", **SMALL}
    if kind == "training":
        ist.train("geography-S3", "TransE", **out)
    else:
        ist.tune("geography-S3", "TransE", trials=1, **out)

    with pytest.raises(SettingsError, match=f"is the run of a {kind}, not of a search"):
        ist.search(out=tmp_path / "run", resume=True, progress=False, device="cpu")


def test_what_differs_from_the_search_to_go_on_with_is_refused(tmp_path: Path) -> None:
    again: Any = {"out": tmp_path / "run", "resume": True, "progress": False, "device": "cpu"}
    ist.search("geography-S3", trials=1, out=tmp_path / "run", **SMALL)

    with pytest.raises(SettingsError, match="dim = 8"):
        ist.search(dim=10, **again)
    with pytest.raises(SettingsError, match="strategy"):
        ist.search(plan="random", **again)
    with pytest.raises(SettingsError, match="seed = 0"):
        ist.search(seed=2, **again)


def test_one_search_to_reuse_need_not_be_in_a_list(tmp_path: Path) -> None:
    plan = ist.SearchPlan(try_first=("TransE",))
    first = ist.search(plan=plan, trials=1, out=tmp_path / "first", **SMALL)
    again = ist.search(plan=plan, trials=1, reuse=first.path, **SMALL)

    assert first.best.formula == "O_r = s + r; v = O_r"
    assert again.result["reused"] == 1


def test_what_a_plan_keeps_is_not_tuned() -> None:
    plan = ist.SearchPlan(strategy=StrategyName.TUNE, keep=("dropout",))
    tuned = ist.tune("geography-S3", "TransE", plan=plan, trials=1, **SMALL)

    assert "dropout" not in tuned.best.settings


def test_what_a_tuning_found_can_be_given_as_settings() -> None:
    tuned = ist.tune("geography-S3", "TransE", trials=1, **SMALL)
    model = ist.train("geography-S3", tuned, settings=tuned, epochs=1, progress=False)

    settings = model.trained.experiment.settings
    assert {name: getattr(settings, name) for name in tuned.best.settings} == tuned.best.settings


def test_shares_may_be_written_as_on_the_command_line() -> None:
    triplets = [(f"e{i}", "r", f"e{(i + 1) % 40}") for i in range(40)] * 2
    graph = ist.load([*triplets, *((s, "q", o) for s, _, o in triplets)], split="80/10/10")

    assert isinstance(graph, ist.KnowledgeGraph)
    assert len(graph.valid) == len(graph.test) > 0


def test_the_literature_is_tried_first_as_far_as_it_lies_in_the_space() -> None:
    plan = ist.SearchPlan(subspace=Subspace.P1, try_first=("literature",))
    found = ist.search(plan=plan, trials=4, **SMALL)

    names = [name_of(trial.point) for trial in found.trials[:3]]
    assert names == ["TransE", "DistMult", "ComplEx"]
    assert len(found.trials) >= 4


def test_tuning_lists_what_was_tried() -> None:
    tuned = ist.tune("geography-S1", "TransE", trials=2, **SMALL)

    assert len(tuned.trials) == 2
    assert tuned.best.settings in [trial.settings for trial in tuned.trials]


def test_a_matching_that_takes_long_is_announced(
    pair_model: ist.Model, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aligning, "MANY_FOR_HUNGARIAN", 50)

    pair_model.align(decode="hungarian")
    assert "Hungarian matching of 60 entities may take some 0 minutes" in capfd.readouterr().err
    pair_model.align(decode="sinkhorn")
    assert "Hungarian" not in capfd.readouterr().err

    assert "of 100,000 entities may take some 40 minutes" in describe_slow_matching(100_000)


def test_frames_go_in_and_out(tmp_path: Path, pair_model: ist.Model) -> None:
    frame = pd.DataFrame(
        [(f"e{i}", "next", f"e{(i + 1) % 40}") for i in range(40)],
        columns=["subject", "relation", "object"],
    )
    trained = ist.train(frame, "TransE", **SMALL)
    assert isinstance(trained.graph, ist.KnowledgeGraph)
    assert len(trained.graph.entities) == 40

    aligned = pair_model.align(decode="cosine", threshold="none").to_frame("pandas")
    assert list(aligned.columns) == ["first", "second", "score", "known"]


def test_an_alignment_is_read_by_name_and_written(tmp_path: Path, pair_model: ist.Model) -> None:
    alignment = pair_model.align(one_to_one=True)
    alignment.save(tmp_path / "pairs.tsv", unmatched=tmp_path / "alone.tsv")

    lines = (tmp_path / "pairs.tsv").read_text().splitlines()
    pairs = alignment.pairs
    assert len(lines) == len(alignment) + 1 == len(pairs) + 1
    assert lines[1].split("\t")[:2] == [pairs[0].source, pairs[0].target]
    assert pairs[0].is_known
    alone = (tmp_path / "alone.tsv").read_text().splitlines()[1:]
    assert len(alone) == sum(map(len, alignment.unmatched))


def test_every_decoding_is_compared(pair_model: ist.Model) -> None:
    found = pair_model.compare_decodings()

    assert set(found) == {"cosine", "csls", "sinkhorn", "hungarian", "stable"}
    assert found["cosine"]["reference"] == pair_model.metrics["test"]


def test_an_alignment_is_trained_on_in_rounds(tmp_path: Path, pair_model: ist.Model) -> None:
    pair_model.save(tmp_path / "run")

    alignment = ist.open(tmp_path / "run").align(iterate=1, epochs=1, seed=7, progress=False)

    assert alignment.iterated is not None
    assert alignment.iterated.rounds[0].round == 0
    assert json.loads((tmp_path / "run" / "iterations" / "settings.json").read_text())["seed"] == 7


def test_new_facts_make_a_new_model(model: ist.Model) -> None:
    more = [("atlantis", "neighbor", "france"), ("atlantis", "locatedin", "europe")]

    updated = model.update(more, epochs=2, progress=False)

    assert updated.result["continued_from"]["new_entities"] == 1
    assert updated.predict(subject="atlantis", relation="neighbor", k=1)
    with pytest.raises(SettingsError, match='"atlantis" is not an entity'):
        model.predict(subject="atlantis", relation="neighbor")


def test_queries_by_file(tmp_path: Path, model: ist.Model) -> None:
    (tmp_path / "q.tsv").write_text("subject\trelation\tobject\nfrance\tneighbor\t?\n")

    outcome = model.predict_file(tmp_path / "q.tsv", tmp_path / "a.tsv", k=2)

    assert (outcome.n_queries, outcome.n_answers) == (1, 2)


def test_vectors_are_exported(tmp_path: Path, model: ist.Model) -> None:
    assert model.export(tmp_path / "v.tsv").dim == 16


def test_probabilities_are_measured(model: ist.Model, pair_model: ist.Model) -> None:
    assert model.evaluate_calibration().temperature > 0
    with pytest.raises(SettingsError, match="entity alignment"):
        pair_model.evaluate_calibration()


def test_the_wrong_kind_of_model_is_said(model: ist.Model, pair_model: ist.Model) -> None:
    with pytest.raises(SettingsError, match="is a run of link prediction"):
        model.align()
    with pytest.raises(SettingsError, match="is a run of entity alignment"):
        pair_model.predict(subject="a", relation="b")


def test_what_cannot_be_is_refused(tmp_path: Path, model: ist.Model) -> None:
    with pytest.raises(SettingsError, match="no architecture was given"):
        ist.train("geography-S1")
    with pytest.raises(SettingsError, match="preset 'mine' is unknown"):
        ist.train("geography-S1", preset="mine")
    with pytest.raises(SettingsError, match=r"no folder was given.*Give `out`"):
        ist.train("geography-S1", "TransE", resume=True)
    with pytest.raises(SettingsError, match="does not exist, but a run is a folder"):
        ist.open(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match="iterate"):
        model.align(epochs=3)


def test_a_cut_model_is_refused_when_it_is_opened(tmp_path: Path, model: ist.Model) -> None:
    model.save(tmp_path / "cut")
    weights = tmp_path / "cut" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])

    with pytest.raises(DataError, match="cut or altered"):
        ist.open(tmp_path / "cut")


@pytest.mark.parametrize("function", [ist.search, ist.tune, ist.train, ist.load, ist.Model.align])
def test_no_function_has_more_than_ten_parameters(function: Any) -> None:
    parameters = signature(function).parameters.values()

    assert len([p for p in parameters if p.name != "self"]) <= 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epoch": 1}, "Did you mean epochs"),
        ({"macro_only": True}, r"plan=SearchPlan\(macro_only=…\)"),
        ({"finalists": 2}, r"retraining=Retraining\(finalists=…\)"),
        ({"split": "80/10/10"}, "Give it to `load`"),
        ({"trials": 1, "budget": ist.Budget(trials=2)}, "Give one of them"),
        ({"plan": "evolution"}, "strategy 'evolution' is unknown"),
        ({"plan": ist.SearchPlan(strategy=StrategyName.TUNE)}, "strategy 'tune' is unknown"),
    ],
)
def test_an_option_of_search_that_is_not_there_is_said_with_where_it_is(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        ist.search("geography-S1", **options)


def test_options_of_other_functions_are_refused_too() -> None:
    misspelt: Any = {"learningrate": 1}
    with pytest.raises(SettingsError, match="Did you mean learning_rate"):
        ist.train("geography-S1", "TransE", **misspelt)
    with pytest.raises(SettingsError, match="the plan has the strategy surrogate"):
        ist.tune("geography-S1", "TransE", plan=ist.SearchPlan())
