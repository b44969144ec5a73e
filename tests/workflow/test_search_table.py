"""What a search shows: a line a trial where nobody watches, a table where somebody does."""

import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from interstellar.architecture.architecture import Architecture
from interstellar.engine.this_process import ThisProcess
from interstellar.records.journal import Journal
from interstellar.searching.budget import Budget
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.trials import Trial
from interstellar.searching.works import Earned
from interstellar.workflow.audience import Audience, find_audience
from interstellar.workflow.search_table import (
    describe,
    describe_budget,
    draw_table,
    estimate_seconds_left,
    search_table,
)
from tests.searching.fake_workbench import (
    ALSO_TRANS_E,
    COMPL_EX,
    P_TRANS_E,
    TRANS_E,
    FakeWorkbench,
    Listed,
    run_loop,
)

ALL = [TRANS_E, COMPL_EX, ALSO_TRANS_E, P_TRANS_E]


def watch(path: Path, architectures: list[Architecture], on_change: OnChange) -> SearchLoop:
    """Search, or go on with a search, and let somebody watch."""
    with Journal.open(path) as journal:
        loop = SearchLoop(
            Listed(architectures),
            journal,
            Budget(trials=9),
            is_faithful=True,
            known={},
            on_change=on_change,
        )
        loop.run(ThisProcess(FakeWorkbench()))
    return loop


def show(renderable: object) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_each_trial_is_a_line_on_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with search_table("mrr", find_audience()) as on_change:
        watch(tmp_path / "journal", ALL, on_change)

    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 4
    assert all(" mrr 0." in line for line in lines)
    assert "(known from proposal 0)" in lines[2]


def test_a_network_that_is_proposed_again_and_again_is_shown_as_known_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with search_table("mrr", find_audience()) as on_change:
        watch(tmp_path / "journal", [TRANS_E, ALSO_TRANS_E, TRANS_E, TRANS_E, COMPL_EX], on_change)

    shown = [line.split()[2] for line in capfd.readouterr().err.splitlines()]
    assert shown == ["0", "1", "4"]


def test_a_search_whose_first_trial_is_known_says_that_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = run_loop(tmp_path / "before", Listed([TRANS_E]), FakeWorkbench())
    [trial] = before.trials.ended
    with (
        search_table("mrr", find_audience()) as on_change,
        Journal.open(tmp_path / "journal") as journal,
    ):
        loop = SearchLoop(
            Listed([TRANS_E]),
            journal,
            Budget(trials=9),
            is_faithful=True,
            known={trial.network: trial},
            on_change=on_change,
        )
        loop.run(ThisProcess(FakeWorkbench()))

    assert "known from proposal 0" in capfd.readouterr().err


def test_trials_from_before_a_kill_are_not_shown_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with search_table("mrr", find_audience()) as on_change:
        watch(tmp_path / "journal", ALL[:2], on_change)
    capfd.readouterr()

    with search_table("mrr", find_audience()) as on_change:
        watch(tmp_path / "journal", ALL, on_change)

    assert [line.split()[2] for line in capfd.readouterr().err.splitlines()] == ["2", "3"]


def test_somebody_who_watches_sees_a_table_that_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    with search_table("mrr", find_audience()) as on_change:
        watch(tmp_path / "journal", ALL, on_change)

    assert "3 of 9 trials" in terminal.getvalue()
    assert "best" in terminal.getvalue()


def test_nobody_is_told_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with search_table("mrr", Audience.NOBODY) as on_change:
        watch(tmp_path / "journal", ALL, on_change)

    assert capfd.readouterr() == ("", "")


def test_the_table_has_the_best_first_and_what_is_running(tmp_path: Path) -> None:
    tables: list[str] = []

    watch(tmp_path / "journal", ALL, lambda loop: tables.append(show(draw_table(loop, "mrr"))))

    lines = [line for line in tables[-1].splitlines() if " mrr " in line]
    scores = [float(line.split(" mrr ")[1].split()[0]) for line in lines]
    assert "running" in tables[0]
    assert "from scratch" in tables[0]
    assert ["best" in line for line in lines] == [True, False, False]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (Trial(number=3, architecture=TRANS_E, earned=Earned(score=0.5)), "3  mrr 0.5000  O_r"),
        (
            Trial(number=3, architecture=TRANS_E, earned=Earned(score=None, failure="no memory")),
            "3  failed  O_r = s + r; v = O_r  (no memory)",
        ),
        (
            Trial(number=3, architecture=TRANS_E, earned=Earned(score=0.1, stopped="hopeless")),
            "(hopeless)",
        ),
        (
            Trial(
                number=3,
                architecture=TRANS_E,
                earned=Earned(score=0.5),
                changes={"dropout": 0.25, "batch_size": 2048},
            ),
            "mrr 0.5000  dropout 0.25, batch_size 2048",
        ),
    ],
)
def test_a_line_says_what_a_trial_came_to(trial: Trial, words: str) -> None:
    assert words in describe(trial, "mrr")


def test_a_long_reason_is_cut() -> None:
    earned = Earned(score=None, failure="a long reason " * 50)

    assert len(describe(Trial(number=0, architecture=TRANS_E, earned=earned), "mrr")) < 200


def spent(path: Path, budget: Budget, *, n_done: int, seconds: float) -> SearchLoop:
    """Return a search that has done so many trials in so much time."""
    run_loop(path, Listed(ALL[:n_done]), FakeWorkbench())
    with Journal.open(path) as journal:
        journal.append("unfinished", number=0, elapsed=seconds)
        return SearchLoop(Listed(ALL), journal, budget, is_faithful=True, known={})


@pytest.mark.parametrize(
    ("budget", "n_done", "left"),
    [
        (Budget(trials=10), 2, 4000),
        (Budget(trials=10), 0, None),
        (Budget(seconds=1500), 0, 500),
        (Budget(trials=10, seconds=1500), 2, 500),
        (Budget(trials=3, seconds=9000), 2, 500),
        (Budget(seconds=900), 2, 0),
        (Budget(trials=1), 2, 0),
    ],
)
def test_the_time_left_follows_from_the_trials_so_far_or_the_budget(
    tmp_path: Path, budget: Budget, n_done: int, left: float | None
) -> None:
    loop = spent(tmp_path / "journal", budget, n_done=n_done, seconds=1000)

    found = estimate_seconds_left(loop)

    assert found == (None if left is None else pytest.approx(left, abs=5))


def test_times_of_more_than_a_day_are_said_in_hours(tmp_path: Path) -> None:
    loop = spent(tmp_path / "journal", Budget(trials=4), n_done=2, seconds=100 * 3600 + 61)

    assert describe_budget(loop) == ("2 of 4 trials, 100:01:01 spent, about 100:01:01 left")
