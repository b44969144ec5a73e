"""Known architectures come first; what follows is the strategy as if it were alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import one_step_form
from interstellar.architecture.literature import COMPLEX, LITERATURE, TRANSE
from interstellar.architecture.search_space import SearchSpace
from interstellar.runs.search_plan import Budget, StrategyName
from interstellar.searching.bayes import N_STARTUP_TRIALS, BayesSearch
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import build_strategy
from interstellar.searching.settings_space import PATH_LENGTH
from interstellar.searching.strategy import FirstRung, KnownFirst, OneOfEach, SearchStrategy
from interstellar.searching.surrogate import SurrogateSearch
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.training.settings_changes import with_changes
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
        strategy.learn(Proposal(number=0, architecture=COMPLEX), scored(0.9))
        strategy.learn(Proposal(number=1, architecture=drawn[0]), scored(0.05))

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


class Told:
    """A strategy that remembers what it is told, and proposes what it was given."""

    def __init__(self, *architectures: Architecture) -> None:
        self.told: list[tuple[int, float | None]] = []
        self.learnt: list[tuple[int, float | None]] = []
        self.asked = [Proposal(number=n, architecture=a) for n, a in enumerate(architectures)]

    def ask(self) -> Proposal | None:
        return self.asked.pop(0) if self.asked else None

    def tell(self, number: int, result: TrialResult) -> None:
        self.told.append((number, result.score))

    def learn(self, proposal: Proposal, result: TrialResult) -> None:
        self.learnt.append((proposal.number, result.score))

    def answer(self) -> Architecture | None:
        return COMPLEX


def test_a_strategy_that_compares_scores_is_told_those_of_the_first_rung() -> None:
    strategy = Told(TRANSE, COMPLEX)
    wrapped = KnownFirst(KNOWN, FirstRung(strategy))

    for number, score in [(2, 0.1), (0, 0.2), (3, 0.3), (2, 0.4), (0, 0.5), (1, 0.6), (3, 0.7)]:
        wrapped.tell(number, scored(score))

    assert strategy.told == [(0, 0.1), (1, 0.3)]
    assert strategy.learnt == [(0, 0.2), (1, 0.6)]
    assert wrapped.answer() == COMPLEX


def test_on_single_steps_the_first_of_those_that_are_alike_is_proposed() -> None:
    """h is the subject there, so that PTransE is TransE."""
    path_model = LITERATURE["PTransE-add"]
    assert one_step_form(path_model) == one_step_form(TRANSE) != one_step_form(COMPLEX)
    strategy = Told(path_model, COMPLEX, path_model)

    alone, beside = OneOfEach([], strategy), OneOfEach([TRANSE], Told(path_model, COMPLEX))

    assert architectures_of(ask_all(alone)) == [path_model, COMPLEX, path_model]
    assert architectures_of(ask_all(beside)) == [TRANSE, COMPLEX]
    alone.tell(2, scored(0.5))
    alone.learn(Proposal(number=0, architecture=TRANSE), scored(0.3))
    assert (strategy.told, strategy.learnt) == ([(2, 0.5)], [(0, 0.3)])


def ask_all(strategy: SearchStrategy) -> list[Proposal]:
    return list(iter(strategy.ask, None))


def test_what_is_proposed_on_longer_paths_is_left_alone() -> None:
    path_model = LITERATURE["PTransE-add"]
    longer = Proposal(number=0, architecture=path_model, changes={PATH_LENGTH: 3})
    strategy = Told()
    strategy.asked.append(longer)

    assert OneOfEach([TRANSE], strategy).ask() == longer


def test_where_triplets_are_single_known_models_that_are_alike_there_are_tried_on_paths() -> None:
    names = ("TransE", "PTransE-add", "ComplEx")
    plan = replace(small_plan(StrategyName.RANDOM), try_first=names)
    search = small_search(plan=plan)
    single = replace(search, settings=with_changes(search.settings, path_length=1))

    on_paths, on_triplets = (
        [strategy.ask() for _ in names] for strategy in map(build_strategy, (search, single))
    )

    architectures = [LITERATURE[name] for name in names]
    assert on_paths == [Proposal(number=n, architecture=a) for n, a in enumerate(architectures)]
    assert [p.architecture for p in on_triplets if p is not None] == architectures
    assert [dict(p.changes) for p in on_triplets if p is not None] == [{}, {PATH_LENGTH: 3}, {}]


@pytest.mark.parametrize(
    ("name", "kind"), [(StrategyName.HYBRID, FirstRung), (StrategyName.SURROGATE, SurrogateSearch)]
)
def test_only_the_surrogate_learns_from_every_rung(name: StrategyName, kind: type) -> None:
    assert isinstance(build_strategy(small_search(name)), kind)
