"""Tests of Bayesian optimisation: Optuna's settings are ours, its chatter is not."""

import logging
import sys

import pytest

from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import SettingsError
from interstellar.searching.bayes import BayesSearch
from interstellar.searching.parzen import N_STARTUP_TRIALS
from interstellar.searching.random_search import RandomSearch
from tests.searching.fake_judge import earned, plant, score_by_hash, search

SPACE = SearchSpace()


def test_it_beats_random_search_on_planted_scores() -> None:
    gains = []
    for seed in range(3):
        score = plant(SPACE, seed)
        learnt = earned(search(SPACE, BayesSearch(SPACE, seed), score, 100), score)
        drawn = earned(search(SPACE, RandomSearch(SPACE, seed), score, 100), score)
        gains.append(sum(learnt[-20:]) / 20 - sum(drawn) / 100)

    assert min(gains) > 0.2


def test_the_answer_is_the_best_that_was_tried() -> None:
    strategy = BayesSearch(SPACE, 0)
    assert strategy.answer() is None

    proposals = [strategy.ask() for _ in range(10)]
    for proposal in proposals:
        strategy.tell(proposal.number, score_by_hash(proposal.architecture))

    best = max(proposals, key=lambda p: score_by_hash(p.architecture))
    assert strategy.answer() == best.architecture


def test_failed_trials_do_not_count() -> None:
    strategy = BayesSearch(SPACE, 0)

    for _ in range(N_STARTUP_TRIALS + 5):
        strategy.tell(strategy.ask().number, None)

    assert strategy.answer() is None
    assert strategy.ask().architecture in SPACE


def test_what_is_asked_for_together_differs() -> None:
    strategy = BayesSearch(SPACE, 0)
    search(SPACE, strategy, plant(SPACE, 0), 40)

    together = {strategy.ask().architecture for _ in range(8)}

    assert len(together) >= 7


def test_optuna_says_nothing_and_its_log_level_stays_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("optuna")
    BayesSearch(SPACE, 0)
    level = logger.level

    strategy = BayesSearch(SPACE, 1)
    search(SPACE, strategy, score_by_hash, 3)

    assert capfd.readouterr().err == ""
    assert logger.level == level == logging.INFO


def test_without_optuna_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "optuna"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)

    with pytest.raises(SettingsError, match=r"interstellar-kg\[search\]"):
        BayesSearch(SPACE, 0)
