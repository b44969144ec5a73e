"""Runs a command as the program would, and returns all that a caller sees."""

import json
from dataclasses import dataclass
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
