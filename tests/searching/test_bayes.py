"""Bayesian optimisation of architectures and of settings: Optuna's TPE, pinned, quiet, optional."""

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState

from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import SettingsError
from interstellar.runs.search_plan import Budget
from interstellar.searching.bayes import (
    BATCH_SIZES,
    DIMS,
    N_STARTUP_TRIALS,
    RANGES,
    BayesSearch,
    Tuning,
    as_begun,
    create_study,
    tell_study,
)
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.search_loop import SearchLoop
from interstellar.training.defaults import LINK_PREDICTION as BY_RULE
from interstellar.training.presets import COUNTRIES, LINK_PREDICTION
from interstellar.training.settings import Optimizer, TrainingSettings
from interstellar.training.settings_changes import replace_settings
from tests.searching.fake_judge import (
    FAILED,
    architectures_of,
    plant,
    score_by_hash,
    scored,
    scores_of,
    search,
)
from tests.searching.fake_workbench import TRANS_E, FakeWorkbench, events_of, lasting, run_loop

SPACE = SearchSpace()
RANGE: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0)}


def test_it_beats_random_search_on_planted_scores() -> None:
    gains = []
    for seed in range(2):
        score = plant(SPACE, seed)
        learnt = scores_of(search(SPACE, BayesSearch(SPACE, seed), score, 80), score)
        drawn = scores_of(search(SPACE, RandomSearch(SPACE, seed), score, 80), score)
        gains.append(sum(learnt[-20:]) / 20 - sum(drawn) / 80)

    assert min(gains) > 0.2


def test_the_answer_is_the_best_that_was_tried() -> None:
    strategy = BayesSearch(SPACE, 0)
    assert strategy.answer() is None

    proposals = [strategy.ask() for _ in range(10)]
    architectures = architectures_of(proposals)
    for number, architecture in enumerate(architectures):
        strategy.tell(number, scored(score_by_hash(architecture)))

    assert strategy.answer() == max(architectures, key=score_by_hash)


def test_failed_trials_do_not_count() -> None:
    strategy = BayesSearch(SPACE, 0)

    for _ in range(N_STARTUP_TRIALS + 5):
        strategy.tell(strategy.ask().number, FAILED)

    assert strategy.answer() is None
    assert all(architecture in SPACE for architecture in architectures_of([strategy.ask()]))


def test_what_is_asked_for_together_differs() -> None:
    strategy = BayesSearch(SPACE, 0)
    search(SPACE, strategy, plant(SPACE, 0), 40)

    together = {strategy.ask().architecture for _ in range(8)}

    assert len(together) >= 7


def test_optuna_says_nothing_and_its_log_level_stays_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    level = optuna.logging.get_verbosity()

    search(SPACE, BayesSearch(SPACE, 1), score_by_hash, 3)

    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == level
    assert logging.getLogger("optuna").level == level


def test_without_optuna_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "optuna"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)

    with pytest.raises(SettingsError, match=r"interstellar-kg\[search\]"):
        BayesSearch(SPACE, 0)
    with pytest.raises(SettingsError, match=r"Tuning needs Optuna.*pip install"):
        Tuning(TRANS_E, LINK_PREDICTION, 0)


def draw(seed: int, n: int) -> list[float]:
    """Return what a study draws that is told the draws themselves."""
    study = create_study(seed)
    drawn: list[float] = []
    for _ in range(n):
        trial = study.ask(RANGE)
        drawn.append(float(trial.params["x"]))
        tell_study(study, trial.number, drawn[-1])
    return drawn


def test_the_same_seed_draws_the_same_also_once_the_estimator_is_used() -> None:
    assert draw(3, 30) == draw(3, 30)
    assert draw(3, 5) != draw(4, 5)


def test_a_study_maximises() -> None:
    drawn = draw(0, 60)

    assert sum(drawn[40:]) / 20 > sum(drawn[:20]) / 20


@pytest.mark.parametrize("outcome", [None, float("nan")])
def test_a_failure_is_told_as_one_and_gives_no_score(outcome: float | None) -> None:
    study = create_study(0)

    score = tell_study(study, study.ask(RANGE).number, outcome)

    assert score is None
    assert [trial.state for trial in study.trials] == [TrialState.FAIL]


def test_a_score_is_told_as_it_is() -> None:
    study = create_study(0)

    assert tell_study(study, study.ask(RANGE).number, 0.25) == 0.25
    assert study.best_value == 0.25


def propose(tuning: Tuning, n: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(n):
        proposal = tuning.ask()
        found.append(dict(proposal.changes))
        tuning.tell(proposal.number, scored(1.0 - float(proposal.changes["dropout"])))
    return found


@pytest.mark.parametrize("with_dim", [True, False])
@pytest.mark.parametrize("optimizer", list(Optimizer))
def test_everything_proposed_lies_in_the_ranges_and_makes_settings(
    optimizer: Optimizer, with_dim: bool
) -> None:
    own = replace(LINK_PREDICTION, optimizer=optimizer)
    proposed = propose(Tuning(TRANS_E, own, 0, with_dim=with_dim), 40)

    for changes in proposed:
        assert isinstance(replace_settings(own, changes), TrainingSettings)
        assert all(r.low <= changes[name] <= r.high for name, r in RANGES[optimizer].items())
        assert changes["batch_size"] in BATCH_SIZES
        assert changes.get("dim") in (DIMS if with_dim else (None,))


def test_the_default_settings_lie_in_the_ranges_of_their_optimizer() -> None:
    [first] = propose(Tuning(TRANS_E, BY_RULE, 0, with_dim=True), 1)

    assert replace_settings(BY_RULE, first) == BY_RULE


def test_the_settings_that_a_tuning_begins_with_are_tried_first() -> None:
    [first] = propose(Tuning(TRANS_E, LINK_PREDICTION, 0, with_dim=True), 1)

    assert replace(LINK_PREDICTION, **first) == LINK_PREDICTION


def test_of_settings_outside_the_ranges_only_the_others_are_tried_first() -> None:
    """Countries has no weight decay, and that is below the range."""
    begun = as_begun(COUNTRIES)
    [first] = propose(Tuning(TRANS_E, COUNTRIES, 0, with_dim=False), 1)

    assert "weight_decay" not in begun
    assert first["weight_decay"] > 0
    assert {name: first[name] for name in begun if name != "dim"} == {
        name: value for name, value in begun.items() if name != "dim"
    }


def test_a_seed_decides_what_is_proposed() -> None:
    first, again, other = (
        propose(Tuning(TRANS_E, LINK_PREDICTION, seed, with_dim=False), 30) for seed in (1, 1, 2)
    )

    assert first == again
    assert first != other


def test_a_tuning_believes_in_no_architecture() -> None:
    assert Tuning(TRANS_E, LINK_PREDICTION, 0, with_dim=False).answer() is None


def test_what_a_tuning_keeps_it_does_not_propose() -> None:
    proposed = propose(Tuning(TRANS_E, LINK_PREDICTION, 0, kept=("batch_size", "weight_decay")), 12)

    assert {name for changes in proposed for name in changes} == {
        "learning_rate",
        "lr_decay",
        "dropout",
    }


def test_a_tuning_cut_anywhere_and_resumed_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)

    def tune(path: Path) -> SearchLoop:
        tuning = Tuning(TRANS_E, LINK_PREDICTION, 1, with_dim=True)
        return run_loop(path, tuning, FakeWorkbench(), Budget(trials=22))

    whole = tune(tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)

    for n_lines in (*range(1, 8), *range(8, len(lines), 5), len(lines) - 1):
        path = tmp_path / f"cut-{n_lines}"
        path.write_bytes(b"".join(lines[:n_lines]) + lines[n_lines][:20])
        resumed = tune(path)
        assert lasting(path) == lasting(tmp_path / "whole")
        assert resumed.trials.best == whole.trials.best


def test_each_choice_of_settings_is_a_trial_of_its_own(tmp_path: Path) -> None:
    tuning = Tuning(TRANS_E, LINK_PREDICTION, 1, with_dim=False)

    loop = run_loop(tmp_path / "journal", tuning, FakeWorkbench(), Budget(trials=5))

    assert len(loop.trials.trained) == 5
    assert len(events_of(tmp_path / "journal", "proposed")) == 5
    assert {trial.architecture for trial in loop.trials.ended} == {TRANS_E}
    assert loop.trials.best is not None
    assert loop.trials.best.settings["dropout"] == max(
        trial.settings["dropout"] for trial in loop.trials.ended
    )
