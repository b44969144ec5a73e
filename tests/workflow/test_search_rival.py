"""What a search of two graphs found, against the rival that is trained after it."""

import shutil
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import interstellar as ist
from interstellar.cli.search_commands import show_found
from interstellar.errors import SettingsError
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.notation import model_text
from interstellar.runs.run import Result
from interstellar.runs.search_plan import Budget, StrategyName
from interstellar.training.defaults import ALIGNMENT
from interstellar.training.loop import EpochReport, Observer, SilentObserver, Training
from interstellar.workflow import search_rival
from interstellar.workflow.audience import find_audience
from interstellar.workflow.given import final_settings
from interstellar.workflow.search_result import SearchResult, Stage
from interstellar.workflow.search_rival import Until, affordable, wants_rival
from tests.tiny_graphs import ring

PAIR = "synthetic-alignment:entities=60"
PLAN = ist.SearchPlan(strategy=StrategyName.RANDOM, prune=False)
SMALL: Any = {
    "dim": 8,
    "epochs": 1,
    "workers": 1,
    "progress": False,
    "device": "cpu",
    "path_length": 1,
    "retraining": ist.Retraining(then_train=True, finalists=1),
}


def searched(out: Path, plan: ist.SearchPlan = PLAN, **changes: Any) -> SearchResult:
    return ist.search(PAIR, plan, out=out, **{"trials": 1, **SMALL, **changes})


@pytest.fixture
def untaught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rivals learn next to nothing."""

    def slow(*told: Any) -> Any:
        return replace(final_settings(*told), max_epochs=2, learning_rate=1e-9)

    monkeypatch.setattr(search_rival, "final_settings", slow)


def trained_by(found: SearchResult) -> str:
    assert found.model is not None
    name: str = found.model.result["architecture"]
    return name


def test_a_rival_that_is_better_on_validation_is_the_winner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = searched(tmp_path / "found")
    show_found(found, as_json=False)

    assert found.is_beaten
    assert trained_by(found) == Rival.DUAL_AMN
    assert found.n_joined == 1
    assert found.rival is not None
    assert found.model is not None
    assert found.model.path == tmp_path / "found" / "final"
    score = found.rival["metrics"]["valid"]["mrr"]
    assert found.model.metrics["valid"] is not None
    assert found.model.metrics["valid"]["mrr"] == score > (found.best.score or 0.0)
    shown = capsys.readouterr()
    assert "best network" in shown.out
    assert "Dual-AMN, outside the search space, is better" in shown.out + shown.err


def test_the_winner_aligns(tmp_path: Path) -> None:
    found = searched(tmp_path / "found")

    assert found.model is not None
    assert len(found.model.align(progress=False).to_frame()) > 0


@pytest.mark.usefixtures("untaught")
def test_a_rival_that_is_worse_changes_nothing(tmp_path: Path) -> None:
    found = searched(tmp_path / "found", epochs=12, learning_rate=0.02, dim=32)

    assert not found.is_beaten
    assert found.rival is not None
    assert trained_by(found) == model_text(found.best.architecture)


@pytest.mark.parametrize("plan", [replace(PLAN, from_scratch=True), StrategyName.RANDOM])
def test_who_searches_from_scratch_or_trains_nothing_after_it_has_no_rival(
    plan: Any, tmp_path: Path
) -> None:
    then_train = isinstance(plan, ist.SearchPlan)
    told = SMALL["retraining"] if then_train else ist.Retraining()

    found = searched(tmp_path / "found", plan, retraining=told)

    assert found.rival is None
    assert not found.is_beaten


def test_one_graph_has_no_rival() -> None:
    told = {name: value for name, value in SMALL.items() if name != "path_length"}

    found = ist.search(ring(12), PLAN, trials=1, **told)

    assert found.rival is None


def test_a_search_that_goes_on_trains_the_rival_no_second_time(tmp_path: Path) -> None:
    first = searched(tmp_path / "found")
    weights = tmp_path / "found" / "rival" / "weights.safetensors"
    written = weights.stat().st_mtime_ns

    again = searched(tmp_path / "found", resume=True, trials=2)

    assert weights.stat().st_mtime_ns == written
    assert again.model is not None
    assert first.model is not None
    assert again.model.result["weights_sha256"] == first.model.result["weights_sha256"]


def test_a_rival_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    searched(whole)
    run_epoch = Training.run_epoch

    def killed_in_the_fifth(training: Training, observer: Observer) -> EpochReport:
        if training.settings.rival is not None and training.progress.n_epochs == 4:
            raise KeyboardInterrupt
        return run_epoch(training, observer)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "run_epoch", killed_in_the_fifth)
        with pytest.raises(KeyboardInterrupt):
            searched(killed)

    searched(killed, resume=True)

    first, second = ((run / "final" / "weights.safetensors") for run in (whole, killed))
    assert first.read_bytes() == second.read_bytes()


def test_on_a_card_without_graph_convolutions_the_note_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise SettingsError('Install it by `pip install "interstellar-kg[rivals]"`.')

    monkeypatch.setattr(search_rival, "simple_conv", missing)
    audience, told = find_audience(is_wanted=True), ist.Retraining(then_train=True)

    def wants_on(device: str) -> bool:
        workers: Any = SimpleNamespace(device=torch.device(device))
        return wants_rival(ist.load(PAIR), PLAN, told, Stage(workers, audience, 0.0))

    assert wants_on("cpu")
    assert capsys.readouterr().err == ""
    assert not wants_on("cuda")
    assert 'Dual-AMN is not tried: Install it by `pip install "inter' in capsys.readouterr().err


def test_with_little_time_it_has_the_epochs_that_fit() -> None:
    usual = replace(ALIGNMENT, max_epochs=40, validate_every=2)
    result: Result = {"epochs": 2, "seconds": 1.0}

    assert affordable(result, usual, 5.0) == 12
    assert affordable(result, usual, 5.4) == 12
    assert affordable(result, usual, 500.0) == 40
    assert affordable(result, usual, -5.0) == 2


def test_a_search_with_a_limit_of_time_leaves_some_for_it(tmp_path: Path) -> None:
    given = ("epochs", "dim", "path_length", "retraining")
    told = {name: value for name, value in SMALL.items() if name not in given}
    started = time.monotonic()

    found = ist.search(
        PAIR, budget=Budget(time=20.0), out=tmp_path / "found", then_train=True, **told
    )

    assert time.monotonic() - started < 25  # a busy machine is late
    assert found.rival is not None
    assert found.model is not None


def test_a_rival_for_which_there_is_no_time_is_given_up_and_goes_on_with_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(search_rival.Until, "on_step", late)
        found = searched(tmp_path / "found", progress=True)
    assert found.rival is None
    assert not found.is_beaten
    assert "there was no time" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "found" / "final")

    again = searched(tmp_path / "found", resume=True)

    assert again.is_beaten


def late(*_: object) -> None:
    raise TimeoutError


def test_a_training_is_stopped_when_its_time_is_over() -> None:
    shown = SilentObserver()

    Until(60.0, shown).on_step(1, 2)
    with pytest.raises(TimeoutError):
        Until(-1.0, shown).on_step(1, 2)
