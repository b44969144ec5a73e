"""Known architectures come first; what follows is the strategy as if it were alone."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import COMPLEX, LITERATURE, TRANSE
from interstellar.architecture.notation import code_text
from interstellar.architecture.search_space import SearchSpace
from interstellar.searching.bayes import BayesSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.known_first import KnownFirst
from interstellar.searching.parzen import N_STARTUP_TRIALS
from interstellar.searching.search_experiment import SearchPlan, StrategyName
from interstellar.searching.search_run import build_strategy
from interstellar.searching.strategy import FromScratch
from tests.searching.fake_judge import judge, score_by_hash
from tests.searching.small_searches import run_search, small_search

SPACE = SearchSpace()
KNOWN = [TRANSE, COMPLEX]


def test_they_are_proposed_in_their_order_and_the_rest_is_counted_on() -> None:
    alone, strategy = HybridSearch(SPACE, 1), KnownFirst(KNOWN, HybridSearch(SPACE, 1))

    first = [strategy.ask() for _ in KNOWN]
    for proposal in first:
        assert proposal is not None
        strategy.tell(proposal.number, score_by_hash(TRANSE))
    assert first == [FromScratch(number=i, architecture=a) for i, a in enumerate(KNOWN)]

    for _ in range(12):
        wanted, proposal = alone.ask(), strategy.ask()
        assert proposal == replace(wanted, number=wanted.number + len(KNOWN))
        outcome = judge(SPACE, wanted, score_by_hash)
        alone.tell(wanted.number, outcome)
        strategy.tell(wanted.number + len(KNOWN), outcome)
    assert strategy.answer() == alone.answer()


def test_bayes_learns_from_what_it_did_not_propose() -> None:
    strategy = BayesSearch(SPACE, 0)
    drawn = [SPACE.at(SPACE.locate(strategy.ask().architecture)) for _ in range(3)]
    for number in range(3):
        strategy.tell(number, 0.1)
    for _ in range(N_STARTUP_TRIALS):
        strategy.learn(COMPLEX, 0.9)
        strategy.learn(drawn[0], 0.05)

    proposed = [SPACE.locate(strategy.ask().architecture) for _ in range(30)]

    wanted = SPACE.locate(COMPLEX)
    agreeing = sum(a == b for point in proposed for a, b in zip(point, wanted, strict=True))
    assert agreeing / (30 * len(wanted)) > 0.6
    assert strategy.answer() == COMPLEX


def test_a_known_architecture_that_fails_teaches_nothing() -> None:
    strategy = KnownFirst(KNOWN, BayesSearch(SPACE, 0))
    for _ in KNOWN:
        proposal = strategy.ask()
        assert proposal is not None
        strategy.tell(proposal.number, None)

    assert strategy.answer() is None


@pytest.mark.parametrize(
    "name", [StrategyName.HYBRID, StrategyName.BAYES, StrategyName.DARTS, StrategyName.ONE_SHOT]
)
def test_a_search_begins_with_them_and_can_be_killed(tmp_path: Path, name: StrategyName) -> None:
    plan = SearchPlan(strategy=name, supernet_epochs=2, try_first=codes(LITERATURE.values()))
    search = small_search(name, plan=plan)
    whole = run_search(search, tmp_path / "whole", n_trials=10)

    run_search(search, tmp_path / "parts", n_trials=3)
    parts = run_search(search, tmp_path / "parts", n_trials=10, is_resumed=True)

    assert parts["best"] == whole["best"]
    assert whole["distinct_trained"] == (9 if name in {"darts", "one-shot"} else 10)
    proposed = (tmp_path / "whole" / "journal.jsonl").read_text().count('"kind": "from scratch"')
    assert proposed >= len(LITERATURE) + 1


def codes(architectures: Iterable[Architecture]) -> str:
    return " ".join(map(code_text, architectures))


def test_without_any_the_strategy_is_itself() -> None:
    assert isinstance(build_strategy(small_search(StrategyName.HYBRID)), HybridSearch)
