"""Strategies of one supernet: it is trained, what it holds to be the best is tried, done."""

import pytest

from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.errors import DataError
from interstellar.searching.natural_gradient import mode, uniform
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.supernet_search import DartsSearch, OneShotSearch
from interstellar.searching.trial import Proposal, TrialResult
from tests.searching.fake_judge import FAILED, plant, score_by_hash, scored, search, train_shared

SPACE = SearchSpace()
SIZES = [len(choice.options) for choice in SPACE.choices()]
PART = SearchSpace(Subspace.P3)
WEIGHTS = (
    (0.1, 0.2, 0.6, 0.1),
    (1.0,),
    (0.4, 0.4, 0.1, 0.1),
    (0.3, 0.7),
    (0.1, 0.1, 0.1, 0.7),
    (0.2, 0.5, 0.3),
    (0.2, 0.3, 0.5),
    *((0.5, 0.5), (0.4, 0.6)) * 3,
)
WINNER = (2, 0, 0, 1, 3, 1, 2, 0, 1, 0, 1, 0, 1)


def test_darts_mixes_all_then_trains_what_weighs_most_and_has_finished() -> None:
    strategy = DartsSearch(PART, n_epochs=7)

    first = strategy.ask()
    strategy.tell(0, TrialResult(weights=WEIGHTS))
    second = strategy.ask()
    strategy.tell(1, scored(0.5))

    assert first == Proposal(number=0, supernet=SupernetRound(n_epochs=7))
    assert second == Proposal(number=1, architecture=PART.at(WINNER))
    assert strategy.ask() is None
    assert strategy.answer() == PART.at(WINNER)


def test_one_shot_shares_weights_among_all_then_trains_the_mode_and_has_finished() -> None:
    strategy = OneShotSearch(SPACE, n_epochs=4)

    proposals = search(SPACE, strategy, score_by_hash, 10)

    supernet = SupernetRound(n_epochs=4, controller=uniform(SIZES, 13))
    learnt = train_shared(SPACE, 0, supernet, score_by_hash)
    first = Proposal(number=0, supernet=supernet)
    assert proposals == [first, Proposal(number=1, architecture=SPACE.at(mode(learnt)))]
    assert strategy.ask() is None
    assert strategy.answer() == SPACE.at(mode(learnt))


@pytest.mark.parametrize("build", [DartsSearch, OneShotSearch])
def test_it_waits_for_its_supernet_knows_nothing_before_and_ends_if_that_fails(
    build: type[DartsSearch | OneShotSearch],
) -> None:
    strategy: SearchStrategy = build(SPACE, n_epochs=1)
    proposal = strategy.ask()

    assert proposal is not None
    assert strategy.ask() is None
    assert strategy.answer() is None
    strategy.tell(proposal.number, FAILED)
    assert strategy.ask() is None
    assert strategy.answer() is None


def test_weights_of_another_space_are_refused() -> None:
    strategy = DartsSearch(SPACE, n_epochs=1)
    strategy.ask()

    with pytest.raises(DataError, match="another space"):
        strategy.tell(0, TrialResult(weights=WEIGHTS))


def test_with_exact_comparisons_one_shot_finds_a_planted_architecture() -> None:
    score = plant(SPACE, 0)
    strategy = OneShotSearch(SPACE, n_epochs=60)

    search(SPACE, strategy, score, 2)

    answer = strategy.answer()
    assert answer is not None
    assert score(answer) == 1.0
