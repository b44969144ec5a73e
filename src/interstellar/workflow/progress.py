"""What is shown while one network trains: epochs, loss, metric, and the time left."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from interstellar.workflow.audience import Audience, NotebookText, report

if TYPE_CHECKING:
    from interstellar.training.loop import EpochReport

LINE_SECONDS = 1.0
"""Lines of epochs that nobody watches are at least so far apart."""

OnStep: TypeAlias = Callable[[int, int], None]
OnEpoch: TypeAlias = Callable[["EpochReport"], None]


@contextmanager
def training_bar(
    n_epochs: int, metric: str, audience: Audience
) -> Iterator[tuple[OnStep, OnEpoch]]:
    """Give functions that take steps and epochs and show how far training is."""
    match audience:
        case Audience.TERMINAL:
            with _terminal_bar(n_epochs, metric) as functions:
                yield functions
        case Audience.NOTEBOOK:
            yield _ignore_steps, _notebook_epochs(n_epochs, metric)
        case Audience.LINES:
            yield _ignore_steps, _LineNowAndThen(n_epochs, metric).show
        case Audience.NOBODY:
            yield _ignore_steps, lambda _epoch: None


@contextmanager
def _terminal_bar(n_epochs: int, metric: str) -> Iterator[tuple[OnStep, OnEpoch]]:
    from rich.console import Console  # noqa: PLC0415 (only terminals need it)
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

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


def _notebook_epochs(n_epochs: int, metric: str) -> OnEpoch:
    started = time.monotonic()
    text = NotebookText("training")

    def on_epoch(epoch: "EpochReport") -> None:
        seconds = time.monotonic() - started
        text.show(f"{describe_epoch(epoch, metric)}; {epoch.epoch} of {n_epochs}, {seconds:.0f} s")

    return on_epoch


class _LineNowAndThen:
    """Writes a line for the first epoch, for the last, and for others if it has been a while."""

    def __init__(self, n_epochs: int, metric: str) -> None:
        self._n_epochs = n_epochs
        self._metric = metric
        self._shown_at = -math.inf

    def show(self, epoch: "EpochReport") -> None:
        now = time.monotonic()
        if now - self._shown_at >= LINE_SECONDS or epoch.epoch == self._n_epochs:
            report(describe_epoch(epoch, self._metric))
            self._shown_at = now


def _ignore_steps(_done: int, _total: int) -> None:
    return


def describe_epoch(epoch: "EpochReport", metric: str) -> str:
    """Return one line on an epoch."""
    score = f", {metric} {epoch.valid[metric]:.4f}" if epoch.valid else ""
    best = " (best)" if epoch.is_best else ""
    return f"epoch {epoch.epoch}: loss {epoch.loss:.4f}{score}{best}, {epoch.step_ms:.3g} ms a step"
