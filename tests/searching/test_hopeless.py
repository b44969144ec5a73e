"""When a trial is stopped: only if no trial before it ever gained what it lacks."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from interstellar.searching.hopeless import FEWEST_COMPLETE, FIRST_VALIDATION, bars, is_hopeless

scores = st.floats(0, 1)
curves = st.lists(scores, min_size=1, max_size=6)
many_curves = st.lists(curves, min_size=FEWEST_COMPLETE, max_size=20)


def test_there_is_no_bar_before_enough_trials_are_complete() -> None:
    assert bars([[0.5, 0.6]] * (FEWEST_COMPLETE - 1)) is None
    assert bars([[0.5, 0.6]] * FEWEST_COMPLETE) is not None
    assert not is_hopeless([0.0, 0.0, 0.0], None)


def test_the_bar_is_the_best_score_less_the_largest_gain_from_there() -> None:
    complete = [[0.1, 0.2, 0.3]] * (FEWEST_COMPLETE - 2) + [[0.2, 0.8, 0.9], [0.1, 0.1, 0.4]]

    found = bars(complete)

    assert found is not None
    assert [round(bar, 9) for bar in found] == [0.2, 0.6, 0.9]


def test_a_trial_under_the_bar_is_hopeless_and_one_at_it_is_not() -> None:
    bar = [0.2, 0.6, 0.9]

    assert is_hopeless([0.3, 0.59], bar)
    assert not is_hopeless([0.3, 0.6], bar)
    assert not is_hopeless([0.6, 0.1], bar), "its best so far counts"
    assert is_hopeless([0.3, 0.7, 0.8], bar)


def test_no_trial_is_stopped_at_its_first_validation() -> None:
    assert FIRST_VALIDATION == 2
    assert not is_hopeless([0.0], [0.9, 0.9])


def test_no_trial_is_stopped_beyond_what_is_known() -> None:
    assert not is_hopeless([0.0] * 3, [0.9, 0.9])


@given(many_curves)
def test_a_trial_that_went_as_one_before_it_and_won_is_never_stopped(
    complete: list[list[float]],
) -> None:
    bar = bars(complete)
    winner = max(complete, key=max)

    assert bar is not None
    for n in range(1, len(winner) + 1):
        assert not is_hopeless([score + 1e-9 for score in winner[:n]], bar)


@given(many_curves)
def test_bars_never_fall_and_end_at_the_best_score(complete: list[list[float]]) -> None:
    bar = bars(complete)

    assert bar is not None
    assert bar == sorted(bar)
    assert bar[-1] == max(map(max, complete))


@given(many_curves, st.randoms())
def test_bars_do_not_depend_on_the_order_of_trials(
    complete: list[list[float]], random: Random
) -> None:
    shuffled = list(complete)
    random.shuffle(shuffled)

    assert bars(shuffled) == bars(complete)
