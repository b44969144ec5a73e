"""What a search shows while it goes on: a live table, or one line a trial where nobody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from interstellar.architecture.notation import to_formula
from interstellar.workflow.audience import Audience, NotebookText, report

if TYPE_CHECKING:
    from rich.table import Table

    from interstellar.architecture.architecture import Architecture
    from interstellar.searching.search_loop import SearchLoop
    from interstellar.searching.trials import Trial

N_SHOWN = 5


@contextmanager
def search_table(metric: str, audience: Audience) -> Iterator[Callable[["SearchLoop"], None]]:
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


class _LineByTrial:
    """Prints a line for each trial that has ended, of repeats of one network only for the first."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._n_shown: int | None = None
        self._repeated: set[Architecture] = set()

    def show(self, loop: "SearchLoop") -> None:
        ended = loop.trials.ended
        if self._n_shown is None:
            self._n_shown = max(0, len(ended) - 1) if ended and not loop.under_way else len(ended)
        for trial in ended[self._n_shown :]:
            if trial.reused is None or trial.network not in self._repeated:
                report(f"{loop.seconds:7.1f} s  {describe(trial, self._metric)}")
            if trial.reused is not None:
                self._repeated.add(trial.network)
        self._n_shown = len(ended)


def describe(trial: "Trial", metric: str) -> str:
    """Return one line on a trial."""
    earned = trial.earned
    score = "failed" if earned.score is None else f"{metric} {earned.score:.4f}"
    known = f"known from {trial.reused}" if trial.reused else None
    remark = known or earned.stopped or earned.failure or ""
    changes = ", ".join(f"{key} {value:.4g}" for key, value in trial.changes.items())
    words = (score, changes or to_formula(trial.network), f"({remark[:80]})" if remark else "")
    return f"{trial.number:4d}  " + "  ".join(word for word in words if word)


def draw_table(loop: "SearchLoop", metric: str) -> "Table":
    """Return the best so far, what is under way, and the time left."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=describe_budget(loop), title_justify="left", show_header=False, box=None)
    for row in rows_of(loop, metric):
        table.add_row(*row)
    return table


def list_rows(loop: "SearchLoop", metric: str) -> str:
    """Return the same as lines of text."""
    lines = [f"{title:<8}{text}" for title, text in rows_of(loop, metric)]
    return "\n".join([describe_budget(loop), *lines])


def rows_of(loop: "SearchLoop", metric: str) -> list[tuple[str, str]]:
    """Return a title and a text for each of the best trials and of those under way."""
    trials = sorted(
        (t for t in loop.trials.trained if t.earned.score is not None),
        key=lambda t: -(t.earned.score or 0),
    )
    rows = [
        ("best" if place == 0 else "", describe(trial, metric))
        for place, trial in enumerate(trials[:N_SHOWN])
    ]
    rows += [
        ("running", f"{number:4d}  {work['kind']}  {work.get('code') or ''}")
        for number, work in list(loop.under_way.items())[:N_SHOWN]
    ]
    return rows


def describe_budget(loop: "SearchLoop") -> str:
    """Return how far a search has come and what is left."""
    n_done = len(loop.trials.trained)
    words = [
        f"{n_done} of {loop.budget.trials} trials" if loop.budget.trials else f"{n_done} trials"
    ]
    left = estimate_seconds_left(loop)
    words.append(f"{_clock(loop.seconds)} spent")
    if left is not None:
        words.append(f"about {_clock(left)} left")
    return ", ".join(words)


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
