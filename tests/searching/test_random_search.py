"""Tests of random search: uniform, and no network twice."""

import numpy as np

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace
from interstellar.searching.random_search import RandomSearch


def draw(strategy: RandomSearch) -> Architecture:
    proposal = strategy.ask()
    assert proposal is not None
    return proposal.architecture


def test_no_network_is_proposed_twice_whatever_its_name() -> None:
    strategy = RandomSearch(SearchSpace(Subspace.P1), 0)

    drawn = [draw(strategy) for _ in range(400)]

    assert len(set(map(canonical_form, drawn))) == 400


def test_when_every_network_was_proposed_nothing_is_left() -> None:
    space = SearchSpace(Subspace.P1, is_macro_only=True)
    strategy = RandomSearch(space, 0)

    proposals = [strategy.ask() for _ in range(40)]

    networks = {canonical_form(p.architecture) for p in proposals if p is not None}
    assert len(networks) == space.count_distinct() == 34
    assert proposals[34:] == [None] * 6


def test_every_option_of_every_choice_is_drawn() -> None:
    space = SearchSpace()
    strategy = RandomSearch(space, 0)

    points = np.array([space.locate(draw(strategy)) for _ in range(300)])

    for i, choice in enumerate(space.choices()):
        assert set(points[:, i].tolist()) == set(range(len(choice.options)))


def test_scores_teach_it_nothing() -> None:
    told, untold = RandomSearch(SearchSpace(), 1), RandomSearch(SearchSpace(), 1)

    for number in range(5):
        assert told.ask() == untold.ask()
        told.tell(number, 1.0)

    assert told.ask() == untold.ask()
    assert told.answer() is None
