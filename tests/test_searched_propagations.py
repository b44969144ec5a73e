"""A search of propagations from the outside: found, resumed, reused, refused."""

from pathlib import Path
from typing import Any

import pytest

import interstellar as ist
from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import PROPAGATIONS
from interstellar.architecture.propagation import (
    CLAUSES,
    Propagation,
    from_text,
    propagation_formulas,
)
from interstellar.architecture.search_space import Subspace
from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import read_experiment
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, Retraining, SearchPlan, StrategyName
from interstellar.searching.judge import Judge
from interstellar.searching.speed import Speed
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.search_result import SearchResult
from tests.cli.run_command import run_command

DATA = "synthetic:entities=20"
SMALL: Any = {"model": "propagation", "dim": 4, "depth": 1, "epochs": 3, "progress": False}
N_KNOWN = len(PROPAGATIONS)
N_TRIALS = N_KNOWN + 4


def search(out: Path, **asked: Any) -> SearchResult:
    return ist.search(DATA, out=out, **{**SMALL, "trials": N_TRIALS, **asked})


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    return search(tmp_path_factory.mktemp("search") / "run", then_train=True)


def lasting(result: Result) -> Result:
    return {name: value for name, value in result.items() if name != "seconds"}


def test_the_known_propagations_come_first_and_the_gain_is_over_the_best_of_them(
    found: SearchResult,
) -> None:
    names = [trial.describe()["name"] for trial in sorted(found.trials, key=lambda t: t.number)]

    assert names[:N_KNOWN] == list(PROPAGATIONS)
    assert {trial["name"] for trial in found.result["baselines"]} >= set(PROPAGATIONS)
    assert found.result["gain"]["over"]["name"] in PROPAGATIONS
    assert found.gain is not None


def test_cells_and_choices_are_searched_and_what_was_given_is_kept(found: SearchResult) -> None:
    networks = [trial.network for trial in found.trials]

    assert all(isinstance(network, Propagation) for network in networks)
    assert len({trial.architecture for trial in found.trials}) > len(PROPAGATIONS)
    assert {trial.settings["depth"] for trial in found.trials} == {1}
    assert not any("dim" in trial.settings for trial in found.trials)
    assert set(CLAUSES) < set(found.to_frame("arrow").column_names)


def test_the_winner_is_its_best_seed_trained_with_its_choices(found: SearchResult) -> None:
    assert found.model is not None
    settings = found.model.trained.experiment.settings

    assert found.finalists
    assert found.n_joined == 1
    assert settings.propagation is not None
    best = found.finalists[0].best_run
    assert {name: getattr(settings.propagation, name) for name in CLAUSES}.items() <= (
        dict(best.settings).items()
    )
    assert found.model.architecture == best.architecture
    valid = found.model.metrics["valid"]
    assert valid is not None
    assert valid["mrr"] == pytest.approx(best.valid["mrr"])


def test_the_winner_is_shown_with_its_choices(
    found: SearchResult, capfd: pytest.CaptureFixture[str]
) -> None:
    for run in (found.path, found.path / "final"):
        shown = run_command(capfd, "show", run, "--json").json

        assert shown["formula"] == found.best.formula
        assert shown["formulas"] == list(propagation_formulas(from_text(found.best.formula)))
        assert shown["name"] == found.best.describe()["name"]


def test_what_was_found_can_be_trained_again(found: SearchResult, tmp_path: Path) -> None:
    model = ist.train(DATA, found, settings=found, out=tmp_path / "run", progress=False)

    propagation = model.trained.experiment.settings.propagation
    assert propagation is not None
    assert propagation.of(model.architecture) == (
        found.model.trained.experiment.settings.propagation.of(found.best.point)  # type: ignore[union-attr]
    )


@pytest.mark.parametrize("n_judged", [N_KNOWN + 1, N_KNOWN + 8], ids=["early", "finalists"])
def test_a_search_killed_and_resumed_is_the_search_that_was_not(
    found: SearchResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_judged: int
) -> None:
    judge, left = Judge.judge, [n_judged]

    def judge_or_die(*given: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return judge(*given)

    with monkeypatch.context() as patch:
        patch.setattr(Judge, "judge", judge_or_die)
        with pytest.raises(KeyboardInterrupt):
            search(tmp_path / "run", then_train=True)
    resumed = ist.search(
        out=tmp_path / "run",
        resume=True,
        budget=Budget(trials=N_TRIALS),
        retraining=Retraining(then_train=True),
        progress=False,
    )

    assert lasting(resumed.result) == lasting(found.result)
    assert resumed.model is not None
    assert found.model is not None
    assert resumed.model.result["weights_sha256"] == found.model.result["weights_sha256"]


@pytest.mark.parametrize(
    ("written", "altered"),
    [('"pna"', '"best"'), ('"depth": 1', '"depth": 2'), ('"update": "residual", ', "")],
)
def test_an_altered_journal_is_refused(tmp_path: Path, written: str, altered: str) -> None:
    out = tmp_path / "run"
    search(out, trials=1)
    journal = out / "journal.jsonl"
    assert written in journal.read_text()
    journal.write_text(journal.read_text().replace(written, altered))

    with pytest.raises(DataError, match="altered"):
        search(out, trials=2, resume=True)


def test_random_search_draws_choices_too_but_those_that_were_given(tmp_path: Path) -> None:
    plan = SearchPlan(strategy=StrategyName.RANDOM, from_scratch=True)

    trials = search(tmp_path / "run", plan=plan, trials=8, epochs=1, aggregation="max").trials

    assert {trial.settings["aggregation"] for trial in trials} == {"max"}
    assert {trial.settings["relations"] for trial in trials} == {"own", "query"}
    assert len({trial.key for trial in trials}) == 8


def test_what_is_to_be_tried_first_may_say_its_choices_and_does_not_hide_what_is_known(
    tmp_path: Path,
) -> None:
    plan = SearchPlan(try_first=("O_r = h + r; v = O_r; update = gate; aggregation = mean", "RSN"))

    trials = search(tmp_path / "run", plan=plan, trials=4, epochs=1).trials

    assert (trials[0].settings["update"], trials[0].settings["aggregation"]) == ("gate", "mean")
    assert trials[1].architecture == ist.read_architecture("RSN")
    assert trials[2].describe()["name"] == "NBFNet"


def test_the_best_of_another_graph_are_tried_first_with_their_choices(
    found: SearchResult, tmp_path: Path
) -> None:
    other = ist.search(
        "synthetic:entities=25", out=tmp_path / "run", reuse=found.path, trials=1, **SMALL
    )

    best = max(found.trials, key=lambda trial: trial.score or 0.0)
    assert other.trials[0].network == best.network


def test_the_time_given_sets_how_long_epochs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training has 5 s, an epoch 0.56 s, so that 91 of 500 steps have room."""
    speed = Speed(epoch_seconds=2.5, valid_seconds=0.1, n_steps=500)
    monkeypatch.setattr("interstellar.workflow.search_result.measure_speed", lambda *_: speed)

    search(tmp_path / "run", time=50, trials=1, epochs=None)

    text = RunFolder.open(tmp_path / "run").experiment_file.read_text()
    assert f"queries_per_epoch = {91 * 32}\n" in text
    assert "max_epochs = 8\n" in text


@pytest.mark.slow
def test_the_winner_of_short_trials_is_trained_as_long_as_there_is_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = "synthetic:entities=600"
    slow = Speed(epoch_seconds=10.0, valid_seconds=0.01, n_steps=94)
    asked: Any = {"out": tmp_path / "run", "time": 60, "then_train": True}
    small: Any = {"model": "propagation", "dim": 4, "depth": 1, "progress": False}

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("interstellar.workflow.search_result.measure_speed", lambda *_: slow)
        patch.setattr("interstellar.searching.retraining.train_run", die)
        with pytest.raises(KeyboardInterrupt):
            ist.search(data, **small, **asked | {"trials": 3})
    found = ist.search(progress=False, resume=True, **asked | {"trials": 3})
    again = ist.search(progress=False, resume=True, **asked | {"trials": 3})

    assert found.model is not None
    assert again.model is not None
    searched = RunFolder.open(tmp_path / "run").experiment_file
    short, final = read_experiment(searched).settings, found.model.trained.experiment.settings
    assert count_queries(final) > 2 * count_queries(short)
    assert not found.finalists
    assert again.model.result["weights_sha256"] == found.model.result["weights_sha256"]


def count_queries(settings: TrainingSettings) -> int:
    assert settings.propagation is not None
    return settings.max_epochs * settings.propagation.queries_per_epoch


@pytest.mark.parametrize(
    "strategy", ["hybrid", "reinforce", "bayes", "darts", "one-shot", "as published"]
)
def test_a_strategy_for_walks_is_refused(strategy: str) -> None:
    plan = strategy if strategy != "as published" else SearchPlan(as_published=True)

    with pytest.raises(SettingsError, match=r"knows networks along walks only. Choose surrogate"):
        ist.search(DATA, plan, **SMALL)


def test_an_ensemble_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"only networks along walks can be joined. Leave it"):
        ist.search(DATA, retraining=Retraining(then_train=True, ensemble=True), **SMALL)


def test_cells_whose_messages_come_from_nowhere_are_not_searched(tmp_path: Path) -> None:
    plan = SearchPlan(strategy=StrategyName.RANDOM, from_scratch=True)
    small = SMALL | {"epochs": 1}

    found = ist.search(DATA, plan, trials=8, out=tmp_path / "run", **small)

    cells = [
        trial.architecture for trial in found.trials if isinstance(trial.architecture, Architecture)
    ]
    assert len(cells) == 8
    assert all(cell.macro.is_hidden_passed_on for cell in cells)


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        (SearchPlan(try_first=("TransE",)), r"cannot be propagated: its message O_r reads neither"),
        (SearchPlan(subspace=Subspace.P2), "subspace is P2, in which no message passes anything"),
    ],
)
def test_what_cannot_be_propagated_is_refused(plan: SearchPlan, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        ist.search(DATA, plan, trials=1, **SMALL)


def test_a_tuning_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"along walks. Search propagations"):
        ist.tune(DATA, "RSN", model="propagation", trials=1, progress=False)


def test_choices_of_a_propagation_are_refused_where_networks_walk() -> None:
    plan = SearchPlan(try_first=("O_r = h + r; v = O_r; update = gate",))

    with pytest.raises(SettingsError, match="update belongs to a propagation"):
        ist.search(DATA, plan, dim=4, epochs=1, trials=1, progress=False)


def test_the_command_searches_propagations(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = ("--model", "propagation", "--dim", 4, "--depth", 1, "--epochs", 1, "--trials", 2)

    outcome = run_command(capfd, "search", DATA, *asked, "--out", tmp_path / "run")

    assert outcome.code == 0
    assert "depth = 1" in outcome.out
    assert "NBFNet" in outcome.out or "RED-GNN" in outcome.out
