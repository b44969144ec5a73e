"""Tests of hybrid search: Algorithm 1 when asked in turn, and what several workers see."""

from collections.abc import Iterator

import pytest

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import N_CHOICES, N_MACRO, SearchSpace
from interstellar.errors import SettingsError
from interstellar.randomness import spawn
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.natural_gradient import ControllerState, mode, sample, uniform, update
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.trial import Proposal, TrialResult
from tests.searching.fake_judge import (
    FAILED,
    Score,
    architectures_of,
    plant,
    score_by_hash,
    scored,
    scores_of,
    search,
    train_shared,
)

SPACE = SearchSpace()
SIZES = [len(choice.options) for choice in SPACE.choices()]


def run_algorithm_1(seed: int, k_1: int, k_2: int, n_rounds: int) -> Iterator[Proposal]:
    """Yield what Algorithm 1 tries, written as the paper prints it, scored by hash."""
    macro, micro = uniform(SIZES[:N_MACRO], N_CHOICES), uniform(SIZES[N_MACRO:], N_CHOICES)
    number = 0
    for r in range(n_rounds):
        alpha_2 = sample(micro, spawn(seed, f"micro {r}"))
        for k in range(k_1):
            rng = spawn(seed, f"macro pair {r * k_1 + k}")
            points = [sample(macro, rng) for _ in range(2)]
            scores: list[float | None] = []
            for alpha_1 in points:
                architecture = SPACE.at(alpha_1 + alpha_2)
                yield Proposal(number=number, architecture=architecture)
                scores.append(score_by_hash(architecture))
                number += 1
            macro = update(macro, points, scores)
        alpha_1 = sample(macro, spawn(seed, f"shared macro {r}"))
        fixed = SPACE.at(alpha_1 + alpha_2).macro
        shared = SupernetRound(n_epochs=k_2, controller=micro, macro=fixed)
        yield Proposal(number=number, supernet=shared)
        micro = train_shared(SPACE, number, shared, score_by_hash)
        number += 1


@pytest.mark.parametrize(("k_1", "k_2"), [(1, 1), (3, 2)])
def test_asked_and_told_in_turn_it_is_algorithm_1(k_1: int, k_2: int) -> None:
    strategy = HybridSearch(SPACE, 5, n_macro_updates=k_1, n_micro_epochs=k_2)
    expected = list(run_algorithm_1(5, k_1, k_2, n_rounds=8))

    proposals = search(SPACE, strategy, score_by_hash, len(expected))

    assert proposals == expected


def test_both_of_a_pair_have_the_same_micro_level() -> None:
    strategy = HybridSearch(SPACE, 0, n_macro_updates=2)

    proposals = search(SPACE, strategy, score_by_hash, 30)

    rounds = [proposals[start : start + 4] for start in range(0, 30, 5)]
    for trials in rounds:
        micros = {architecture.micro for architecture in architectures_of(trials)}
        assert len(micros) == 1


def test_without_micro_epochs_no_shared_round_is_proposed() -> None:
    strategy = HybridSearch(SPACE, 0, n_micro_epochs=0)

    proposals = search(SPACE, strategy, score_by_hash, 20)

    assert all(proposal.supernet is None for proposal in proposals)
    assert strategy.answer().micro == SPACE.at((0,) * N_CHOICES).micro


def test_at_the_macro_level_alone_no_shared_round_is_proposed() -> None:
    space = SearchSpace(is_macro_only=True)
    strategy = HybridSearch(space, seed=0)

    proposals = search(space, strategy, score_by_hash, 12)

    assert all(proposal.supernet is None for proposal in proposals)


def test_the_micro_part_knows_its_own_choices_and_how_many_the_controller_has() -> None:
    strategy = HybridSearch(SPACE, 0)

    *_, shared = search(SPACE, strategy, score_by_hash, 3)

    assert shared.supernet is not None
    controller = shared.supernet.controller
    assert controller is not None
    assert [len(theta) for theta in controller.theta] == [3, 3, 2, 2, 2, 2, 2, 2]
    assert controller.n_choices == 13


def test_the_micro_part_lives_on_from_round_to_round() -> None:
    strategy = HybridSearch(SPACE, 0)
    learnt = shift_to_last(uniform(SIZES[N_MACRO:], N_CHOICES))

    for _ in range(3):
        proposal = strategy.ask()
        is_shared = proposal.supernet is not None
        strategy.tell(proposal.number, TrialResult(controller=learnt) if is_shared else scored(0.5))
    shared = [strategy.ask() for _ in range(3)][2].supernet

    assert shared is not None
    assert shared.controller == learnt
    assert strategy.answer().micro == SPACE.at((0,) * N_MACRO + mode(learnt)).micro


def shift_to_last(state: ControllerState) -> ControllerState:
    last = tuple(len(theta) - 1 for theta in state.theta)
    return update(state, [last, (0,) * len(last)], [1.0, 0.0])


def test_a_failed_shared_round_leaves_the_controller_as_it_was() -> None:
    told, untold = HybridSearch(SPACE, 3), HybridSearch(SPACE, 3)

    for strategy in (told, untold):
        for number in range(3):
            assert strategy.ask().number == number
    told.tell(2, FAILED)

    assert told.answer() == untold.answer()
    assert [told.ask() for _ in range(3)] == [untold.ask() for _ in range(3)]


def test_it_never_waits_for_what_is_in_flight() -> None:
    strategy = HybridSearch(SPACE, 0)

    proposals = [strategy.ask() for _ in range(30)]

    assert [p.number for p in proposals] == list(range(30))
    assert len(set(architectures_of(proposals))) > 15


def test_a_pair_moves_the_macro_part_once_both_are_told_in_either_order() -> None:
    in_order, reversed_order, half_told = (HybridSearch(SPACE, 1) for _ in range(3))
    for strategy in (in_order, reversed_order, half_told):
        first, second = strategy.ask(), strategy.ask()
    assert first.architecture is not None
    assert second.architecture is not None

    in_order.tell(0, scored(0.9))
    in_order.tell(1, scored(0.1))
    reversed_order.tell(1, scored(0.1))
    reversed_order.tell(0, scored(0.9))
    half_told.tell(0, scored(0.9))

    assert in_order.answer() == reversed_order.answer()
    assert half_told.answer() == SPACE.at((0,) * N_CHOICES)
    assert in_order.ask() == reversed_order.ask()


def test_the_failed_one_of_a_pair_loses() -> None:
    strategy, opposite = HybridSearch(SPACE, 1), HybridSearch(SPACE, 1)
    for each in (strategy, opposite):
        first, second = each.ask(), each.ask()
    strategy.tell(0, FAILED)
    strategy.tell(1, scored(0.0))
    opposite.tell(0, scored(0.0))
    opposite.tell(1, FAILED)

    assert count_shared(strategy.answer(), second) > count_shared(strategy.answer(), first)
    assert count_shared(opposite.answer(), first) > count_shared(opposite.answer(), second)


def count_shared(answer: Architecture, proposal: Proposal) -> int:
    """Return in how many macro choices an answer is as proposed."""
    assert proposal.architecture is not None
    points = SPACE.locate(answer), SPACE.locate(proposal.point)
    return sum(a == b for a, b in zip(points[0][:N_MACRO], points[1][:N_MACRO], strict=True))


def test_it_finds_a_planted_architecture_that_random_search_does_not() -> None:
    n_found, gains = 0, []
    for seed in range(4):
        score = plant(SPACE, seed)
        hybrid = HybridSearch(SPACE, seed)
        proposals = search(SPACE, hybrid, score, 150)
        n_found += score(hybrid.answer()) == 1.0
        gains.append(mean_of_last(proposals, score) - mean_of_random(seed, score))

    assert n_found >= 3
    assert min(gains) > 0.3


def mean_of_last(proposals: list[Proposal], score: Score) -> float:
    return sum(scores_of(proposals, score)[-20:]) / 20


def mean_of_random(seed: int, score: Score) -> float:
    return mean_of_last(search(SPACE, RandomSearch(SPACE, seed), score, 20), score)


@pytest.mark.parametrize(("k_1", "k_2"), [(0, 1), (1, -1)])
def test_a_round_without_macro_updates_is_refused(k_1: int, k_2: int) -> None:
    with pytest.raises(SettingsError, match=f"n_macro_updates={k_1}"):
        HybridSearch(SPACE, 0, n_macro_updates=k_1, n_micro_epochs=k_2)
