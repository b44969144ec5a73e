"""Tests of random search: uniform, and no network twice."""

import numpy as np
import pytest

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import LITERATURE
from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.settings_space import searched_settings
from interstellar.training.defaults import PROPAGATION
from tests.searching.fake_judge import architectures_of, scored


def draw(strategy: RandomSearch) -> Architecture:
    [architecture] = architectures_of([proposal] if (proposal := strategy.ask()) else [])
    return architecture


def test_no_network_is_proposed_twice_whatever_its_name() -> None:
    strategy = RandomSearch(SearchSpace(Subspace.P1), 0)

    drawn = [draw(strategy) for _ in range(400)]

    assert len(set(map(canonical_form, drawn))) == 400


def test_when_every_network_was_proposed_nothing_is_left() -> None:
    space = SearchSpace(Subspace.P1, is_macro_only=True)
    strategy = RandomSearch(space, 0)

    proposals = [strategy.ask() for _ in range(40)]

    networks = set(map(canonical_form, architectures_of([p for p in proposals if p])))
    assert len(networks) == space.count_distinct() == 34
    assert proposals[34:] == [None] * 6


@pytest.mark.parametrize("seed", range(3))
def test_the_last_networks_are_found_however_few_points_they_have(seed: int) -> None:
    space = SearchSpace(is_macro_only=True)
    strategy = RandomSearch(space, seed)

    drawn = [proposal for proposal in iter(strategy.ask, None) if proposal]

    assert len(set(map(canonical_form, architectures_of(drawn)))) == 492
    assert [proposal.number for proposal in drawn] == list(range(492))
    assert strategy.ask() is None


def test_with_a_macro_level_every_micro_network_is_found() -> None:
    macro = LITERATURE["RSN"].macro
    strategy = RandomSearch(SearchSpace(), 0, macro=macro)

    drawn = [proposal for proposal in iter(strategy.ask, None) if proposal]

    assert set(map(canonical_form, architectures_of(drawn))) == {
        canonical_form(Architecture(macro, m)) for m in SearchSpace().micros()
    }


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
        told.tell(number, scored(1.0))

    assert told.ask() == untold.ask()
    assert told.answer() is None


def test_settings_are_drawn_with_the_architecture_and_no_network_is_proposed_twice() -> None:
    settings = searched_settings(PROPAGATION, kept=["depth"])
    strategy = RandomSearch(SearchSpace(Subspace.P1, is_macro_only=True), 0, settings=settings)

    drawn = [proposal for proposal in (strategy.ask() for _ in range(200)) if proposal]

    assert len({proposal.key for proposal in drawn}) == 200
    for choice in settings:
        found = {proposal.changes.get(choice.name, choice.options[0]) for proposal in drawn}
        assert found == set(choice.options)
