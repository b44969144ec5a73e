from pathlib import Path
from typing import Any

import pytest

from interstellar.dashboard import live_search
from interstellar.dashboard.live_search import LiveSearch
from interstellar.records.run_folder import RunFolder
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.search_section import leaders_section
from interstellar.runs.experiment import read_experiment
from interstellar.searching.trial import ALTERED
from tests.reporting.written_runs import SEARCHES, tuning, write_search


def read_live(folder: Path) -> LiveSearch:
    run = RunFolder(folder)
    live = LiveSearch(read_experiment(run.experiment_file))
    for event in run.read_events():
        live.take(event)
    return live


def record(folder: Path) -> tuple[RecordedSearch, RecordedSearch]:
    """Return a search as it is followed, and as a report reads it."""
    [read] = read_runs(folder)
    assert isinstance(read, RecordedSearch)
    return read_live(folder).record(read.run), read


def several(n: int) -> list[dict[str, Any]]:
    """Return trials with scores in no order, each with a setting of its own."""
    rates = [0.001 * (i + 1) for i in range(n)]
    return [
        {"score": 7 * i % n / n, "changes": {"learning_rate": rate}} for i, rate in enumerate(rates)
    ]


def test_what_is_known_of_a_short_search_is_what_a_report_reads(tmp_path: Path) -> None:
    trials: list[dict[str, Any]] = [
        {"score": 0.2},
        {"score": 0.5, "formula": "RSN"},
        {"failure": "no memory"},
        {"score": 0.2, "reused": "proposal 0"},
        {"formula": "ComplEx"},
    ]
    live, read = record(write_search(tmp_path / "run", trials, is_finished=False))

    assert live.known == read.known
    assert live.best_so_far == read.best_so_far
    assert live.winner == read.winner
    assert live.baselines == read.baselines
    assert (live.n_under_way, live.seconds) == (read.n_under_way, read.seconds)


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for path in SEARCHES.glob("*/experiment.toml")),
    ids=lambda path: path.name,
)
def test_the_searches_in_results_have_the_leaders_of_their_reports(folder: Path) -> None:
    live, read = record(folder)

    assert leaders_section(live) == leaders_section(read)
    assert live.best_so_far == read.best_so_far
    assert live.winner == read.winner
    assert live.gain == read.gain


def test_of_a_long_search_little_is_kept_and_the_best_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_search, "MOST_DOTS", 16)
    monkeypatch.setattr(live_search, "MOST_BEST", 10)
    monkeypatch.setattr(live_search, "MOST_FIRST", 2)
    monkeypatch.setattr(live_search, "MOST_REPEATS", 0)
    live, read = record(write_search(tmp_path / "run", several(200)))

    assert leaders_section(live) == leaders_section(read)
    assert live.winner == read.winner
    assert len(live.trials.ended) <= 24
    assert len(live.known) <= 64
    assert max(known.score for known in live.known) == max(known.score for known in read.known)
    assert [k.n_trials for k in live.known] == sorted(k.n_trials for k in live.known)


def test_a_score_that_rises_with_every_trial_takes_bounded_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_search, "MOST_DOTS", 16)
    rising = [{"score": i / 200} for i in range(200)]
    live, _ = record(write_search(tmp_path / "run", rising))

    assert len(live.known) <= 64
    assert live.best_so_far[-1].score == 199 / 200


def test_a_trial_that_goes_on_counts_once_and_has_its_last_score(tmp_path: Path) -> None:
    folder = write_search(tmp_path / "run", [{"score": 0.2}], is_finished=False)
    live = read_live(folder)
    [begun] = [e for e in RunFolder(folder).read_events() if e["event"] == "proposed"]
    [ended] = [e for e in RunFolder(folder).read_events() if e["event"] == "ended"]

    live.take(begun | {"event": "promoted"})
    live.take(ended | {"score": 0.6})

    assert live.fates == {"trained": 1}
    assert live.score == 0.6
    assert live.progress == "1 trials"


def test_a_tuning_of_version_0_1_is_followed(tmp_path: Path) -> None:
    trial = {"score": 0.4, "changes": {"dim": 32}}
    live, read = record(write_search(tmp_path / "run", [trial], experiment=tuning()))

    assert live.winner == read.winner


def test_beginnings_without_an_end_do_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_search, "MOST_UNDER_WAY", 8)
    live = read_live(write_search(tmp_path / "run", [{} for _ in range(50)], is_finished=False))

    assert live.progress == "0 trials, 8 under way"


@pytest.mark.parametrize(
    "end", [{"number": "x"}, {"number": 0, "score": "x"}, {"number": 0, "score": 0.5, "curve": 3}]
)
def test_an_end_that_no_search_writes_is_refused(end: dict[str, Any], tmp_path: Path) -> None:
    live = read_live(write_search(tmp_path / "run", [{}], is_finished=False))

    with pytest.raises(ALTERED):
        live.take({"event": "ended", **end})
