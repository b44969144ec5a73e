"""The trials of a search: which is the best, and what need not be repeated."""

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.searching.trials import Trial, Trials, known_scores
from interstellar.searching.works import Earned
from tests.searching.fake_workbench import ALSO_TRANS_E, COMPL_EX, P_TRANS_E, TRANS_E


def trial(
    number: int,
    architecture: Architecture,
    score: float | None,
    *,
    stopped: str | None = None,
    failure: str | None = None,
    reused: str | None = None,
    changes: dict[str, float | int] | None = None,
) -> Trial:
    curve = [] if score is None else [score / 2, score]
    earned = Earned(score=score, curve=curve, stopped=stopped, failure=failure)
    return Trial(
        number=number,
        architecture=architecture,
        earned=earned,
        reused=reused,
        changes=changes or {},
    )


def collect(*trials: Trial) -> Trials:
    found = Trials()
    for each in trials:
        found.add(each)
    return found


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
    trials = collect(trial(0, TRANS_E, 0.5, changes={"dropout": 0.1}))

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
        trial(1, COMPL_EX, 0.4, stopped="hopeless"),
        trial(2, P_TRANS_E, None, failure="nan"),
        trial(3, ALSO_TRANS_E, 0.5, reused="proposal 0"),
    )

    assert trials.complete_curves() == [[0.25, 0.5]]


def test_what_another_search_trained_to_its_end_is_known_with_its_source() -> None:
    known = known_scores(
        [
            trial(0, TRANS_E, 0.5),
            trial(1, COMPL_EX, 0.4, stopped="hopeless"),
            trial(2, P_TRANS_E, None, failure="nan"),
        ],
        source="before",
    )

    assert set(known) == {canonical_form(TRANS_E)}
    assert known[canonical_form(ALSO_TRANS_E)].reused == "proposal 0 of before"
