"""What commands say: a table for a person, or one JSON object for a program."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]


def say(text: str) -> None:
    """Print a line for a person to standard output."""
    typer.echo(text)


def report(text: str) -> None:
    """Print progress or a remark to standard error."""
    typer.echo(text, err=True)


def print_json(value: Mapping[str, Any]) -> None:
    """Print the one JSON object of a command."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_fields(fields: Mapping[str, object]) -> None:
    """Print names and values in two columns."""
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        say(f"{name:<{width}}  {format_value(value)}")


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes (done, total) and draws a bar, if a person is watching."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def format_value(value: object) -> str:
    """Return a number with thousands marked, anything else as it prints."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
