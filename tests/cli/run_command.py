"""Runs a command as the program would, and returns all that a caller sees."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interstellar.cli.app import run


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.code == 0, self.err
        value: dict[str, Any] = json.loads(self.out)
        return value


def run_command(capfd: pytest.CaptureFixture[str], *arguments: object) -> Outcome:
    capfd.readouterr()
    code = run([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return Outcome(code, out, err)


def make_run(out: Path, *arguments: object) -> Path:
    """Run a command that must end well, and return where it writes to."""
    assert run([str(argument) for argument in (*arguments, "--out", out)]) == 0
    return out


def assert_refused(outcome: Outcome, *words: str) -> None:
    """Make sure that a fault of the user is one line that says these words, and nothing else."""
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 1000
    for word in words:
        assert word in outcome.err
