"""Who watches, and what is told to all alike."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from interstellar.watching import Loudness, speaking
from interstellar.workflow.audience import Audience, describe_seconds, find_audience, tell


def test_a_pipe_is_given_lines() -> None:
    assert find_audience() is Audience.LINES


def test_who_wants_no_progress_is_nobody() -> None:
    assert find_audience(is_wanted=False) is Audience.NOBODY


def test_a_terminal_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert find_audience() is Audience.TERMINAL


def test_a_shell_of_ipython_is_a_terminal_and_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = SimpleNamespace
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    assert find_audience() is Audience.LINES


def test_who_wants_quiet_is_nobody_and_who_wants_all_has_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with speaking(Loudness.QUIET):
        assert find_audience() is Audience.NOBODY
    with speaking(Loudness.VERBOSE):
        assert find_audience() is Audience.LINES
        assert find_audience(is_wanted=False) is Audience.NOBODY
    assert find_audience() is Audience.TERMINAL


def test_what_is_told_cannot_command_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    tell(Audience.LINES, "note: a\x1b[31mred\x1b[0m name")
    tell(Audience.NOBODY, "nothing")

    assert capfd.readouterr().err == "note: a\\x1b[31mred\\x1b[0m name\n"


def test_times_are_as_a_person_says_them() -> None:
    assert describe_seconds(36.149) == "36.1 s"
    assert describe_seconds(12345.6) == "12,346 s"
