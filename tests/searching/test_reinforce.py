"""Tests of reinforcement learning: what one told score does, and that many teach it."""

import pytest

from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import SettingsError
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch, ReinforceSettings
from interstellar.searching.strategy import FromScratch
from tests.searching.fake_judge import earned, plant, search

SPACE = SearchSpace()


def test_the_first_score_is_the_baseline_and_moves_nothing() -> None:
    told, untold = ReinforceSearch(SPACE, 0), ReinforceSearch(SPACE, 0)
    told.tell(told.ask().number, 0.9)
    untold.ask()

    assert [told.ask() for _ in range(5)] == [untold.ask() for _ in range(5)]


def test_a_failed_trial_counts_as_score_zero() -> None:
    failed, zero = ReinforceSearch(SPACE, 0), ReinforceSearch(SPACE, 0)

    for strategy, worst in ((failed, None), (zero, 0.0)):
        for k in range(20):
            strategy.tell(strategy.ask().number, worst if k % 2 else 0.7)

    assert failed.answer() == zero.answer()
    assert failed.ask() == zero.ask()


@pytest.mark.parametrize("seed", range(5))
def test_an_option_that_always_beats_the_others_becomes_the_answer(seed: int) -> None:
    strategy = ReinforceSearch(SPACE, seed)
    for _ in range(60):
        proposal = strategy.ask()
        is_trained = 3 in proposal.architecture.micro.trained
        strategy.tell(proposal.number, 1.0 if is_trained else 0.0)

    assert 3 in strategy.answer().micro.trained


def test_an_entropy_bonus_keeps_it_exploring() -> None:
    def count_distinct(entropy_weight: float) -> int:
        settings = ReinforceSettings(learning_rate=0.01, entropy_weight=entropy_weight)
        strategy = ReinforceSearch(SPACE, 0, settings)
        proposals = search(SPACE, strategy, plant(SPACE, 0), 150)
        return len({p.architecture for p in proposals[-50:] if isinstance(p, FromScratch)})

    assert count_distinct(0.3) > 2 * count_distinct(0.0)


def test_it_beats_random_search_on_planted_scores() -> None:
    gains = []
    for seed in range(3):
        score = plant(SPACE, seed)
        strategy = ReinforceSearch(SPACE, seed)
        learnt = earned(search(SPACE, strategy, score, 120), score)
        drawn = earned(search(SPACE, RandomSearch(SPACE, seed), score, 120), score)
        gains.append(sum(learnt[-20:]) / 20 - sum(drawn) / 120)
        assert max(learnt) > max(drawn)

    assert min(gains) > 0.25


@pytest.mark.parametrize(
    ("name", "value"), [("dim", 0), ("learning_rate", 0.0), ("baseline_decay", 1.0)]
)
def test_settings_that_cannot_learn_are_refused(name: str, value: float) -> None:
    with pytest.raises(SettingsError, match=f"{name}={value}"):
        ReinforceSettings(**{name: value})  # type: ignore[arg-type]
