"""Which trials were tried, how far they are, and which is the best."""

from interstellar.architecture.architecture import Architecture
from interstellar.searching.trial import Stop, Trial, TrialResult
from interstellar.searching.trials import Trials, known_trials
from interstellar.searching.tried_network import TrialKey
from tests.searching.fake_workbench import ALSO_TRANS_E, COMPL_EX, P_TRANS_E, TRANS_E


def trial(
    number: int,
    architecture: Architecture,
    score: float | None,
    *,
    stopped: Stop | None = None,
    failure: str | None = None,
    reused: str | None = None,
    settings: dict[str, float | int] | None = None,
    seed: int | None = None,
) -> Trial:
    curve = [] if score is None else [score / 2, score]
    result = TrialResult(score=score, curve=curve, stopped=stopped, failure=failure, reused=reused)
    return Trial(
        number=number,
        architecture=architecture,
        result=result,
        settings=settings or {},
        seed=seed,
    )


def key_of(architecture: Architecture) -> TrialKey:
    return trial(0, architecture, None).key


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

    assert trials.find(key_of(ALSO_TRANS_E)) == trials.find(key_of(TRANS_E)) == first
    assert trials.find(key_of(COMPL_EX)) is None


def test_a_trial_known_from_elsewhere_is_found() -> None:
    known = trial(0, TRANS_E, 0.5, reused="proposal 3 of before")

    assert collect(known).find(key_of(ALSO_TRANS_E)) == known


def test_a_trial_that_has_come_further_takes_the_place_it_had() -> None:
    waits, other = trial(0, TRANS_E, 0.5, stopped=Stop.RUNG), trial(1, COMPL_EX, 0.6)
    further = trial(0, TRANS_E, 0.7)
    trials = collect(waits, other)
    assert trials.waiting == [waits]

    trials.add(further)

    assert trials.ended == [further, other]
    assert trials[0] == trials.find(key_of(TRANS_E)) == trials.best == further
    assert trials.waiting == []
    assert 0 in trials
    assert 2 not in trials


def test_repetitions_are_no_trials_of_their_own() -> None:
    first, repeat = trial(0, TRANS_E, 0.5), trial(-1, TRANS_E, 0.9, seed=1)
    trials = collect(first, repeat)

    assert trials.ended == trials.trained == trials.ranked == [first]
    assert trials.best == first
    assert trials.repeats == [repeat]
    assert trials.find(repeat.key) == repeat


def test_a_choice_of_settings_says_nothing_of_the_network() -> None:
    trials = collect(trial(0, TRANS_E, 0.5, settings={"dropout": 0.1}))

    assert trials.find(key_of(TRANS_E)) is None


def test_only_what_was_not_known_was_trained() -> None:
    trials = collect(
        trial(0, TRANS_E, 0.5),
        trial(1, ALSO_TRANS_E, 0.5, reused="proposal 0"),
        trial(2, COMPL_EX, None, failure="nan"),
    )

    assert [each.number for each in trials.trained] == [0, 2]


def test_what_another_search_trained_to_its_end_is_known_with_its_source() -> None:
    known = known_trials(
        [
            trial(0, TRANS_E, 0.5),
            trial(1, COMPL_EX, 0.4, stopped=Stop.RUNG),
            trial(2, P_TRANS_E, None, failure="nan"),
        ],
        source="before",
    )

    assert set(known) == {key_of(TRANS_E)}
    assert known[key_of(ALSO_TRANS_E)].result.reused == "proposal 0 of before"


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
