"""A search as its journal tells it."""

import json
from pathlib import Path

import pytest

from interstellar.errors import DataError
from interstellar.records.journal import Journal
from interstellar.records.run_folder import RunFolder
from interstellar.reporting import recorded_search
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import Known, RecordedSearch, thin_curve
from interstellar.searching.search_journal import trials_of
from tests.reporting.written_runs import SEARCHES, Trials, write_search, write_training

FOUND = sorted(path.parent for path in SEARCHES.glob("*/journal.jsonl"))


def read(folder: Path) -> RecordedSearch:
    [recorded] = read_runs(folder)
    assert isinstance(recorded, RecordedSearch)
    return recorded


@pytest.mark.parametrize("folder", FOUND, ids=lambda folder: folder.name)
def test_a_search_is_told_as_it_ended(folder: Path) -> None:
    search, result = read(folder), json.loads((folder / "result.json").read_text())

    assert search.winner is not None
    assert search.winner.code == result["best"]["code"]
    assert search.winner.score == search.best_so_far[-1].score == result["best"]["score"]
    assert len(search.trials.trained) == result["trials"] == search.best_so_far[-1].n_trials
    assert search.fates["known already"] == result["reused"]
    assert sum(search.fates.values()) == len(search.trials.ended)
    assert search.seconds == pytest.approx(result["seconds"], abs=1.0)
    assert (search.n_under_way, search.is_cut_short, search.final) == (0, False, None)


@pytest.mark.parametrize("folder", FOUND, ids=lambda folder: folder.name)
def test_its_trials_are_those_of_the_search_itself(folder: Path) -> None:
    ours, theirs = read(folder).trials, trials_of(RunFolder.open(folder))

    assert [trial.number for trial in ours.ranked] == [trial.number for trial in theirs.ranked]
    assert [trial.result.curve for trial in ours.ended] == [t.result.curve for t in theirs.ended]


def test_the_best_so_far_rises_and_ends_with_the_last_trial(tmp_path: Path) -> None:
    scores = [0.25, 0.125, 0.5, 0.375]
    search = read(write_search(tmp_path / "run", [{"score": score} for score in scores]))

    assert search.best_so_far == [
        Known(1, 10.0, 0.25),
        Known(3, 30.0, 0.5),
        Known(4, 40.0, 0.5),
    ]


def test_what_became_of_trials_is_counted(tmp_path: Path) -> None:
    trials: Trials = [
        {"score": 0.5},
        {"score": 0.25, "stopped": "rung", "formula": "DistMult"},
        {"score": 0.5, "reused": "proposal 0"},
        {"failure": "no memory", "formula": "ComplEx"},
        {"formula": "RSN"},
    ]

    search = read(write_search(tmp_path / "run", trials, is_finished=False))

    assert search.fates == {
        "trained to the end": 1,
        "stopped at a rung": 1,
        "known already": 1,
        "failed": 1,
    }
    assert search.n_under_way == 1


def test_without_trials_there_is_no_winner(tmp_path: Path) -> None:
    search = read(write_search(tmp_path / "run", [], is_finished=False))

    assert (search.winner, search.best_so_far, search.seconds, search.gain) == (
        None,
        [],
        None,
        None,
    )


def test_the_winner_that_was_trained_is_read_too(tmp_path: Path) -> None:
    write_search(tmp_path / "run", [{"score": 0.5}])
    write_training(tmp_path / "run" / "final", [0.5], test=0.375)

    final = read(tmp_path / "run").final

    assert final is not None
    assert final.run.name == "run/final"
    assert final.metrics["test"]["mrr"] == 0.375


def test_a_journal_without_end_is_read_so_far_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_search, "MOST_MOMENTS", 4)

    search = read(
        write_search(tmp_path / "run", [{"score": 0.25}, {"score": 0.5}, {"score": 0.75}])
    )

    assert search.is_cut_short
    assert len(search.trials.ended) == 2


def test_curves_take_little_memory_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_search, "MOST_SCORES", 500)
    write_search(tmp_path / "run", [])
    curve = [i / 1000 for i in range(400)]
    with Journal.open(tmp_path / "run" / "journal.jsonl") as journal:
        for number in range(3):
            code = "[0,0,2,0,0,0,0,0,0,0,0]"
            journal.append("proposed", number=number, kind="trial", code=code)
            told = {"score": 0.399, "valid": {}, "curve": curve, "epochs": 400}
            journal.append("ended", number=number, failure="x" * 1000, **told)

    trials = read(tmp_path / "run").trials.ended

    assert [len(trial.result.curve) for trial in trials] == [400, 100, 100]
    assert all(trial.result.score_until(400) == 0.399 for trial in trials)
    assert all(len(trial.result.failure or "") == 200 for trial in trials)


def test_a_thinned_curve_is_the_best_until_each_place() -> None:
    assert thin_curve([0.5, 0.25, 0.75, 0.5], 2) == [0.5, 0.75]
    assert thin_curve([0.5, 0.25], 2) == [0.5, 0.5]


def test_a_trial_with_more_settings_than_there_are_is_refused(tmp_path: Path) -> None:
    changes = {f"setting {i}": 1 for i in range(200)}

    with pytest.raises(DataError, match=r"event `proposed` of .* is not what a search writes"):
        read(write_search(tmp_path / "run", [{"score": 0.5, "changes": changes}]))


@pytest.mark.parametrize("changed", [{"score": 1e300}, {"curve": [-1e300]}, {"elapsed": 1e300}])
def test_numbers_that_no_search_has_are_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    write_search(tmp_path / "run", [{"score": 0.5}])
    journal = tmp_path / "run" / "journal.jsonl"
    *before, last = journal.read_text().splitlines()
    journal.write_text("\n".join([*before, json.dumps(json.loads(last) | changed)]))

    with pytest.raises(DataError, match=r"event `ended` of .* is not what a search writes"):
        read(tmp_path / "run")
