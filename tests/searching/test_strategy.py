"""Known architectures come first; what follows is the strategy as if it were alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.architecture.literature import COMPLEX, LITERATURE, TRANSE
from interstellar.architecture.search_space import SearchSpace
from interstellar.runs.search_plan import Budget, StrategyName
from interstellar.searching.bayes import N_STARTUP_TRIALS, BayesSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import build_strategy
from interstellar.searching.strategy import KnownFirst
from interstellar.searching.trial import Proposal
from tests.searching.fake_judge import FAILED, architectures_of, judge, score_by_hash, scored
from tests.searching.fake_workbench import FakeWorkbench, events_of, lasting, run_loop
from tests.searching.small_searches import small_plan, small_search

SPACE = SearchSpace()
KNOWN = [TRANSE, COMPLEX]


def test_they_are_proposed_in_their_order_and_the_rest_is_counted_on() -> None:
    alone, strategy = HybridSearch(SPACE, 1), KnownFirst(KNOWN, HybridSearch(SPACE, 1))

    first = [strategy.ask() for _ in KNOWN]
    for proposal in first:
        assert proposal is not None
        strategy.tell(proposal.number, scored(0.5))
    assert first == [Proposal(number=i, architecture=a) for i, a in enumerate(KNOWN)]

    for _ in range(12):
        wanted, proposal = alone.ask(), strategy.ask()
        assert proposal == replace(wanted, number=wanted.number + len(KNOWN))
        result = judge(SPACE, wanted, score_by_hash)
        alone.tell(wanted.number, result)
        strategy.tell(wanted.number + len(KNOWN), result)
    assert strategy.answer() == alone.answer()


def test_bayes_learns_from_what_it_did_not_propose() -> None:
    strategy = BayesSearch(SPACE, 0)
    drawn = architectures_of([strategy.ask() for _ in range(3)])
    for number in range(3):
        strategy.tell(number, scored(0.1))
    for _ in range(N_STARTUP_TRIALS):
        strategy.learn(COMPLEX, 0.9)
        strategy.learn(drawn[0], 0.05)

    proposed = [SPACE.locate(a) for a in architectures_of([strategy.ask() for _ in range(30)])]

    wanted = SPACE.locate(COMPLEX)
    agreeing = sum(a == b for point in proposed for a, b in zip(point, wanted, strict=True))
    assert agreeing / (30 * len(wanted)) > 0.6
    assert strategy.answer() == COMPLEX


def test_a_known_architecture_that_fails_teaches_nothing() -> None:
    strategy = KnownFirst(KNOWN, BayesSearch(SPACE, 0))
    for _ in KNOWN:
        proposal = strategy.ask()
        assert proposal is not None
        strategy.tell(proposal.number, FAILED)

    assert strategy.answer() is None


@pytest.mark.parametrize("name", [name for name in StrategyName if name != "tune"])
def test_a_search_begins_with_them_and_can_be_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: StrategyName
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    plan = replace(small_plan(name), try_first=("literature",))

    def search(path: Path, n_trials: int) -> SearchLoop:
        strategy = build_strategy(small_search(plan=plan))
        return run_loop(path, strategy, FakeWorkbench(), Budget(trials=n_trials))

    whole = search(tmp_path / "whole", 10)
    search(tmp_path / "parts", 3)
    parts = search(tmp_path / "parts", 10)

    assert parts.trials.best == whole.trials.best
    assert len(whole.trials.trained) == (9 if name in {"darts", "one-shot"} else 10)
    proposed = events_of(tmp_path / "whole", "proposed")
    assert [event["code"] for event in proposed[: len(LITERATURE)]] == list(plan.try_first)
    assert lasting(tmp_path / "parts") == lasting(tmp_path / "whole")


def test_without_any_the_strategy_is_itself() -> None:
    assert isinstance(build_strategy(small_search(StrategyName.HYBRID)), HybridSearch)
