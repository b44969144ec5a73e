"""What is shown while networks train and searches go on: to a terminal, a notebook, or as lines."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

from interstellar.architecture.propagation import CLAUSES
from interstellar.printable import printable
from interstellar.training.loop import EpochReport, Observer, SilentObserver, Training

if TYPE_CHECKING:
    from rich.table import Table

    from interstellar.searching.search_loop import OnChange, SearchLoop
    from interstellar.searching.trial import Proposal, Trial
    from interstellar.searching.tried_network import Changes, TrialKey

LINE_SECONDS = 1.0
"""Lines of epochs that nobody watches are at least so far apart."""
SILENCE_SECONDS = 5.0
"""After so long without a trial that ended, a line says how far one under way has come."""
N_SHOWN = 5
"""Trials in a table: so many of the best, and of those under way."""


class Audience(StrEnum):
    """Who watches: where progress is shown, and so how."""

    TERMINAL = "terminal"
    """A bar or a table that is drawn anew, on standard error."""
    NOTEBOOK = "notebook"
    """One text below the cell that is replaced."""
    LINES = "lines"
    """A line for each event, on standard error."""
    NOBODY = "nobody"


def find_audience(*, is_wanted: bool = True) -> Audience:
    """Return who watches this process; nobody unless progress is wanted."""
    if not is_wanted:
        return Audience.NOBODY
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is not None and hasattr(ipython.get_ipython(), "kernel"):
        return Audience.NOTEBOOK
    return Audience.TERMINAL if sys.stderr.isatty() else Audience.LINES


def tell(audience: Audience, text: str) -> None:
    """Write a line to standard error, safe to print whatever is in it, if anybody watches."""
    if audience is not Audience.NOBODY:
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()


@final
class NotebookText:
    """A text below a notebook's cell that can be replaced; without widgets, so it needs none."""

    def __init__(self, text: str) -> None:
        display: Any = import_module("IPython.display").display
        self._handle = display({"text/plain": text}, raw=True, display_id=True)

    def show(self, text: str) -> None:
        """Replace the text."""
        self._handle.update({"text/plain": text}, raw=True)


@contextmanager
def training_bar(n_epochs: int, metric: str, audience: Audience) -> Iterator[Observer]:
    """Give an observer that shows how far training is."""
    match audience:
        case Audience.TERMINAL:
            from rich import progress as bars  # noqa: PLC0415 (only terminals need it)
            from rich.console import Console  # noqa: PLC0415

            columns = bars.TextColumn("{task.description}"), bars.BarColumn()
            console = Console(stderr=True)
            with bars.Progress(
                *columns, bars.TimeRemainingColumn(), console=console, transient=True
            ) as progress:
                yield _Bar(progress, n_epochs, metric)
        case Audience.NOTEBOOK:
            yield _EachEpoch(_show_in_notebook(n_epochs, metric))
        case Audience.LINES:
            yield _EachEpoch(_show_now_and_then(n_epochs, metric))
        case Audience.NOBODY:
            yield SilentObserver()


def describe_epoch(epoch: EpochReport, metric: str) -> str:
    """Return one line on an epoch."""
    score = f", {metric} {epoch.valid[metric]:.3f}" if epoch.valid else ""
    best = " (best)" if epoch.is_best else ""
    step = describe_step(epoch.step_ms)
    return f"epoch {epoch.epoch}: loss {epoch.loss:.3f}{score}{best}, {step}"


def describe_step(milliseconds: float) -> str:
    """Return the time of a step as a person says it: `2.1 s a step`."""
    if milliseconds >= 1000:
        return f"{describe_seconds(milliseconds / 1000)} a step"
    return f"{milliseconds:.3g} ms a step"


def describe_seconds(seconds: float) -> str:
    """Return a time as a person says it: `36.1 s`, `1,204 s`."""
    return f"{seconds:.1f} s" if seconds < 1000 else f"{seconds:,.0f} s"


@final
class _Bar:
    """A bar in a terminal, from the first step on."""

    def __init__(self, progress: Any, n_epochs: int, metric: str) -> None:
        self._progress = progress
        self._task = progress.add_task("training", total=n_epochs)
        self._metric = metric
        self._n_over = 0

    def on_step(self, n_done: int, n_steps: int) -> None:
        self._progress.update(self._task, completed=self._n_over + n_done / n_steps)

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        del training
        self._n_over = report.epoch
        text = describe_epoch(report, self._metric)
        self._progress.update(self._task, completed=self._n_over, description=text)


@final
class _EachEpoch:
    """Shows epochs, and nothing of the steps between."""

    def __init__(self, show: Callable[[EpochReport], None]) -> None:
        self._show = show

    def on_step(self, n_done: int, n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        del training
        self._show(report)


def _show_in_notebook(n_epochs: int, metric: str) -> Callable[[EpochReport], None]:
    text, started = NotebookText("training"), time.monotonic()

    def show(report: EpochReport) -> None:
        how_far = f"{report.epoch} of {n_epochs}, {time.monotonic() - started:.0f} s"
        text.show(f"{describe_epoch(report, metric)}; {how_far}")

    return show


def _show_now_and_then(n_epochs: int, metric: str) -> Callable[[EpochReport], None]:
    """Return what writes a line for the first epoch, the last, and others after a while."""
    shown_at: float | None = None

    def show(report: EpochReport) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if shown_at is None or now - shown_at >= LINE_SECONDS or report.epoch == n_epochs:
            tell(Audience.LINES, describe_epoch(report, metric))
            shown_at = now

    return show


@contextmanager
def search_table(metric: str, audience: Audience) -> "Iterator[OnChange]":
    """Give a function that takes the search whenever a trial begins or ends."""
    match audience:
        case Audience.TERMINAL:
            from rich.console import Console  # noqa: PLC0415 (only terminals need it)
            from rich.live import Live  # noqa: PLC0415

            console = Console(stderr=True)
            with Live(console=console, refresh_per_second=4, transient=True) as live:
                yield lambda loop: live.update(draw_table(loop, metric))
        case Audience.NOTEBOOK:
            text = NotebookText("searching")
            yield lambda loop: text.show(list_rows(loop, metric))
        case Audience.LINES:
            yield _LineByTrial(metric).show
        case Audience.NOBODY:
            yield lambda _loop: None


@final
class _LineByTrial:
    """Prints a line for each trial at each of its rungs, of equal ones only for the first.

    Where that takes long, it says from time to time how far they are.
    """

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._shown: dict[int, int] | None = None
        """Epochs by number."""
        self._repeated: set[TrialKey] = set()
        self._told_at = time.monotonic()

    def show(self, loop: "SearchLoop") -> None:
        trials = [*loop.trials.ended, *loop.trials.repeats]
        if self._shown is None:
            before = trials[:-1] if not loop.under_way else trials
            self._shown = {trial.number: trial.result.epochs for trial in before}
        for trial in trials:
            if self._shown.get(trial.number) == trial.result.epochs:
                continue
            self._shown[trial.number] = trial.result.epochs
            if trial.result.reused is None or trial.key not in self._repeated:
                self._tell(loop, describe_trial(trial, self._metric))
            if trial.result.reused is not None:
                self._repeated.add(trial.key)
        if loop.under_way and time.monotonic() - self._told_at >= SILENCE_SECONDS:
            self._tell(loop, describe_running(loop, next(iter(loop.under_way.values()))))

    def _tell(self, loop: "SearchLoop", text: str) -> None:
        tell(Audience.LINES, f"{loop.seconds:7.1f} s  {text}")
        self._told_at = time.monotonic()


def describe_trial(trial: "Trial", metric: str) -> str:
    """Return one line on a trial."""
    result = trial.result
    score = "failed" if result.score is None else f"{metric} {result.score:.3f}"
    known = f"known from {result.reused}" if result.reused else None
    epochs = f"epoch {result.epochs}" if result.stopped else None
    seed = None if trial.seed is None else f"seed {trial.seed}"
    remark = known or result.failure or seed or epochs or ""
    what = "; ".join(filter(None, (trial.formula, describe_changes(trial.settings))))
    words = (score, what, f"({remark[:80]})" if remark else "")
    number = "" if trial.number < 0 else trial.number
    return f"{number:>4}  " + "  ".join(filter(None, words))


def describe_changes(changes: "Changes") -> str:
    """Return settings in one line, but for those that the formula of a propagation says."""
    others = {name: value for name, value in changes.items() if name not in CLAUSES}
    return ", ".join(f"{name} {value:.4g}" for name, value in others.items())


def describe_running(loop: "SearchLoop", proposal: "Proposal") -> str:
    """Return one line on a proposal under way, and how far it has come."""
    done = loop.epochs_by_number.get(proposal.number)
    how_far = "" if done is None else f"epoch {done[0]:.1f} of {done[1]}"
    what = "; ".join(filter(None, (proposal.formula, describe_changes(proposal.changes))))
    number = "" if proposal.number < 0 else proposal.number
    return "  ".join(filter(None, (f"{number:>4}", how_far, what)))


def draw_table(loop: "SearchLoop", metric: str) -> "Table":
    """Return the best so far, what is under way, and the time left."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415 (brackets in a text are no markup)

    table = Table(title=describe_budget(loop), title_justify="left", show_header=False, box=None)
    for row in rows_of(loop, metric):
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def list_rows(loop: "SearchLoop", metric: str) -> str:
    """Return the same as lines of text."""
    lines = [f"{title:<8}{printable(text)}" for title, text in rows_of(loop, metric)]
    return "\n".join([describe_budget(loop), *lines])


def rows_of(loop: "SearchLoop", metric: str) -> list[tuple[str, str]]:
    """Return a title and a text for each of the best trials and of those under way."""
    best = loop.trials.ranked[:N_SHOWN]
    rows = [("" if i else "best", describe_trial(trial, metric)) for i, trial in enumerate(best)]
    running = list(loop.under_way.values())[:N_SHOWN]
    return rows + [("running", describe_running(loop, proposal)) for proposal in running]


def describe_budget(loop: "SearchLoop") -> str:
    """Return how far a search has come and what is left."""
    total, left = loop.budget.trials, estimate_seconds_left(loop)
    done = f"{len(loop.trials.trained)}{f' of {total}' if total else ''} trials"
    ending = "" if left is None else f", about {_clock(left)} left"
    return f"{done}, {_clock(loop.seconds)} spent{ending}"


def estimate_seconds_left(loop: "SearchLoop") -> float | None:
    """Return the time until the budget is spent, by the trials until now."""
    n_done = len(loop.trials.trained)
    by_time = None if loop.budget.seconds is None else max(0.0, loop.budget.seconds - loop.seconds)
    if loop.budget.trials is None or n_done == 0:
        return by_time
    by_trials = loop.seconds / n_done * max(0, loop.budget.trials - n_done)
    return by_trials if by_time is None else min(by_time, by_trials)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
