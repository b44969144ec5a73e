"""Long work as bars in a terminal, or as lines for who wants to be told everything."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

from interstellar.printable import printable
from interstellar.watching import Loudness, loudness, watching
from interstellar.workflow.audience import Audience, describe_seconds, tell


@contextmanager
def work_shown(audience: Audience) -> Iterator[None]:
    """Show how far long work within is that says so: reading, sampling paths, scoring."""
    if audience is Audience.TERMINAL:
        with terminal_bars():
            yield
    elif loudness() is Loudness.VERBOSE and audience is Audience.LINES:
        with watching(_WorkLines().note):
            yield
    else:
        yield


def describe_rate(speed: float, unit: str) -> str:
    """Return how fast work is done: `12 MB/s`, `1,204 paths/s`, `2.1 s an epoch`."""
    if unit == "bytes":
        return f"{speed / 1e6:.1f} MB/s"
    if speed < 1:
        return f"{describe_seconds(1 / speed)} each"
    return f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.1f} {unit}/s"


@contextmanager
def terminal_bars() -> Iterator["Bars"]:
    """Give bars that go away in the end; they are told of all work meanwhile."""
    from rich import progress as rich_bars  # noqa: PLC0415 (only terminals need it)
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich_bars.TextColumn("{task.description}", markup=False),
        rich_bars.BarColumn(),
        rich_bars.TextColumn("{task.fields[rate]}"),
        rich_bars.TimeRemainingColumn(),
    )
    with rich_bars.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bars = Bars(progress)
        with watching(bars.note):
            yield bars


@final
class Bars:
    """Bars with rate and time left, by what is done; each goes when that is over."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._id_by_work: dict[str, Any] = {}

    def note(self, work: str, n_done: float, n_all: int, unit: str, said: str = "") -> None:
        """Show how far some work is."""
        if n_done >= n_all:
            if work in self._id_by_work:
                self._progress.remove_task(self._id_by_work.pop(work))
            return
        is_new = work not in self._id_by_work
        if is_new:
            self._id_by_work[work] = self._progress.add_task("", total=n_all, rate="")
        task_id = self._id_by_work[work]
        [task] = (task for task in self._progress.tasks if task.id == task_id)
        rate = describe_rate(task.speed, unit) if task.speed else ""
        shown = printable(said or work)
        self._progress.update(task_id, completed=n_done, total=n_all, rate=rate, description=shown)
        if is_new:
            self._progress.refresh()


@final
class _WorkLines:
    """A line for each work that is over, with its time."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}

    def note(self, work: str, n_done: int, n_all: int, unit: str) -> None:
        begun = self._begun.setdefault(work, time.monotonic())
        if n_done >= n_all:
            seconds = time.monotonic() - self._begun.pop(work, begun)
            tell(Audience.LINES, f"{work}: {n_all:,} {unit} in {describe_seconds(seconds)}")
