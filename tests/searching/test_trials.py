"""Which trial is the best, and which is stopped: if no trial before it gained what it lacks."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.searching.trial import Stop, Trial, TrialResult
from interstellar.searching.trials import (
    FEWEST_COMPLETE,
    FIRST_VALIDATION,
    Trials,
    known_trials,
    prune_bar,
    should_prune,
)
from tests.searching.fake_workbench import ALSO_TRANS_E, COMPL_EX, P_TRANS_E, TRANS_E

scores = st.floats(0, 1)
curves = st.lists(scores, min_size=1, max_size=6)
many_curves = st.lists(curves, min_size=FEWEST_COMPLETE, max_size=20)


def test_there_is_no_bar_before_enough_trials_are_complete() -> None:
    assert prune_bar([[0.5, 0.6]] * (FEWEST_COMPLETE - 1)) is None
    assert prune_bar([[0.5, 0.6]] * FEWEST_COMPLETE) is not None
    assert not should_prune([0.0, 0.0, 0.0], None)


def test_the_bar_is_the_best_score_less_the_largest_gain_from_there() -> None:
    complete = [[0.1, 0.2, 0.3]] * (FEWEST_COMPLETE - 2) + [[0.2, 0.8, 0.9], [0.1, 0.1, 0.4]]

    found = prune_bar(complete)

    assert found is not None
    assert [round(bar, 9) for bar in found] == [0.2, 0.6, 0.9]


def test_a_trial_under_the_bar_is_stopped_and_one_at_it_is_not() -> None:
    bar = [0.2, 0.6, 0.9]

    assert should_prune([0.3, 0.59], bar)
    assert not should_prune([0.3, 0.6], bar)
    assert not should_prune([0.6, 0.1], bar), "its best so far counts"
    assert should_prune([0.3, 0.7, 0.8], bar)


def test_no_trial_is_stopped_at_its_first_validation() -> None:
    assert FIRST_VALIDATION == 2
    assert not should_prune([0.0], [0.9, 0.9])


def test_no_trial_is_stopped_beyond_what_is_known() -> None:
    assert not should_prune([0.0] * 3, [0.9, 0.9])


@given(many_curves)
def test_a_trial_that_went_as_one_before_it_and_won_is_never_stopped(
    complete: list[list[float]],
) -> None:
    bar = prune_bar(complete)
    winner = max(complete, key=max)

    assert bar is not None
    for n in range(1, len(winner) + 1):
        assert not should_prune([score + 1e-9 for score in winner[:n]], bar)


@given(many_curves)
def test_bars_never_fall_and_end_at_the_best_score(complete: list[list[float]]) -> None:
    bar = prune_bar(complete)

    assert bar is not None
    assert list(bar) == sorted(bar)
    assert bar[-1] == max(map(max, complete))


@given(many_curves, st.randoms())
def test_bars_do_not_depend_on_the_order_of_trials(
    complete: list[list[float]], random: Random
) -> None:
    shuffled = list(complete)
    random.shuffle(shuffled)

    assert prune_bar(shuffled) == prune_bar(complete)


def trial(
    number: int,
    architecture: Architecture,
    score: float | None,
    *,
    stopped: Stop | None = None,
    failure: str | None = None,
    reused: str | None = None,
    settings: dict[str, float | int] | None = None,
) -> Trial:
    curve = [] if score is None else [score / 2, score]
    result = TrialResult(score=score, curve=curve, stopped=stopped, failure=failure, reused=reused)
    return Trial(number=number, architecture=architecture, result=result, settings=settings or {})


def collect(*trials: Trial) -> Trials:
    return Trials(trials)


def test_the_best_is_the_first_of_the_highest_scores() -> None:
    failed = trial(0, TRANS_E, None, failure="nan")
    first, second = trial(1, COMPL_EX, 0.5), trial(2, P_TRANS_E, 0.5)

    assert collect(failed, first, second).best == first


def test_without_a_score_there_is_no_best() -> None:
    assert collect().best is None
    assert collect(trial(0, TRANS_E, None, failure="nan")).best is None


def test_a_score_known_from_elsewhere_can_be_the_best() -> None:
    known = trial(1, COMPL_EX, 0.9, reused="proposal 3 of before")

    assert collect(trial(0, TRANS_E, 0.5), known).best == known


def test_a_network_is_found_under_any_of_its_names() -> None:
    first = trial(0, TRANS_E, 0.5)
    trials = collect(first, trial(1, ALSO_TRANS_E, 0.5, reused="proposal 0"))

    assert trials.find(ALSO_TRANS_E) == trials.find(TRANS_E) == first
    assert trials.find(COMPL_EX) is None


def test_a_choice_of_settings_says_nothing_of_the_network() -> None:
    trials = collect(trial(0, TRANS_E, 0.5, settings={"dropout": 0.1}))

    assert trials.find(TRANS_E) is None


def test_only_what_was_not_known_was_trained() -> None:
    trials = collect(
        trial(0, TRANS_E, 0.5),
        trial(1, ALSO_TRANS_E, 0.5, reused="proposal 0"),
        trial(2, COMPL_EX, None, failure="nan"),
    )

    assert [each.number for each in trials.trained] == [0, 2]


def test_only_trials_that_were_trained_to_their_end_have_a_complete_curve() -> None:
    trials = collect(
        trial(0, TRANS_E, 0.5),
        trial(1, COMPL_EX, 0.4, stopped=Stop.PRUNED),
        trial(2, P_TRANS_E, None, failure="nan"),
        trial(3, ALSO_TRANS_E, 0.5, reused="proposal 0"),
    )

    assert trials.complete_curves() == [[0.25, 0.5]]


def test_what_another_search_trained_to_its_end_is_known_with_its_source() -> None:
    known = known_trials(
        [
            trial(0, TRANS_E, 0.5),
            trial(1, COMPL_EX, 0.4, stopped=Stop.PRUNED),
            trial(2, P_TRANS_E, None, failure="nan"),
        ],
        source="before",
    )

    assert set(known) == {canonical_form(TRANS_E)}
    assert known[canonical_form(ALSO_TRANS_E)].result.reused == "proposal 0 of before"


def test_ranked_are_the_scored_ones_the_best_first_each_network_once() -> None:
    low, high = trial(0, TRANS_E, 0.5), trial(3, COMPL_EX, 0.9)
    trials = collect(
        low,
        trial(1, P_TRANS_E, None, failure="nan"),
        trial(2, ALSO_TRANS_E, 0.5, reused="proposal 0"),
        high,
    )

    assert trials.ranked == [high, low]


def test_each_choice_of_settings_is_ranked() -> None:
    first = trial(0, TRANS_E, 0.5, settings={"dropout": 0.1})
    second = trial(1, TRANS_E, 0.7, settings={"dropout": 0.2})

    assert collect(first, second).ranked == [second, first]


def test_a_trial_is_described_in_every_notation() -> None:
    described = trial(2, TRANS_E, 0.5, settings={"dropout": 0.1}).describe()

    assert described["name"] == "TransE"
    assert described["formula"] == "O_r = s + r; v = O_r"
    assert (described["score"], described["proposal"]) == (0.5, 2)
    assert described["settings"] == {"dropout": 0.1}
    assert len(described["code"]) == len(described["canonical"]) == 11
