"""Who watches a training or a search, and what a terminal, a notebook and a log show of it."""

import sys
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from interstellar.architecture.architecture import Architecture
from interstellar.engine.engine import OnProgress, Plain, ThisProcess
from interstellar.records.journal import Journal
from interstellar.runs.search_plan import Budget
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.trial import Proposal, Stop, Trial, TrialResult
from interstellar.training.loop import EpochReport, Training
from interstellar.workflow.progress import (
    Audience,
    NotebookText,
    describe_budget,
    describe_epoch,
    describe_seconds,
    describe_step,
    describe_trial,
    draw_table,
    estimate_seconds_left,
    find_audience,
    list_rows,
    rows_of,
    search_table,
    tell,
    training_bar,
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

TRAINING = cast("Training", None)
"""Nobody who shows progress looks at it."""


def report_of(epoch: int, step_ms: float = 2.0) -> EpochReport:
    """Return the report of an epoch that nobody trained."""
    return EpochReport(
        epoch=epoch,
        loss=1.5,
        valid={"mrr": 0.9412345},
        is_best=True,
        train_seconds=1.0,
        valid_seconds=0.1,
        step_ms=step_ms,
    )


class Terminal(StringIO):
    """A standard error that a person watches."""

    def isatty(self) -> bool:
        return True


class Shown:
    """A cell of a notebook: the text it shows now, and how often it changed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> "Shown":
        assert raw
        assert display_id
        self.texts.append(bundle["text/plain"])
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts.append(bundle["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Let this process look like the kernel of a notebook."""
    shown = Shown()
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display: Any = ModuleType("IPython.display")
    display.display = shown.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_pipe_is_given_lines() -> None:
    assert find_audience() is Audience.LINES


def test_who_wants_no_progress_is_nobody() -> None:
    assert find_audience(is_wanted=False) is Audience.NOBODY


def test_a_terminal_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert find_audience() is Audience.TERMINAL


def test_the_kernel_of_a_notebook_is_one(notebook: Shown) -> None:
    assert find_audience() is Audience.NOTEBOOK
    assert notebook.texts == []


def test_a_shell_of_ipython_is_a_terminal_and_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = SimpleNamespace
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    assert find_audience() is Audience.LINES


def test_a_text_in_a_notebook_is_replaced(notebook: Shown) -> None:
    text = NotebookText("one")
    text.show("two")

    assert notebook.texts == ["one", "two"]


def test_a_notebook_shows_the_last_epoch_and_how_many_there_are(notebook: Shown) -> None:
    with training_bar(9, "mrr", Audience.NOTEBOOK) as observer:
        observer.on_step(1, 2)
        observer.on_epoch(report_of(3), TRAINING)

    assert "epoch 3" in notebook.texts[-1]
    assert "3 of 9" in notebook.texts[-1]


def shown_epochs(capfd: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capfd.readouterr()
    assert out == ""
    return [line.split(":")[0] for line in err.splitlines()]


def test_slow_epochs_have_a_line_each(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 1.5, 3.0])
    monkeypatch.setattr("interstellar.workflow.progress.time.monotonic", lambda: next(times))
    with training_bar(9, "mrr", Audience.LINES) as observer:
        observer.on_step(1, 2)
        for epoch in (1, 2, 3):
            observer.on_epoch(report_of(epoch), TRAINING)

    assert shown_epochs(capfd) == ["epoch 1", "epoch 2", "epoch 3"]


def test_quick_epochs_do_not_flood_a_log(capfd: pytest.CaptureFixture[str]) -> None:
    with training_bar(60, "mrr", Audience.LINES) as observer:
        for epoch in range(1, 61):
            observer.on_epoch(report_of(epoch), TRAINING)

    assert shown_epochs(capfd) == ["epoch 1", "epoch 60"]


def test_nobody_is_shown_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with training_bar(9, "mrr", Audience.NOBODY) as observer:
        observer.on_step(1, 2)
        observer.on_epoch(report_of(3), TRAINING)

    assert capfd.readouterr() == ("", "")


def test_a_terminal_is_shown_a_bar_with_the_last_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")

    with training_bar(9, "mrr", Audience.TERMINAL) as observer:
        observer.on_step(1, 2)
        observer.on_epoch(report_of(3), TRAINING)

    assert "epoch 3: loss 1.500, mrr 0.941 (best), 2 ms a step" in terminal.getvalue()


def test_numbers_are_as_a_person_says_them() -> None:
    said = describe_epoch(report_of(3, step_ms=2100.4), "mrr")

    assert said == "epoch 3: loss 1.500, mrr 0.941 (best), 2.1 s a step"
    assert describe_step(0.123456) == "0.123 ms a step"
    assert describe_seconds(36.149) == "36.1 s"
    assert describe_seconds(12345.6) == "12,346 s"


def test_what_is_told_cannot_command_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    tell(Audience.LINES, "note: a\x1b[31mred\x1b[0m name")

    assert capfd.readouterr().err == "note: a\\x1b[31mred\\x1b[0m name\n"


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
            on_progress(0, epoch, 9)
        return FakeWorkbench()(work)

    times = [0.0]
    monkeypatch.setattr("interstellar.workflow.progress.time.monotonic", lambda: times[-1])
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

    lines = [line for line in tables[-1].splitlines() if " mrr " in line]
    scores = [float(line.split(" mrr ")[1].split()[0]) for line in lines]
    assert "running" in tables[0]
    assert "0  O_r = s + r; v = O_r" in tables[0]
    assert ["best" in line for line in lines] == [True, False, False]
    assert scores == sorted(scores, reverse=True)


def test_a_running_trial_shows_its_formula_and_how_far_it_is(tmp_path: Path) -> None:
    rows: list[list[tuple[str, str]]] = []

    def note(loop: SearchLoop) -> None:
        if loop.under_way:
            loop.epochs_by_number[0] = (2.5, 20)
            rows.append(rows_of(loop, "mrr"))

    watch(tmp_path / "journal", [TRANS_E], note)

    assert rows[-1] == [("running", "   0  epoch 2.5 of 20  O_r = s + r; v = O_r")]


def test_the_best_of_the_table_is_the_best_of_the_search_also_if_it_was_known(
    tmp_path: Path,
) -> None:
    known = Trial(architecture=COMPL_EX, result=TrialResult(score=0.9999, reused="elsewhere"))
    with Journal.open(tmp_path / "journal") as journal:
        loop = open_loop(journal, Listed([TRANS_E, COMPL_EX]), known={known.key: known})
        loop.run(ThisProcess(FakeWorkbench()))

    assert loop.trials.best is not None
    assert rows_of(loop, "mrr")[0] == ("best", describe_trial(loop.trials.best, "mrr"))


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
