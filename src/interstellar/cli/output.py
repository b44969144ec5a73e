"""What commands say: a table for a person, or one JSON object for a program."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from interstellar.training.loop import EpochReport

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


@contextmanager
def training_bar(
    n_epochs: int, metric: str
) -> Iterator[tuple[Callable[[int, int], None], Callable[["EpochReport"], None]]]:
    """Give functions that take steps and epochs and draw a bar with loss, metric, time left.

    Without a person at the terminal, epochs are lines on standard error.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total: None, lambda epoch: report(describe_epoch(epoch, metric))
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("training", total=n_epochs)
        n_over = 0

        def on_step(done: int, total: int) -> None:
            progress.update(task, completed=n_over + done / total)

        def on_epoch(epoch: "EpochReport") -> None:
            nonlocal n_over
            n_over = epoch.epoch
            progress.update(task, completed=n_over, description=describe_epoch(epoch, metric))

        yield on_step, on_epoch


def describe_epoch(epoch: "EpochReport", metric: str) -> str:
    """Return one line on an epoch."""
    score = f", {metric} {epoch.valid[metric]:.4f}" if epoch.valid else ""
    best = " (best)" if epoch.is_best else ""
    return f"epoch {epoch.epoch}: loss {epoch.loss:.4f}{score}{best}, {epoch.step_ms:.3g} ms a step"


def format_value(value: object) -> str:
    """Return a number with thousands marked, anything else as it prints."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
