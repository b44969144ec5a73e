"""What a terminal, a notebook and a log show of a search."""

import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from interstellar.architecture.architecture import Architecture
from interstellar.engine.engine import OnProgress, Plain, ThisProcess
from interstellar.records.journal import Journal
from interstellar.runs.search_plan import Budget
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.trial import Proposal, Stop, Trial, TrialResult
from interstellar.watching import Loudness, speaking
from interstellar.workflow.audience import Audience, find_audience
from interstellar.workflow.search_progress import (
    describe_budget,
    describe_trial,
    draw_curve,
    draw_table,
    estimate_seconds_left,
    list_rows,
    rows_of,
    search_table,
)
from tests.searching.fake_workbench import (
    ALSO_TRANS_E,
    COMPL_EX,
    P_TRANS_E,
    RUNGS,
    TRANS_E,
    WHOLE,
    FakeWorkbench,
    Listed,
    draw,
    open_loop,
    run_loop,
)
from tests.workflow.terminal import Terminal

ALL = [TRANS_E, COMPL_EX, ALSO_TRANS_E, P_TRANS_E]


def watch(
    path: Path, architectures: list[Architecture], on_change: OnChange, rungs: Rungs = WHOLE
) -> SearchLoop:
    """Search, or go on with a search, and let somebody watch."""
    with Journal.open(path) as journal:
        loop = open_loop(
            journal, Listed(architectures), Budget(trials=9), rungs=rungs, on_change=on_change
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
        loop = open_loop(
            journal,
            Listed([TRANS_E]),
            Budget(trials=9),
            known={trial.key: trial},
            on_change=on_change,
        )
        loop.run(ThisProcess(FakeWorkbench()))

    assert "known from proposal 0" in capfd.readouterr().err


def test_a_trial_has_a_line_at_each_of_its_rungs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with search_table("mrr", find_audience()) as on_change:
        loop = watch(tmp_path / "journal", draw(3), on_change, RUNGS)

    lines = capfd.readouterr().err.splitlines()
    [best] = [trial for trial in loop.trials.ended if trial.result.is_complete]
    assert len(lines) == 5
    assert [line.rpartition("(")[2] for line in lines[:4]] == ["epoch 1)"] * 3 + ["epoch 3)"]
    assert [line.split()[2] for line in lines[3:]] == [str(best.number)] * 2
    assert lines[4].endswith(best.formula)


def test_repetitions_of_the_best_are_shown_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        search_table("mrr", find_audience()) as on_change,
        Journal.open(tmp_path / "journal") as journal,
    ):
        loop = open_loop(journal, Listed([TRANS_E]), on_change=on_change)
        loop.run(ThisProcess(FakeWorkbench()))
        loop.finish(ThisProcess(FakeWorkbench()), loop.trials.ended, seeds=[5])

    assert "(seed 5)" in capfd.readouterr().err.splitlines()[1]


def test_a_log_of_a_long_trial_is_not_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def train_slowly(work: Plain, on_progress: OnProgress) -> Plain:
        for epoch in range(1, 9):
            times.append(times[-1] + 2.0)
            on_progress(0, epoch, 9, epoch / 10)
        return FakeWorkbench()(work)

    times = [0.0]
    monkeypatch.setattr("interstellar.workflow.search_progress.time.monotonic", lambda: times[-1])
    with (
        search_table("mrr", Audience.LINES) as on_change,
        Journal.open(tmp_path / "journal") as journal,
    ):
        loop = open_loop(journal, Listed([TRANS_E]), on_change=on_change)
        loop.run(ThisProcess(train_slowly))

    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "epoch 3.0 of 9  O_r = s + r" in lines[0]
    assert "epoch 6.0 of 9  O_r = s + r" in lines[1]


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

    *lines, skipped = [line for line in tables[-1].splitlines() if " mrr " in line]
    scores = [float(line.split(" mrr ")[1].split()[0]) for line in lines]
    assert "running" in tables[0]
    assert "0  O_r = s + r; v = O_r" in tables[0]
    assert ["best" in line for line in lines] == [True, False, False]
    assert skipped.split()[0] == "skipped"
    assert scores == sorted(scores, reverse=True)


def test_a_running_trial_shows_its_formula_and_how_far_it_is(tmp_path: Path) -> None:
    rows: list[list[tuple[str, str, str]]] = []

    def note(loop: SearchLoop) -> None:
        if loop.under_way:
            loop.epochs_by_number[0] = (2.5, 20)
            loop.curve_by_number[0] = [0.125, 0.25]
            rows.append(rows_of(loop, "mrr"))

    watch(tmp_path / "journal", [TRANS_E], note)

    assert rows[-1] == [("running", "▁█", "   0  epoch 2.5 of 20  O_r = s + r; v = O_r")]


def test_the_curve_of_a_promoted_trial_goes_on_from_its_former_rung(tmp_path: Path) -> None:
    curves: list[str] = []

    def note(loop: SearchLoop) -> None:
        for number in loop.under_way:
            if number in loop.trials:
                loop.curve_by_number[number] = [0.5, 0.75]
                before = loop.trials[number].result.curve
                curves.extend(row[1] for row in rows_of(loop, "mrr") if row[0] == "running")
                assert curves[-1] == draw_curve([*before, 0.5, 0.75])

    watch(tmp_path / "journal", draw(3), note, RUNGS)

    assert curves


@pytest.mark.parametrize(
    ("curve", "drawn"),
    [
        ([], ""),
        ([0.5], "▁"),
        ([0.0, 0.5, 1.0], "▁▅█"),
        ([0.2, 0.2], "▁▁"),
        ([i / 100 for i in range(100)], "▁▂▃▃▄▅▆▆▇█"),
    ],
)
def test_a_curve_is_a_word_as_high_as_its_values(curve: list[float], drawn: str) -> None:
    assert draw_curve(curve) == drawn


def test_what_was_known_already_is_a_row_with_how_many(tmp_path: Path) -> None:
    tables: list[list[tuple[str, str, str]]] = []

    watch(tmp_path / "journal", ALL, lambda loop: tables.append(rows_of(loop, "mrr", ["0: busy"])))

    skipped, gpu = tables[-1][-2:]
    assert skipped[0] == "skipped"
    assert skipped[2].startswith("   1  known already, the last: 2  mrr ")
    assert skipped[2].endswith("(known from proposal 0)")
    assert gpu == ("GPU", "", "0: busy")


def test_who_wants_to_be_told_everything_is_told_of_each_repetition_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    proposals = [TRANS_E, ALSO_TRANS_E, TRANS_E, COMPL_EX]
    with speaking(Loudness.VERBOSE), search_table("mrr", find_audience()) as on_change:
        watch(tmp_path / "journal", proposals, on_change)

    shown = [line.split()[2] for line in capfd.readouterr().err.splitlines()]
    assert shown == ["0", "1", "2", "3"]


def test_the_best_of_the_table_is_the_best_of_the_search_also_if_it_was_known(
    tmp_path: Path,
) -> None:
    known = Trial(architecture=COMPL_EX, result=TrialResult(score=0.9999, reused="elsewhere"))
    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed([TRANS_E, COMPL_EX]), known={known.key: known})
        loop.run(ThisProcess(FakeWorkbench()))

    assert loop.trials.best is not None
    assert rows_of(loop, "mrr")[0][::2] == ("best", describe_trial(loop.trials.best, "mrr"))


def test_brackets_and_escapes_in_a_failure_are_shown_as_they_are(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed([]))
        result = TrialResult(score=0.5, failure="no [/bold] \x1b[31m memory")
        loop.trials.add(Trial(number=3, architecture=TRANS_E, result=result))

    assert r"(no [/bold] \x1b[31m memory)" in show(draw_table(loop, "mrr"))
    assert r"(no [/bold] \x1b[31m memory)" in list_rows(loop, "mrr")


@pytest.mark.parametrize(
    ("result", "changes", "words"),
    [
        (TrialResult(score=0.5), {}, "3  mrr 0.500  O_r"),
        (TrialResult(failure="no memory"), {}, "3  failed  O_r = s + r; v = O_r  (no memory)"),
        (TrialResult(score=0.1, epochs=7, stopped=Stop.RUNG), {}, "(epoch 7)"),
        (TrialResult(score=0.5, reused="proposal 2"), {}, "(known from proposal 2)"),
        (
            TrialResult(score=0.5),
            {"dropout": 0.25, "batch_size": 2048},
            "mrr 0.500  O_r = s + r; v = O_r; dropout 0.25, batch_size 2048",
        ),
    ],
)
def test_a_line_says_what_a_trial_came_to(
    result: TrialResult, changes: dict[str, float], words: str
) -> None:
    trial = Trial(number=3, architecture=TRANS_E, result=result, settings=changes)

    assert words in describe_trial(trial, "mrr")


def test_the_repetition_of_a_trial_has_its_seed_in_place_of_a_number() -> None:
    trial = Trial(number=-2, architecture=TRANS_E, result=TrialResult(score=0.5), seed=7)

    assert describe_trial(trial, "mrr") == "      mrr 0.500  O_r = s + r; v = O_r  (seed 7)"


def test_a_long_reason_is_cut() -> None:
    result = TrialResult(failure="a long reason " * 50)

    assert len(describe_trial(Trial(architecture=TRANS_E, result=result), "mrr")) < 200


def spent(path: Path, budget: Budget, *, n_done: int, seconds: float) -> SearchLoop:
    """Return a search that has done so many trials in so much time."""
    run_loop(path, Listed(ALL[:n_done]), FakeWorkbench())
    with Journal.open(path) as journal:
        proposal = Proposal(number=n_done, architecture=ALL[n_done])
        journal.append("proposed", **proposal.as_plain())
        journal.append("unfinished", number=n_done, elapsed=seconds)
        return open_loop(journal, Listed(ALL), budget)


@pytest.mark.parametrize(
    ("budget", "n_done", "left"),
    [
        (Budget(trials=10), 2, 4000),
        (Budget(trials=10), 0, None),
        (Budget(time=1500), 0, 500),
        (Budget(trials=10, time=1500), 2, 500),
        (Budget(trials=3, time=9000), 2, 500),
        (Budget(time=900), 2, 0),
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
