"""Tests of one-shot search: one shared round, one trial, done."""

from interstellar.architecture.search_space import SearchSpace
from interstellar.searching.natural_gradient import mode, uniform
from interstellar.searching.one_shot import OneShotSearch
from interstellar.searching.strategy import FromScratch, WithSharedWeights
from tests.searching.fake_judge import plant, score_by_hash, search, train_shared

SPACE = SearchSpace()
SIZES = [len(choice.options) for choice in SPACE.choices()]


def test_it_shares_weights_among_all_then_trains_the_mode_and_has_finished() -> None:
    strategy = OneShotSearch(SPACE, n_epochs=4)

    proposals = search(SPACE, strategy, score_by_hash, 10)

    first = WithSharedWeights(number=0, macro=None, controller=uniform(SIZES, 13), n_epochs=4)
    learnt = train_shared(SPACE, first, score_by_hash)
    assert proposals == [first, FromScratch(number=1, architecture=SPACE.at(mode(learnt)))]
    assert strategy.ask() is None
    assert strategy.answer() == SPACE.at(mode(learnt))


def test_it_waits_for_the_shared_round_and_knows_nothing_before() -> None:
    strategy = OneShotSearch(SPACE, n_epochs=1)
    strategy.ask()

    assert strategy.ask() is None
    assert strategy.answer() is None


def test_a_failed_shared_round_ends_it() -> None:
    strategy = OneShotSearch(SPACE, n_epochs=1)
    proposal = strategy.ask()
    assert proposal is not None

    strategy.tell(proposal.number, None)

    assert strategy.ask() is None
    assert strategy.answer() is None


def test_with_exact_comparisons_it_finds_a_planted_architecture() -> None:
    score = plant(SPACE, 0)
    strategy = OneShotSearch(SPACE, n_epochs=60)

    search(SPACE, strategy, score, 2)

    answer = strategy.answer()
    assert answer is not None
    assert score(answer) == 1.0
