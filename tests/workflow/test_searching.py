"""A whole search in one call: its budget, its winner, what is known, and searches before it."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import interstellar as ist
from interstellar.architecture.literature import KNOWN, PROPAGATIONS, PTRANSE_ADD, name_of
from interstellar.architecture.propagation import from_text
from interstellar.architecture.search_space import Subspace
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.model_choice import Heat
from interstellar.searching.search_journal import read_known
from interstellar.searching.speed import Speed
from interstellar.training.defaults import LINK_PREDICTION, PROPAGATION
from interstellar.training.loop import EpochReport, Observer, Training
from interstellar.training.presets import COUNTRIES
from interstellar.training.settings import ModelKind
from interstellar.training.settings_changes import replace_settings, with_changes
from interstellar.workflow.chosen_plan import with_known
from tests.tiny_graphs import ring

DATA = "geography-S3"
SMALL: Any = {"dim": 8, "epochs": 2, "workers": 1, "progress": False, "device": "cpu"}
TWO_MODELS = ist.SearchPlan(
    strategy=StrategyName.RANDOM, try_first=("TransE", "ComplEx"), from_scratch=True
)
THEN_TRAIN = ist.Retraining(then_train=True, finalists=1)


@pytest.fixture
def trained_epochs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of every epoch that anything trains."""
    epochs: list[int] = []
    run_epoch = Training.run_epoch

    def noted(training: Training, observer: Observer) -> EpochReport:
        report = run_epoch(training, observer)
        epochs.append(report.epoch)
        return report

    monkeypatch.setattr(Training, "run_epoch", noted)
    return epochs


def experiment_of(path: Path) -> Experiment:
    return read_experiment(path / "experiment.toml")


def test_the_winner_is_handed_over_as_its_trial_left_it(trained_epochs: list[int]) -> None:
    found = ist.search(DATA, TWO_MODELS, trials=2, retraining=THEN_TRAIN, **SMALL)

    assert found.model is not None
    assert len(trained_epochs) == sum(trial.result.epochs for trial in found.trials)
    assert found.model.architecture == found.best.architecture
    assert found.model.metrics["valid"] is not None
    assert found.model.metrics["valid"]["auc_pr"] == pytest.approx(found.best.score, abs=1e-6)


def test_the_winner_has_the_settings_of_its_trial() -> None:
    plan = ist.SearchPlan(from_scratch=True, subspace=Subspace.P1)
    asked: Any = SMALL | {"metric": "hits@1", "precision": "float32", "seed": 4}
    found = ist.search(DATA, plan, trials=3, retraining=THEN_TRAIN, **asked)

    assert found.model is not None
    settings = found.model.trained.experiment.settings
    assert settings == replace_settings(settings, found.best.settings)
    assert (settings.dim, settings.metric, settings.precision) == (8, "hits@1", "float32")


def test_where_the_state_of_the_winner_is_lost_it_is_trained_again_to_the_same(
    tmp_path: Path, trained_epochs: list[int]
) -> None:
    once: Any = {"trials": 2, "plan": TWO_MODELS, "out": tmp_path / "run", **SMALL}
    found = ist.search(DATA, **once)
    n_before = len(trained_epochs)
    for file in (found.path / "trials").iterdir():
        file.unlink()

    again = ist.search(DATA, resume=True, retraining=THEN_TRAIN, **once)

    assert again.model is not None
    assert len(trained_epochs) == n_before + found.best.result.epochs
    assert again.model.metrics["valid"] is not None
    assert again.model.metrics["valid"]["auc_pr"] == pytest.approx(found.best.score, abs=1e-6)


def test_finalists_are_repeated_and_the_best_mean_wins(tmp_path: Path) -> None:
    then = ist.Retraining(then_train=True, finalists=2)
    asked: Any = {"trials": 2, "plan": TWO_MODELS, "retraining": then, **SMALL}
    found = ist.search(DATA, out=tmp_path / "run", seed=3, **asked)

    assert [set(finalist.runs) for finalist in found.finalists] == [{None, 4}, {None, 4}]
    means = [finalist.mean([None, 4]) for finalist in found.finalists]
    assert means == sorted(means, reverse=True)
    assert found.best == found.finalists[0].trial
    assert found.model is not None
    best_run = found.finalists[0].best_run
    assert found.model.architecture == best_run.architecture
    assert found.model.trained.experiment.seed == (best_run.seed or 3)
    assert found.model.metrics["valid"] is not None
    assert found.model.metrics["valid"]["auc_pr"] == pytest.approx(best_run.score, abs=1e-6)
    noted = json.loads((tmp_path / "run" / "result.json").read_text())
    assert [finalist["mean"] for finalist in noted["finalists"]] == means

    weights = found.model.path / "weights.safetensors"
    written = weights.stat().st_mtime_ns
    again = ist.search(DATA, out=tmp_path / "run", resume=True, seed=3, **asked)
    assert again.finalists == found.finalists
    assert weights.stat().st_mtime_ns == written  # nothing was trained again


@pytest.mark.parametrize("epochs", [2, 6])  # the networks of six are better joined
def test_an_ensemble_is_never_worse_on_validation_than_the_winners_best_network(
    tmp_path: Path, epochs: int
) -> None:
    then = ist.Retraining(then_train=True, finalists=2, ensemble=True)
    asked: Any = SMALL | {"trials": 2, "metric": "mrr", "epochs": epochs}
    asked |= {"plan": TWO_MODELS, "retraining": then}
    found = ist.search(DATA, out=tmp_path / "run", **asked)
    again = ist.search(DATA, out=tmp_path / "run", resume=True, **asked)

    assert found.model is not None
    assert again.model is not None
    dim = found.model.trained.experiment.settings.dim
    score, alone = found.model.metrics["valid"], found.finalists[0].best_run.score
    assert score is not None
    assert alone is not None
    assert score["mrr"] > alone if dim == 16 else score["mrr"] == pytest.approx(alone, abs=1e-6)
    assert found.model.evaluate() == found.model.metrics["test"]
    assert again.model.result == found.model.result


def test_without_a_final_training_nothing_is_repeated() -> None:
    found = ist.search(DATA, TWO_MODELS, trials=2, **SMALL)

    assert (found.model, found.finalists) == (None, [])


def test_a_search_begins_with_what_everybody_has_and_says_its_gain_over_that() -> None:
    found = ist.search(ring(30), trials=4, **SMALL)

    tried = sorted(found.trials, key=lambda trial: trial.number)
    assert tried[0].architecture == KNOWN[0]
    assert all(name_of(trial.point) for trial in tried)
    begun = experiment_of(found.path)
    assert begun.plan is not None
    assert begun.plan.known == list(KNOWN)
    baselines = found.result["baselines"]
    assert baselines[0]["score"] == max(trial.score or 0.0 for trial in tried)
    assert found.gain is not None
    assert found.gain.points == 0  # the best is one of them
    assert found.result["gain"] == found.gain.describe()


def test_known_models_follow_what_is_given_unless_a_search_is_from_scratch() -> None:
    plan = ist.SearchPlan(try_first=("PTransE-add",))

    known = with_known(plan, LINK_PREDICTION).known

    assert known[0] == PTRANSE_ADD
    assert set(known) == set(KNOWN)
    alone = replace(plan, from_scratch=True)
    assert with_known(alone, LINK_PREDICTION) == alone


@pytest.mark.parametrize("subspace", Subspace)
def test_only_known_models_of_the_space_are_tried(subspace: Subspace) -> None:
    plan = with_known(ist.SearchPlan(subspace=subspace), LINK_PREDICTION)

    assert plan.known == [architecture for architecture in KNOWN if architecture in plan.space]
    propagated = with_known(ist.SearchPlan(subspace=subspace), PROPAGATION)
    cells = [from_text(line).cell for line in PROPAGATIONS.values()]
    assert propagated.known == [cell for cell in cells if cell in propagated.space]


def test_a_search_from_scratch_has_nothing_to_compare_with() -> None:
    plan = ist.SearchPlan(strategy=StrategyName.RANDOM, from_scratch=True)
    found = ist.search(DATA, plan, trials=1, **SMALL)

    assert name_of(found.best.point) is None
    assert found.gain is None
    assert (found.result["gain"], found.result["baselines"]) == (None, [])


def test_settings_that_are_given_one_by_one_are_not_searched(tmp_path: Path) -> None:
    plan = ist.SearchPlan(from_scratch=True)
    asked: Any = SMALL | {"epochs": 1, "learning_rate": 0.01}
    found = ist.search(ring(30), plan, trials=20, out=tmp_path / "run", **asked)

    begun = experiment_of(found.path)
    assert begun.plan is not None
    assert set(begun.plan.keep) == {"learning_rate", "dim"}
    searched = {name for trial in found.trials for name in trial.settings}
    assert searched
    assert not searched & {"learning_rate", "dim"}


def test_settings_are_left_alone_where_only_architectures_are_searched() -> None:
    plan = ist.SearchPlan(from_scratch=True, architecture_only=True)
    found = ist.search(ring(30), plan, trials=20, **SMALL | {"epochs": 1})

    assert all(not trial.settings for trial in found.trials)


@pytest.mark.parametrize("after", [{"ensemble": True}, {"finalists": 2}])
def test_as_published_there_are_no_finalists_and_no_ensemble(after: dict[str, Any]) -> None:
    plan = ist.SearchPlan(as_published=True)

    with pytest.raises(SettingsError, match="trains its winner once"):
        ist.search(
            DATA, plan, trials=1, retraining=ist.Retraining(then_train=True, **after), **SMALL
        )


def test_as_published_trials_and_the_final_training_have_settings_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    final = with_changes(COUNTRIES, dim=10, epochs=3)
    monkeypatch.setattr("interstellar.workflow.searching.published_settings", lambda *_: final)
    plan = ist.SearchPlan(as_published=True)
    found = ist.search(DATA, plan, trials=1, then_train=True, out=tmp_path / "run", **SMALL)

    assert found.model is not None
    assert found.finalists == []
    assert found.result["strategy"] == "hybrid"
    assert found.trials[0].result.stopped is None
    assert experiment_of(found.path).settings == with_changes(COUNTRIES, dim=8, epochs=2)
    assert found.model.trained.experiment.settings == final


def test_time_covers_the_final_training_and_the_plan_is_said_first(
    capfd: pytest.CaptureFixture[str],
) -> None:
    asked: Any = SMALL | {"progress": True, "epochs": None}
    started = time.monotonic()

    found = ist.search(ring(40), time=3, then_train=True, **asked)

    seconds = time.monotonic() - started
    said = capfd.readouterr().err.splitlines()
    assert said[1].startswith("plan: about ")
    assert "then the finalists with more seeds, done at " in said[1]
    assert 1 < seconds < 6
    assert len(found.trials) > 1
    assert found.model is not None
    assert found.model.architecture == found.best.architecture


def test_a_time_too_short_for_a_few_epochs_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    with pytest.raises(SettingsError, match="hardly a network could be trained"):
        ist.search(DATA, time=0.0001, out=tmp_path / "run", **SMALL | {"epochs": None})

    assert list(tmp_path.iterdir()) == []


def test_who_resumes_with_more_time_keeps_the_epochs_that_the_time_had_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed = Speed(epoch_seconds=0.02, valid_seconds=0.0)
    monkeypatch.setattr("interstellar.workflow.search_result.measure_speed", lambda *_: speed)
    asked: Any = {"out": tmp_path / "run", **SMALL, "epochs": None}
    plan = ist.SearchPlan(from_scratch=True)
    begun = ist.search(ring(40), plan, time=1, trials=1, **asked)
    before = experiment_of(begun.path).settings

    by_folder = ist.search(resume=True, time=600, trials=2, **asked).result
    by_data = ist.search(ring(40), plan, resume=True, time=600, trials=3, **asked).result

    assert before.max_epochs == 10
    assert experiment_of(begun.path).settings == before
    assert (by_folder["trials"], by_data["trials"]) == (2, 3)


@pytest.mark.parametrize("strategy", [StrategyName.SURROGATE, StrategyName.RANDOM])
def test_a_dimension_that_was_given_is_kept_however_little_time_there_is(
    strategy: StrategyName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network of any other dimension would take no time, by what is measured."""
    monkeypatch.setattr(
        "interstellar.workflow.search_result.measure_speed",
        lambda _, settings, __: Speed(epoch_seconds=settings.dim // 128, valid_seconds=0.0),
    )
    asked: Any = {"out": tmp_path / "run", **SMALL, "epochs": None, "dim": 128}
    plan = ist.SearchPlan(strategy=strategy, from_scratch=True)

    found = ist.search(ring(40), plan, time=60, trials=1, **asked)

    assert experiment_of(found.path).settings.dim == 128


def test_two_graphs_have_shorter_paths_in_little_time_and_the_winner_is_then_trained_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch of single triplets takes a tenth of a second, by what is measured."""
    monkeypatch.setattr(
        "interstellar.workflow.search_result.measure_speed",
        lambda _, settings, __: Speed(
            epoch_seconds=0.1 * settings.walk.length * settings.walk.paths_per_triplet,
            valid_seconds=0.0,
        ),
    )
    asked: Any = {"out": tmp_path / "run", "device": "cpu", "progress": False, "dim": 8}
    pair = ist.load("synthetic-alignment:entities=30")
    plan = ist.SearchPlan(from_scratch=True)

    found = ist.search(pair, plan, time=30, trials=1, then_train=True, **asked)

    settings = experiment_of(found.path).settings
    assert (settings.walk.length, settings.walk.paths_per_triplet) == (1, 1)
    assert settings.dim == 8
    final = experiment_of(found.path / "final").settings
    assert final.walk == settings.walk
    assert settings.max_epochs < final.max_epochs <= 72


def test_what_won_on_another_graph_is_tried_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    random = ist.SearchPlan(strategy=StrategyName.RANDOM, from_scratch=True)
    first = ist.search("geography-S1", random, trials=5, out=tmp_path / "first", **SMALL)
    ranked = sorted(first.trials, key=lambda trial: -(trial.score or 0.0))
    asked: Any = {"out": tmp_path / "second", **SMALL, "progress": True}

    found = ist.search(DATA, random, trials=3, reuse=first.path, **asked)
    tried = found.trials[:3]
    resumed = ist.search(resume=True, trials=4, **asked)

    assert f"note: {first.path} is of other data or settings" in capfd.readouterr().err
    assert [trial.network for trial in tried] == [trial.network for trial in ranked[:3]]
    assert [trial.result.reused for trial in tried] == [None] * 3
    assert resumed.trials[:3] == tried


def test_what_won_elsewhere_but_lies_outside_the_space_is_left_out(tmp_path: Path) -> None:
    path_models = ist.SearchPlan(
        strategy=StrategyName.RANDOM, from_scratch=True, try_first=("PTransE-add", "TransE")
    )
    first = ist.search("geography-S1", path_models, trials=2, out=tmp_path / "first", **SMALL)
    triplets = ist.SearchPlan(strategy=StrategyName.RANDOM, from_scratch=True, subspace=Subspace.P1)

    found = ist.search(DATA, triplets, trials=1, reuse=first.path, **SMALL)

    assert found.trials[0].formula == "O_r = s + r; v = O_r"


def test_a_search_of_the_other_task_is_not_reused(tmp_path: Path) -> None:
    first = ist.search(DATA, TWO_MODELS, trials=1, out=tmp_path / "first", **SMALL)
    pair = "synthetic-alignment:entities=40"

    with pytest.raises(SettingsError, match="it is of the other task"):
        ist.search(pair, trials=1, reuse=first.path, out=tmp_path / "second", **SMALL)

    assert not (tmp_path / "second").exists()


def test_trials_that_are_reused_keep_their_settings_also_for_who_resumes(tmp_path: Path) -> None:
    plan = ist.SearchPlan(from_scratch=True)
    asked: Any = SMALL | {"epochs": 1}
    first = ist.search(ring(30), plan, trials=20, out=tmp_path / "first", **asked)
    asked["out"] = tmp_path / "second"

    ist.search(ring(30), plan, trials=1, reuse=first.path, **asked)
    resumed = ist.search(resume=True, trials=2, **asked)

    score_by_key = {trial.key: trial.score for trial in first.trials}
    known = [t for t in resumed.trials if str(first.path) in (t.result.reused or "")]
    assert any(trial.settings for trial in known)
    assert all(trial.score == score_by_key[trial.key] for trial in known)
    folder = RunFolder.open(resumed.path)
    [event] = [event for event in folder.read_events() if event["event"] == "known"]
    noted = read_known(event, folder.journal_file)
    assert {trial.key: trial.score for trial in noted} == score_by_key


def test_random_search_along_walks_has_no_settings_to_keep() -> None:
    with pytest.raises(SettingsError, match="changes no settings"):
        ist.search(DATA, replace(TWO_MODELS, keep=("dim",)), trials=1, **SMALL)


def let_heats_end(monkeypatch: pytest.MonkeyPatch, winner: ModelKind, loser: ModelKind) -> None:
    heats = [Heat(model=m, score=0.5, n_ranks=100, seconds=0.1) for m in (winner, loser)]
    monkeypatch.setattr("interstellar.workflow.chosen_model.compare_models", lambda *_: heats)


def test_with_a_limit_of_time_the_model_that_learns_the_graph_better_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    let_heats_end(monkeypatch, ModelKind.PROPAGATION, ModelKind.WALKS)
    asked: Any = {"out": tmp_path / "run", "workers": 1, "device": "cpu", "trials": 1}

    begun = ist.search(ring(40), time=60, **asked)
    let_heats_end(monkeypatch, ModelKind.WALKS, ModelKind.PROPAGATION)
    resumed = ist.search(resume=True, **asked | {"trials": 2})

    assert begun.result["model"] == resumed.result["model"] == "propagation"
    assert "propagation is searched" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        {"model": "walks"},
        {"dim": 8},
        {"plan": "random"},
        {"plan": ist.SearchPlan(subspace=Subspace.P1)},
        {"retraining": ist.Retraining(then_train=True, ensemble=True)},
        {"time": None, "trials": 1},
    ],
)
def test_a_model_is_not_chosen_for_who_has_said_what_only_one_can_do(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("nothing is to be compared")

    monkeypatch.setattr("interstellar.workflow.chosen_model.compare_models", refuse)
    asked: Any = {"time": 20, "trials": 1, "workers": 1, "device": "cpu", "progress": False}

    found = ist.search(ring(40), **asked | given)

    assert found.result["model"] == "walks"
