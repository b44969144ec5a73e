"""What commands print: JSON that every program can read, numbers that a person can."""

import json
import math
import sys
from io import BytesIO, TextIOWrapper

import pytest

from interstellar.cli.output import (
    format_value,
    print_fields,
    print_json,
    print_rows,
    print_what_can_be_printed,
    report,
    say,
)


def test_json_has_null_for_what_is_no_number_and_escapes_half_characters(
    capfd: pytest.CaptureFixture[str],
) -> None:
    print_json({"mrr": math.nan, "rows": [math.inf, 0.5], "name": "a\ud800é"})

    said = capfd.readouterr().out
    assert "NaN" not in said
    assert json.loads(said) == {"mrr": None, "rows": [None, 0.5], "name": "a\\ud800é"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_json_is_json_on_terminals_of_any_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    terminal = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(terminal, encoding, write_through=True))
    print_what_can_be_printed()

    print_json({"name": "é 🚀"})

    assert json.loads(terminal.getvalue()) == {"name": "é 🚀"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.9412345678901234, "0.941"),
        (1234.5678, "1,235"),
        (12.345678, "12.3"),
        (0.0, "0"),
        (1e-7, "1e-07"),
        (123456, "123,456"),
        (True, "True"),
        ("as it is", "as it is"),
    ],
)
def test_numbers_for_people_have_few_digits(value: object, text: str) -> None:
    assert format_value(value) == text


def test_nothing_that_is_printed_can_command_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    name = "\x1b]0;title\x07 \x9b31m \u202e"
    say(f"one {name}\ntwo")
    report(name)
    print_fields({name: name})
    print_rows([[name, "a\nb"]])

    out, err = capfd.readouterr()
    assert not set(out + err) & set("\x1b\x07\x9b\u202e")
    assert r"\x1b]0;title\x07 \x9b31m \u202e" in err
    assert r"a\nb" in out
    assert out.count("\n") == 4
