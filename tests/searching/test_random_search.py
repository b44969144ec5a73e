"""Tests of random search: uniform, and no network twice."""

import numpy as np
import pytest

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.search_space import SearchSpace
from interstellar.architecture.subspaces import Subspace
from interstellar.searching.random_search import RandomSearch


def test_no_network_is_proposed_twice_whatever_its_name() -> None:
    strategy = RandomSearch(SearchSpace(Subspace.P1), 0)

    proposals = [strategy.ask() for _ in range(400)]

    assert len({canonical_form(p.architecture) for p in proposals}) == 400


def test_when_no_new_network_turns_up_an_old_one_is_proposed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("interstellar.searching.random_search.MAX_TRIES", 1)
    space = SearchSpace(Subspace.P1)
    strategy = RandomSearch(space, 0)

    proposals = [strategy.ask() for _ in range(400)]

    assert len({canonical_form(p.architecture) for p in proposals}) < 400
    assert all(p.architecture in space for p in proposals)


def test_every_option_of_every_choice_is_drawn() -> None:
    space = SearchSpace()
    strategy = RandomSearch(space, 0)

    points = np.array([space.locate(strategy.ask().architecture) for _ in range(300)])

    for i, choice in enumerate(space.choices()):
        assert set(points[:, i].tolist()) == set(range(len(choice.options)))


def test_scores_teach_it_nothing() -> None:
    told, untold = RandomSearch(SearchSpace(), 1), RandomSearch(SearchSpace(), 1)

    for _ in range(5):
        told.tell(told.ask().number, 1.0)
        untold.ask()

    assert told.ask() == untold.ask()
    assert told.answer() is None
