"""What commands say: a table for a person, or one JSON object for a program."""

import json
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from interstellar.printable import printable, printable_lines
from interstellar.watching import Loudness, loudness

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.", show_default=False)
]


def say(text: str) -> None:
    """Print a line for a person to standard output."""
    typer.echo(printable_lines(text))


def report(text: str) -> None:
    """Print a remark to standard error, unless that is to be quiet."""
    if loudness() is not Loudness.QUIET:
        typer.echo(printable_lines(text), err=True)


def print_json(value: Mapping[str, Any]) -> None:
    """Print the one JSON object of a command: ASCII where the output is not UTF-8, null for NaN."""
    from interstellar.records.json_files import to_plain

    is_utf8 = (sys.stdout.encoding or "").lower().replace("_", "-") in ("utf-8", "utf8")
    typer.echo(json.dumps(to_plain(value), ensure_ascii=not is_utf8, allow_nan=False))


def print_what_can_be_printed() -> None:
    """Write characters that a terminal cannot show as escapes, in place of failing at them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_facts(facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a command found out, to a program or a person."""
    (print_json if as_json else print_fields)(facts)


def print_fields(fields: Mapping[str, object]) -> None:
    """Print names and values in two columns."""
    print_rows([(name, format_value(value)) for name, value in fields.items()])


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns as wide as their widest cell; a cell is one line whatever is in it."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        say("  ".join(padded).rstrip())


def format_value(value: object) -> str:
    """Return a number as people write it: 123,456 or 0.941; anything else as it prints."""
    match value:
        case bool():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
        case _:
            return str(value)
