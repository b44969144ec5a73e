"""What a terminal, a notebook and a log show of a training."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
import torch

from interstellar.data.graph import Task
from interstellar.training.defaults import GraphSize, default_settings
from interstellar.training.loop import EpochReport, Training
from interstellar.training.settings import ModelKind, TrainingSettings
from interstellar.watching import Loudness, say_how_far, speaking
from interstellar.workflow.audience import Audience, find_audience
from interstellar.workflow.progress import (
    NotebookText,
    describe_epoch,
    describe_step,
    list_quicker,
    training_bar,
)
from tests.workflow.terminal import Terminal

SIZE = GraphSize(n_entities=1000, n_triplets=9000)
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


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock that is looked at while networks train."""
    clock = Clock()
    monkeypatch.setattr("interstellar.workflow.progress.time", clock)
    return clock


def test_the_kernel_of_a_notebook_is_one(notebook: Shown) -> None:
    assert find_audience() is Audience.NOTEBOOK
    assert notebook.texts == []


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


def test_slow_epochs_have_a_line_each(capfd: pytest.CaptureFixture[str], clock: Clock) -> None:
    with training_bar(9, "mrr", Audience.LINES) as observer:
        observer.on_step(1, 2)
        for epoch in (1, 2, 3):
            observer.on_epoch(report_of(epoch), TRAINING)
            clock.now += 1.5

    assert shown_epochs(capfd) == ["epoch 1", "epoch 2", "epoch 3"]


def test_quick_epochs_do_not_flood_a_log(capfd: pytest.CaptureFixture[str]) -> None:
    with training_bar(60, "mrr", Audience.LINES) as observer:
        for epoch in range(1, 61):
            observer.on_epoch(report_of(epoch), TRAINING)

    assert shown_epochs(capfd) == ["epoch 1", "epoch 60"]


def test_who_wants_to_be_told_everything_has_a_line_for_each_epoch_and_scoring(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with speaking(Loudness.VERBOSE), training_bar(9, "mrr", find_audience()) as observer:
        for epoch in (1, 2, 3):
            say_how_far("scoring", 20, 20, "rows")
            observer.on_epoch(report_of(epoch), TRAINING)

    assert shown_epochs(capfd) == ["scoring", "epoch 1", "scoring", "epoch 2", "scoring", "epoch 3"]


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


def test_the_bar_of_a_training_has_rate_and_time_left_and_stays_while_it_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    clock = iter(range(1000))
    monkeypatch.setattr("rich.progress.monotonic", lambda: float(next(clock)), raising=False)

    with training_bar(2, "mrr", Audience.TERMINAL) as observer:
        for n_done in range(1, 5):
            observer.on_step(n_done, 4)
        observer.on_epoch(report_of(1), TRAINING)
        say_how_far("scoring", 5, 20, "rows")
        observer.on_epoch(report_of(2), TRAINING)

    last = [line for line in terminal.getvalue().split("\r") if "epoch 2" in line][-1]
    assert "epochs/s" in last
    assert ":" in last.split("epochs/s")[1]
    assert "scoring" in terminal.getvalue()


def test_numbers_are_as_a_person_says_them() -> None:
    said = describe_epoch(report_of(3, step_ms=2100.4), "mrr")

    assert said == "epoch 3: loss 1.500, mrr 0.941 (best), 2.1 s a step"
    assert describe_step(0.123456) == "0.123 ms a step"


@pytest.mark.parametrize(("n_epochs", "is_said"), [(80, True), (8, False)])
def test_a_training_of_hours_is_said_in_its_first_epoch_with_what_is_quicker(
    n_epochs: int, is_said: bool, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    with training_bar(n_epochs, "mrr", Audience.LINES, ["a GPU", "a smaller `dim`"]) as observer:
        for n_done in range(1, 101):
            observer.on_step(n_done, 100)
            clock.now += 1.0
        observer.on_epoch(report_of(1), TRAINING)

    said = capsys.readouterr().err
    assert (
        "an epoch takes about 1.7 minutes here, and all 80 of them 2.2 hours" in said
    ) == is_said
    assert said.count("note:") == is_said
    assert ("Quicker are a GPU, a smaller `dim`; a search" in said) == is_said


@pytest.mark.parametrize(
    ("settings", "device", "named"),
    [
        (default_settings(Task.LINK_PREDICTION, SIZE), "cpu", ["GPU", "negatives"]),
        (default_settings(Task.LINK_PREDICTION, SIZE), "cuda", ["negatives"]),
        (
            default_settings(Task.LINK_PREDICTION, SIZE, ModelKind.PROPAGATION),
            "cpu",
            ["GPU", "nodes"],
        ),
        (replace(default_settings(Task.LINK_PREDICTION, SIZE), n_negatives=9), "cpu", ["GPU"]),
    ],
)
def test_what_is_quicker_is_what_a_training_has_not_yet(
    settings: TrainingSettings, device: str, named: list[str]
) -> None:
    said = ", ".join(list_quicker(settings, torch.device(device)))

    assert [word for word in ("GPU", "negatives", "nodes") if word in said] == named
