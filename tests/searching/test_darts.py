"""Tests of DARTS: one relaxed round, one trial, done."""

from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace
from interstellar.searching.darts import DartsSearch
from interstellar.searching.strategy import FromScratch, Relaxed

SPACE = SearchSpace(Subspace.P3)
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


def test_it_relaxes_then_trains_what_weighs_most_and_has_finished() -> None:
    strategy = DartsSearch(SPACE, n_epochs=7)

    first = strategy.ask()
    strategy.tell(0, WEIGHTS)
    second = strategy.ask()
    strategy.tell(1, 0.5)

    assert first == Relaxed(number=0, n_epochs=7)
    assert second == FromScratch(number=1, architecture=SPACE.at(WINNER))
    assert strategy.ask() is None
    assert strategy.answer() == SPACE.at(WINNER)


def test_it_waits_for_the_relaxed_round_and_knows_nothing_before() -> None:
    strategy = DartsSearch(SPACE, n_epochs=1)
    strategy.ask()

    assert strategy.ask() is None
    assert strategy.answer() is None


def test_a_failed_relaxed_round_ends_it() -> None:
    strategy = DartsSearch(SPACE, n_epochs=1)
    strategy.ask()

    strategy.tell(0, None)

    assert strategy.ask() is None
    assert strategy.answer() is None
