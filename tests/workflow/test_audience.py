"""Who watches, and what a notebook shows."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from interstellar.workflow.audience import Audience, NotebookText, find_audience
from interstellar.workflow.progress import training_bar
from tests.workflow.epochs import report_of


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
    with training_bar(9, "mrr", Audience.NOTEBOOK) as (on_step, on_epoch):
        on_step(1, 2)
        on_epoch(report_of(3))

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
    with training_bar(9, "mrr", Audience.LINES) as (on_step, on_epoch):
        on_step(1, 2)
        for epoch in (1, 2, 3):
            on_epoch(report_of(epoch))

    assert shown_epochs(capfd) == ["epoch 1", "epoch 2", "epoch 3"]


def test_quick_epochs_do_not_flood_a_log(capfd: pytest.CaptureFixture[str]) -> None:
    with training_bar(60, "mrr", Audience.LINES) as (_, on_epoch):
        for epoch in range(1, 61):
            on_epoch(report_of(epoch))

    assert shown_epochs(capfd) == ["epoch 1", "epoch 60"]


def test_nobody_is_shown_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with training_bar(9, "mrr", Audience.NOBODY) as (on_step, on_epoch):
        on_step(1, 2)
        on_epoch(report_of(3))

    assert capfd.readouterr() == ("", "")
