"""Optuna's TPE as we use it: pinned, quiet, and optional."""

import sys

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState

from interstellar.errors import SettingsError
from interstellar.searching.parzen import create_study, require_optuna, tell_study

RANGE: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0)}


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


def test_making_a_study_says_nothing_and_leaves_the_verbosity_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = optuna.logging.get_verbosity()

    create_study(0)

    assert optuna.logging.get_verbosity() == before
    assert capfd.readouterr() == ("", "")


def test_without_optuna_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)

    with pytest.raises(SettingsError, match=r"tune needs Optuna.*pip install"):
        require_optuna("tune")
