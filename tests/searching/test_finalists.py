"""Finalists: the mean over seeds decides, and the gain over the best known model is named."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.literature import PTRANSE_MUL
from interstellar.architecture.propagation import from_text
from interstellar.searching.finalists import (
    choose_finalists,
    find_gain,
    find_winner,
    list_baselines,
    list_finalists,
)
from interstellar.searching.trial import Stop, Trial, TrialResult
from interstellar.searching.trials import Trials
from interstellar.searching.tried_network import Changes, own_choices
from interstellar.training.defaults import PROPAGATION
from tests.searching.fake_workbench import ALSO_TRANS_E, COMPL_EX, P_TRANS_E, TRANS_E, draw, trained

SEEDS = (None, 1, 2)
NAMELESS = draw(1)[0]
TUNED: Changes = {"dropout": 0.1}


def trial(
    number: int,
    architecture: Architecture,
    score: float | None,
    *,
    seed: int | None = None,
    settings: Changes | None = None,
    stopped: Stop | None = None,
    reused: str | None = None,
) -> Trial:
    result = TrialResult(score=score, stopped=stopped, reused=reused)
    return Trial(
        number=number,
        architecture=architecture,
        result=result,
        settings=settings or {},
        seed=seed,
    )


def repeated(
    number: int, architecture: Architecture, *scores: float, settings: Changes | None = None
) -> list[Trial]:
    """Return a trial and its repetitions with other seeds."""
    return [
        trial(
            number if seed is None else -10 * number - seed,
            architecture,
            score,
            seed=seed,
            settings=settings,
        )
        for seed, score in zip(SEEDS, scores, strict=False)
    ]


def test_finalists_are_the_best_and_the_best_known_model() -> None:
    first, second, third = draw(3)
    trials = Trials(
        [
            trial(0, TRANS_E, 0.2),
            trial(1, COMPL_EX, 0.3),
            trial(2, first, 0.9),
            trial(3, second, 0.8, stopped=Stop.RUNG),
            trial(4, third, 0.7),
            trial(5, P_TRANS_E, None),
        ]
    )

    def numbers(n: int) -> list[int]:
        return [each.number for each in choose_finalists(trials, n)]

    assert numbers(2) == [2, 1, 3]
    assert numbers(5) == [2, 1, 3, 4, 0]
    assert choose_finalists(Trials([trials[2], trials[3]]), 1) == [trials[2]]


def test_a_known_model_with_other_settings_is_no_baseline() -> None:
    plain, tuned = trial(0, ALSO_TRANS_E, 0.5), trial(1, TRANS_E, 0.9, settings=TUNED)
    better = trial(2, COMPL_EX, 0.6)
    trials = Trials([plain, tuned, better, trial(3, NAMELESS, 0.8)])

    assert list_baselines(trials) == [better, plain]


def test_the_best_mean_wins_and_not_the_luckiest() -> None:
    lucky, steady = repeated(0, TRANS_E, 0.9, 0.3, 0.3), repeated(1, COMPL_EX, 0.6, 0.7, 0.65)
    trials = Trials([*lucky, *steady])

    first, second = list_finalists(trials)

    assert (first.trial, second.trial) == (steady[0], lucky[0])
    assert first.mean(SEEDS) == pytest.approx(0.65)
    assert first.best_run == steady[1]
    assert find_winner(trials) == steady[0]
    assert trials.best == lucky[0]
    described = second.describe()
    assert described["scores"] == [0.9, 0.3, 0.3]
    assert described["mean"] == pytest.approx(0.5)


def test_only_seeds_that_all_have_count() -> None:
    """The third seed was good to the one that had time for it."""
    first, second = repeated(0, TRANS_E, 0.5, 0.5, 0.9), repeated(1, COMPL_EX, 0.6, 0.5)

    assert find_winner(Trials([*first, *second])) == second[0]


def test_who_ran_out_of_time_or_failed_is_no_finalist() -> None:
    late = trial(0, TRANS_E, 0.9), trial(-1, TRANS_E, 0.9, seed=1, stopped=Stop.TIME)
    failed = trial(1, P_TRANS_E, None), trial(-2, P_TRANS_E, 0.8, seed=1)
    whole = repeated(2, COMPL_EX, 0.5, 0.5)

    finalists = list_finalists(Trials([*late, *failed, *whole]))

    assert [finalist.trial for finalist in finalists] == [whole[0]]


def test_repetitions_up_to_a_rung_are_compared_with_the_trial_as_it_was_there() -> None:
    """The trial itself had gone further before there was too little time."""
    whole = trained(0.8, 9)
    again = trained(0.6, 3, Stop.RUNG)
    first = Trial(number=0, architecture=TRANS_E, result=whole)
    second = Trial(number=-1, architecture=TRANS_E, result=again, seed=1)

    [finalist] = list_finalists(Trials([first, second]))

    assert finalist.scores == {None: whole.curve[2], 1: again.curve[2]}
    assert finalist.best_run == first


def test_who_goes_on_after_having_won_is_still_compared_where_all_were() -> None:
    """The winner's repetition was trained further, once until time was up."""
    for stopped in (None, Stop.TIME):
        winner = [
            Trial(number=0, architecture=NAMELESS, result=trained(0.8, 9)),
            Trial(number=-1, architecture=NAMELESS, result=trained(0.8, 9, stopped), seed=1),
        ]
        known = [
            Trial(number=1, architecture=TRANS_E, result=trained(0.6, 9)),
            Trial(number=-2, architecture=TRANS_E, result=trained(0.6, 3, Stop.RUNG), seed=1),
        ]
        trials = Trials([*winner, *known])

        first, second = list_finalists(trials)
        gain = find_gain(trials)

        assert first.scores == dict.fromkeys((None, 1), winner[0].result.curve[2])
        assert second.scores == dict.fromkeys((None, 1), known[0].result.curve[2])
        assert gain is not None
        assert gain.points == pytest.approx(100 * (0.8 - 0.6) * (1 - 0.5**3))


def test_settings_tell_finalists_apart() -> None:
    plain, tuned = repeated(1, TRANS_E, 0.4, 0.5), repeated(2, TRANS_E, 0.6, 0.4, settings=TUNED)

    first, second = list_finalists(Trials([*plain, *tuned]))

    assert (first.trial, second.trial) == (tuned[0], plain[0])
    assert [list(f.runs) for f in (first, second)] == [[None, 1]] * 2


def test_without_repetitions_the_highest_score_wins() -> None:
    trials = Trials([trial(0, TRANS_E, 0.5), trial(1, COMPL_EX, 0.6, stopped=Stop.TIME)])

    assert find_winner(trials) == trials[1]
    assert find_winner(Trials()) is None


def test_a_trial_known_from_another_search_can_win() -> None:
    known = trial(0, TRANS_E, 0.7, reused="proposal 3 of before")
    trials = Trials([known, trial(-1, TRANS_E, 0.7, seed=1), *repeated(1, COMPL_EX, 0.5, 0.6)])

    assert choose_finalists(trials, 1) == [known]
    assert find_winner(trials) == known


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=3))
def test_the_gain_is_the_mean_of_the_differences_with_its_standard_error(
    scores: list[tuple[float, float]],
) -> None:
    found, known = (
        repeated(0, NAMELESS, *(a for a, _ in scores)),
        repeated(1, TRANS_E, *(b for _, b in scores)),
    )
    trials = Trials([*found, *known])

    gain = find_gain(trials)

    differences = 100 * np.array([a - b for a, b in scores])
    assert gain is not None
    assert gain.over == known[0]
    if find_winner(trials) == known[0]:
        assert (gain.points, gain.spread) == (0, 0)
    else:
        assert gain.points == pytest.approx(differences.mean(), abs=1e-9)
        assert gain.spread == pytest.approx(differences.std(ddof=1) / sqrt(3), abs=1e-6)
        assert gain.points >= -1e-9
    assert gain.n_seeds == 3


def test_with_one_seed_the_gain_has_no_spread() -> None:
    gain = find_gain(Trials([trial(0, TRANS_E, 0.5), trial(1, NAMELESS, 0.75)]))

    assert gain is not None
    assert gain.describe() == {
        "over": {"name": "TransE", "formula": "O_r = s + r; v = O_r"},
        "points": 25.0,
        "spread": None,
        "seeds": 1,
    }


def test_where_no_known_model_was_tried_there_is_no_gain() -> None:
    assert find_gain(Trials([trial(0, NAMELESS, 0.5)])) is None
    assert find_gain(Trials()) is None


def test_the_known_model_that_was_repeated_is_the_one_to_be_compared_with() -> None:
    """Once all were trained to their end, another known model was ahead with one seed."""
    winner, known = repeated(0, NAMELESS, 0.9, 0.8), repeated(1, TRANS_E, 0.5, 0.6)
    lucky = trial(2, COMPL_EX, 0.55)

    gain = find_gain(Trials([*winner, *known, lucky]))

    assert gain is not None
    assert (gain.over, gain.n_seeds) == (known[0], 2)
    assert gain.points == pytest.approx(30)


def test_of_known_models_that_were_repeated_the_best_mean_is_to_be_beaten() -> None:
    lucky, steady = repeated(0, COMPL_EX, 0.9, 0.5), repeated(1, TRANS_E, 0.8, 0.8)

    gain = find_gain(Trials([*lucky, *steady]))

    assert gain is not None
    assert (gain.over, gain.points) == (steady[0], 0)


def test_a_known_model_on_longer_paths_is_a_baseline_too() -> None:
    on_paths = trial(0, P_TRANS_E, 0.5, settings={"path_length": 3})

    assert list_baselines(Trials([on_paths])) == [on_paths]


def test_a_propagation_with_a_name_is_a_baseline_at_every_depth_but_not_when_tuned() -> None:
    own = own_choices(PROPAGATION)
    plain = trial(0, PTRANSE_MUL, 0.5, settings=own)
    deeper = trial(1, PTRANSE_MUL, 0.6, settings=own | {"depth": 8})
    tuned = trial(2, PTRANSE_MUL, 0.9, settings=own | {"dim": 64})
    other = trial(3, PTRANSE_MUL, 0.8, settings=own | {"aggregation": "mean"})
    trials = Trials([plain, deeper, tuned, other])

    assert list_baselines(trials) == [deeper, plain]
    gain = find_gain(trials)
    assert gain is not None
    assert gain.describe()["over"]["name"] == "NBFNet"
    assert gain.points == pytest.approx(30)


def test_a_propagation_is_repeated_whatever_its_dead_choices_are_called() -> None:
    cell = from_text("O_r = σ(0 ⊙ r); v = h + O_r").cell
    own = own_choices(PROPAGATION)
    trials = Trials(
        [
            trial(0, cell, 0.5, settings=own),
            trial(-1, cell, 0.7, settings=own | {"relations": "query"}, seed=1),
        ]
    )

    [finalist] = list_finalists(trials)

    assert finalist.scores == {None: 0.5, 1: 0.7}
