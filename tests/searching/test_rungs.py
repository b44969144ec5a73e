"""Rungs: a third of those that came as far go on, the best of them, and nobody waits."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.searching.rungs import REDUCTION, Rungs, has_passed, has_reached
from interstellar.searching.trial import Stop, Trial, TrialResult
from interstellar.searching.trials import Trials
from interstellar.training.presets import LINK_PREDICTION
from tests.searching.fake_workbench import N_EPOCHS, RUNGS, WHOLE, draw

NETWORKS = draw(30)


def trial(number: int, curve: list[float], **more: object) -> Trial:
    """Return a trial that was trained for as many epochs as its curve has, and waits there."""
    whole = len(curve) == N_EPOCHS
    result = TrialResult(
        score=max(curve, default=None),
        curve=curve,
        epochs=len(curve),
        stopped=None if whole else Stop.RUNG,
    )
    return Trial(number=number, architecture=NETWORKS[number], result=replace(result, **more))  # type: ignore[arg-type]


def waiting(*scores: float) -> list[Trial]:
    """Return trials that wait at the first rung."""
    return [trial(number, [score]) for number, score in enumerate(scores)]


def find_number(
    trials: list[Trial], busy: tuple[int, ...] = (), *, is_last: bool = False
) -> object:
    found = RUNGS.find_promotion(Trials(trials), busy, is_last=is_last)
    return None if found is None else found.number


@pytest.mark.parametrize(
    ("max_epochs", "validate_every", "epochs"),
    [
        (81, 3, (3, 9, 27, 81)),
        (36, 2, (2, 4, 12, 36)),
        (27, 1, (1, 3, 9, 27)),
        (10, 1, (1, 3, 10)),
        (50, 5, (5, 15, 50)),
        (2, 1, (1, 2)),
        (2, 2, (2,)),
        (1, 1, (1,)),
        (4, 9, (4,)),
    ],
)
def test_rungs_are_thirds_of_the_training_at_which_it_is_validated(
    max_epochs: int, validate_every: int, epochs: tuple[int, ...]
) -> None:
    settings = replace(LINK_PREDICTION, max_epochs=max_epochs, validate_every=validate_every)

    assert Rungs.of(settings, prune=True).epochs == epochs
    assert Rungs.of(settings, prune=False).epochs == (max_epochs,)


@given(st.integers(1, 1000), st.integers(1, 50))
def test_every_rung_rises_and_has_a_validation(max_epochs: int, validate_every: int) -> None:
    settings = replace(LINK_PREDICTION, max_epochs=max_epochs, validate_every=validate_every)

    *before, last = Rungs.of(settings, prune=True).epochs

    assert last == max_epochs
    assert sorted({*before, last}) == [*before, last]
    assert all(rung % validate_every == 0 for rung in before)


def test_the_rung_after_another_is_none_where_it_is_the_end() -> None:
    assert (RUNGS.first, RUNGS.after(1), RUNGS.after(2), RUNGS.after(3)) == (1, 3, 3, None)
    assert WHOLE.first is None


def test_nobody_is_promoted_before_there_are_three() -> None:
    assert find_number(waiting(0.5, 0.6)) is None
    assert find_number(waiting(0.5, 0.7, 0.6)) == 1


def test_where_no_more_are_to_come_the_best_is_promoted_however_few_there_are() -> None:
    assert find_number(waiting(0.5, 0.6), is_last=True) == 1
    assert find_number([], is_last=True) is None
    assert find_number([trial(0, [0.5]), trial(1, [0.6] * 3)], is_last=True) == 1
    assert find_number([trial(0, [0.5] * 3), trial(1, [0.6] * N_EPOCHS)], is_last=True) is None


def test_who_is_under_way_or_has_gone_on_takes_one_of_the_places() -> None:
    trials = waiting(0.5, 0.9, 0.6, 0.7, 0.1, 0.2)

    assert find_number(trials) == 1
    assert find_number(trials, busy=(1,)) == 3
    assert find_number([*trials, trial(1, [0.9, 0.9, 0.9])]) == 3
    assert find_number(trials, busy=(1, 3)) is None


def test_of_equal_scores_the_first_is_promoted() -> None:
    assert find_number(waiting(0.5, 0.5, 0.5)) == 0


def test_the_highest_rung_comes_first() -> None:
    far = [trial(n, [0.5, 0.5, 0.1 * n]) for n in range(3)]
    near = [trial(n, [0.9]) for n in range(3, 12)]

    assert find_number(near + far) == 0


def test_trials_are_compared_by_what_they_had_at_the_rung() -> None:
    late = [trial(0, [0.1, 0.9, 0.9]), trial(1, [0.2]), trial(2, [0.3])]

    assert find_number(late) == 2


def test_what_failed_was_known_or_ran_out_of_time_is_not_promoted() -> None:
    whole = waiting(0.5, 0.6, 0.7)
    for odd in ({"failure": "nan", "stopped": None}, {"stopped": Stop.TIME}, {"reused": "x"}):
        assert find_number([*whole, trial(3, [0.9], **odd)]) == 2
        assert find_number([*whole[:2], trial(3, [0.9], **odd)]) is None
    assert find_number([trial(0, []), *whole[1:]]) is None


def test_who_lost_patience_before_a_rung_is_compared_there_and_goes_no_further() -> None:
    impatient = trial(2, [0.9, 0.9], stopped=None)

    assert has_reached(impatient, 3)
    assert has_passed(impatient, 1)
    assert find_number([*waiting(0.5, 0.6), impatient]) is None
    assert find_number([*waiting(0.5, 0.6), impatient], is_last=True) is None


@given(st.lists(st.floats(0, 1), max_size=20), st.randoms())
def test_in_whatever_order_they_come_a_third_of_each_rung_goes_on(
    scores: list[float], random: Random
) -> None:
    """Promoted one by one until none has earned it, as if nobody else were to come."""
    trials, order = Trials(), list(enumerate(scores))
    random.shuffle(order)
    for number, score in order:
        trials.add(trial(number, [score]))
        while (found := RUNGS.find_promotion(trials, (), is_last=False)) is not None:
            n_epochs = RUNGS.after(found.result.epochs) or N_EPOCHS
            trials.add(trial(found.number, [found.result.curve[0]] * n_epochs))

    n_at = [sum(has_reached(t, rung) for t in trials.ended) for rung in RUNGS.epochs]
    best = sorted(scores, reverse=True)[: len(scores) // REDUCTION]
    further = [t.result.curve[0] for t in trials.ended if t.result.epochs > 1]
    assert n_at[1] >= n_at[0] // REDUCTION
    assert n_at[2] >= n_at[1] // REDUCTION
    assert all(score in further for score in best)
