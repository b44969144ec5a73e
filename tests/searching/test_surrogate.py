"""Surrogate search: it learns, uses what it is told, and never proposes the same twice."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import COMPLEX, DISTMULT, LITERATURE, TRANSE
from interstellar.architecture.notation import from_formula
from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.randomness import spawn
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.ridge import Codes, Floats, Ridge, fit_ridge
from interstellar.searching.settings_space import locate_changes, searched_settings
from interstellar.searching.surrogate import (
    MOST_FITTED,
    SurrogateSearch,
    choose_fitted,
    cross,
    encode,
    expected_improvement,
    extrapolate,
    mutate,
    normal_scores,
)
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.searching.tried_network import own_choices
from interstellar.training.defaults import PROPAGATION
from interstellar.training.presets import LINK_PREDICTION
from tests.searching.fake_judge import FAILED, Score, plant, scored

SPACE = SearchSpace()
SETTINGS = searched_settings(LINK_PREDICTION)
HIDDEN_SETTINGS = (1, 0, 2, 0, 1, 0, 1)


def earn(proposal: Proposal, score: Score, rng: np.random.Generator | None = None) -> float:
    """Return how near the proposal is to a hidden architecture and to hidden settings."""
    assert proposal.architecture is not None
    point = locate_changes(SETTINGS, proposal.changes)
    assert point is not None
    n_equal = sum(a == b for a, b in zip(point, HIDDEN_SETTINGS, strict=True))
    noise = 0.0 if rng is None else 0.05 * float(rng.standard_normal())
    return score(canonical_form(proposal.point)) + n_equal / len(point) + noise


def run(strategy: SurrogateSearch | RandomSearch, n_trials: int, seed: int) -> list[Proposal]:
    """Ask and tell in turn, with noise."""
    score, rng = plant(SPACE, seed), spawn(seed, "noise")
    proposals = []
    for _ in range(n_trials):
        proposal = strategy.ask()
        assert proposal is not None
        strategy.tell(proposal.number, scored(earn(proposal, score, rng)))
        proposals.append(proposal)
    return proposals


def learnt(n_trials: int = 12, seed: int = 0) -> SurrogateSearch:
    strategy = SurrogateSearch(SPACE, seed, settings=SETTINGS)
    run(strategy, n_trials, seed)
    return strategy


def key_of(proposal: Proposal) -> tuple[object, ...]:
    assert proposal.architecture is not None
    return canonical_form(proposal.point), *sorted(proposal.changes.items())


def test_it_finds_better_architectures_and_settings_than_random_search_despite_noise() -> None:
    found: dict[str, list[float]] = {"surrogate": [], "random": []}
    for seed in range(3):
        score = plant(SPACE, seed)
        for name, strategy in (
            ("surrogate", SurrogateSearch(SPACE, seed, settings=SETTINGS)),
            ("random", RandomSearch(SPACE, seed)),
        ):
            found[name].append(max(earn(p, score) for p in run(strategy, 35, seed)))

    assert np.mean(found["surrogate"]) > np.mean(found["random"]) + 0.3
    assert min(found["surrogate"]) > max(found["random"])


def test_nothing_is_proposed_twice() -> None:
    proposals = run(SurrogateSearch(SPACE, 1, settings=SETTINGS), 60, 1)

    assert len({key_of(proposal) for proposal in proposals}) == len(proposals)


def test_settings_and_architectures_are_both_changed_and_never_at_first() -> None:
    proposals = run(SurrogateSearch(SPACE, 2, settings=SETTINGS), 50, 2)

    assert not any(proposal.changes for proposal in proposals[:8])
    assert {name for p in proposals for name in p.changes} == {c.name for c in SETTINGS}
    assert len({key_of(proposal)[0] for proposal in proposals}) > 25


def test_those_asked_for_together_differ() -> None:
    strategy = learnt()

    proposals = [strategy.ask() for _ in range(8)]

    assert len({key_of(proposal) for proposal in proposals if proposal}) == 8


class Spy:
    """A posterior that notes how many rows it was made to believe."""

    def __init__(self, posterior: Ridge, n_believed: list[int]) -> None:
        self.posterior, self.n_believed = posterior, n_believed

    def predict(self, codes: Codes) -> tuple[Floats, Floats]:
        return self.posterior.predict(codes)

    def believe(self, codes: Codes) -> "Spy":
        self.n_believed.append(len(codes))
        return Spy(self.posterior.believe(codes), self.n_believed)


def test_those_in_flight_count_as_what_is_predicted_of_them() -> None:
    n_believed: list[int] = []
    strategy = SurrogateSearch(SPACE, 0, fit=lambda codes, y: Spy(fit_ridge(codes, y), n_believed))
    for architecture in LITERATURE.values():
        strategy.learn(Proposal(number=0, architecture=architecture), scored(0.5))

    for _ in range(3):
        strategy.ask()
    strategy.tell(1, scored(0.7))
    strategy.ask()

    assert n_believed == [1, 2, 2]


def test_asked_and_told_again_it_proposes_the_same() -> None:
    first, again = learnt(25, seed=3), learnt(25, seed=3)

    assert [first.ask() for _ in range(3)] == [again.ask() for _ in range(3)]
    assert first.answer() == again.answer()


def test_what_others_tried_is_learnt_from_and_not_proposed() -> None:
    """Everything but products is worthless; it is told so by the literature alone."""
    strategy = SurrogateSearch(SPACE, 0)
    for architecture in LITERATURE.values():
        score = 1.0 if architecture in (COMPLEX, DISTMULT) else 0.1
        strategy.learn(Proposal(number=0, architecture=architecture), scored(score))

    proposals = [strategy.ask() for _ in range(10)]

    known = {canonical_form(architecture) for architecture in LITERATURE.values()}
    assert not known & {key_of(proposal)[0] for proposal in proposals if proposal}
    assert strategy.answer() in {canonical_form(COMPLEX), canonical_form(DISTMULT)}
    n_products = sum("⊗" in p.formula or "⊙" in p.formula for p in proposals if p)
    assert n_products >= 8


def test_what_others_tried_under_settings_of_their_own_does_not_count() -> None:
    strategy, again = learnt(), learnt()

    strategy.learn(Proposal(number=0, architecture=TRANSE, changes={"lr_decay": 0.5}), scored(9.0))
    strategy.learn(Proposal(number=1), scored(9.0))

    assert strategy.ask() == again.ask()


def test_told_several_rungs_the_last_counts() -> None:
    """The same end in one step or in three is the same; the first rung alone is not."""
    strategies = [SurrogateSearch(SPACE, 0, settings=SETTINGS) for _ in range(3)]
    rng = spawn(0, "rungs")
    for _ in range(20):
        last = float(rng.random())
        for strategy, told in zip(strategies, ((9,), (1, 3, 9), (1,)), strict=True):
            proposal = strategy.ask()
            assert proposal is not None
            for epochs in told:
                # At first the order is the other way round.
                score = last if epochs == 9 else 0.01 * epochs * (1 - last)
                strategy.tell(proposal.number, TrialResult(score=score, epochs=epochs))

    at_once, by_rungs, first_only = (strategy.answer() for strategy in strategies)

    assert at_once == by_rungs != first_only


def test_failures_count_as_the_worst() -> None:
    """What fails in all trials of one kind is avoided, and where all fail it goes on."""
    strategy = SurrogateSearch(SPACE, 0)
    later = []
    for i in range(50):
        proposal = strategy.ask()
        assert proposal is not None
        assert proposal.architecture is not None
        fails = "tanh" in proposal.formula
        later += [fails] if i >= 30 else []
        score = scored(plant(SPACE, 0)(canonical_form(proposal.point)))
        strategy.tell(proposal.number, FAILED if fails else score)

    assert sum(later) <= 4


def test_a_score_that_is_no_number_is_a_failure() -> None:
    strategy, failed = learnt(), learnt()
    for one, result in ((strategy, scored(np.nan)), (failed, FAILED)):
        proposal = one.ask()
        assert proposal is not None
        one.tell(proposal.number, result)

    assert strategy.ask() == failed.ask()


def test_it_stays_in_its_space_and_ends_when_all_was_tried() -> None:
    space = SearchSpace(Subspace.P3, is_macro_only=True)
    strategy, n_networks = SurrogateSearch(space, 0), space.count_distinct_macros()
    found = []
    while (proposal := strategy.ask()) is not None:
        assert proposal.architecture is not None
        assert proposal.point in space
        strategy.tell(proposal.number, scored(plant(space, 0)(proposal.point)))
        found.append(key_of(proposal))

    assert len(set(found)) == len(found) == n_networks
    assert strategy.ask() is None


def test_it_goes_on_with_more_trials_than_the_regression_sees() -> None:
    strategy, rng = SurrogateSearch(SPACE, 0, settings=SETTINGS), spawn(0, "others")
    for i in range(2 * MOST_FITTED):
        proposal = Proposal(number=i, architecture=SPACE.sample(rng))
        strategy.learn(proposal, scored(float(rng.random())))

    assert strategy.ask() is not None


def test_equal_networks_have_equal_codes_and_others_have_others() -> None:
    rng = spawn(0, "codes")
    networks = {canonical_form(SPACE.sample(rng)) for _ in range(3000)}

    assert len({encode(network) for network in networks}) == len(networks)
    assert encode(canonical_form(TRANSE))[5] == -1  # nobody reads O_s, so its activation is dead


def test_trials_are_compared_at_the_end_of_their_training() -> None:
    curves = [{1: 0.1, 3: 0.3, 9: 0.4}, {1: 0.2, 3: 0.3}, {1: 0.05}, {}, {7: 0.35}]

    values = extrapolate(curves)

    # From epoch 1 the others gained .2 and .1, from 3 they gained .1; 7 is nobody's rung.
    np.testing.assert_allclose(values, [0.4, 0.4, 0.05 + 0.15 + 0.1, 0.3, 0.35])


def test_values_are_turned_into_normal_quantiles_of_their_ranks() -> None:
    values = np.array([0.3, 0.1, 0.3, 7.0, -2.0])

    expected = norm.ppf((rankdata(values) - 0.5) / 5)

    np.testing.assert_allclose(normal_scores(values), expected)


def test_the_expected_improvement_is_what_drawing_gives() -> None:
    mean, deviation = np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.5, 2.0])
    drawn = mean + deviation * np.random.default_rng(0).standard_normal((400_000, 3))

    improvement = expected_improvement(mean, deviation, 0.7)

    np.testing.assert_allclose(improvement, np.maximum(drawn - 0.7, 0).mean(axis=0), rtol=0.02)


def test_of_many_trials_the_best_and_the_latest_are_fitted() -> None:
    values = np.arange(3.0 * MOST_FITTED)
    values[:5] = 1e6

    fitted = set(choose_fitted(values).tolist())

    assert set(range(5)) <= fitted
    assert len(fitted) == MOST_FITTED
    assert choose_fitted(values[:10]).tolist() == [0, 1, 2, 3, 4, 9, 8, 7, 6, 5]


@pytest.mark.parametrize("seed", range(5))
def test_children_take_after_their_parents(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (0, 1, 2, 0), (3, 1, 0, 0)

    child = cross(first, second, rng)
    mutated = mutate(first, (4, 2, 3, 1), range(1, 4), rng)

    assert all(c in (a, b) for c, a, b in zip(child, first, second, strict=True))
    assert mutated != first
    assert mutated[0] == 0
    assert mutated[1] in (0, 1)
    assert mutated[2] in (0, 1, 2)
    assert mutated[3] == 0


def test_learning_of_a_proposal_again_replaces_what_was_known() -> None:
    strategy, again = learnt(), learnt()
    proposal, result = Proposal(number=0, architecture=TRANSE), scored(0.0)

    strategy.learn(proposal, replace(result, score=5.0))
    strategy.learn(proposal, result)
    again.learn(proposal, result)

    assert strategy.ask() == again.ask()


def test_it_learns_how_messages_are_best_passed_on() -> None:
    """Only the choices of the propagation matter; the best is found among 64."""
    settings = searched_settings(PROPAGATION, kept=["dim", "learning_rate"])
    strategy = SurrogateSearch(SPACE, 0, settings=settings)
    best = {"aggregation": "max", "attention": "query", "relations": "query", "depth": 8}

    def worth(proposal: Proposal) -> float:
        return sum(proposal.changes[name] == value for name, value in best.items()) / 4

    proposals = []
    for _ in range(60):
        proposal = strategy.ask()
        assert proposal is not None
        strategy.tell(proposal.number, scored(worth(proposal)))
        proposals.append(proposal)

    assert max(map(worth, proposals)) == 1.0
    assert len({proposal.key for proposal in proposals}) == 60


def test_a_propagation_that_others_tried_is_not_proposed_under_another_name() -> None:
    """Where messages are constant, it is the same whatever the relation vectors are."""
    strategy = SurrogateSearch(SPACE, 0, settings=searched_settings(PROPAGATION))
    best, own = from_formula("O_r = σ(0 ⊙ r); v = h + O_r"), own_choices(PROPAGATION)
    others = [Proposal(number=0, architecture=a, changes=own) for a in LITERATURE.values()]
    known = Proposal(number=0, architecture=best, changes=own)
    for proposal in others:
        strategy.learn(proposal, scored(0.1))
    strategy.learn(known, scored(1.0))

    proposals = [proposal for proposal in (strategy.ask() for _ in range(40)) if proposal]

    assert strategy.answer() == best
    assert len({proposal.key for proposal in [known, *others, *proposals]}) == 41 + len(others)
    assert any(proposal.architecture == best for proposal in proposals)
