"""What is shown while a search goes on: a table in a terminal, a text in a notebook, or lines."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from interstellar.architecture.propagation import CLAUSES
from interstellar.printable import printable
from interstellar.watching import Loudness, loudness
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.gpu_use import watching_gpus
from interstellar.workflow.progress import NotebookText

if TYPE_CHECKING:
    from rich.table import Table

    from interstellar.searching.search_loop import OnChange, SearchLoop
    from interstellar.searching.trial import Proposal, Trial
    from interstellar.searching.tried_network import Changes, TrialKey

SILENCE_SECONDS, VERBOSE_SECONDS = 5.0, 1.0
"""After so long without a trial that ended, a line says how far one under way has come."""
N_SHOWN = 5
"""Trials in a table: so many of the best, and of those under way."""
TITLE_WIDTH, CURVE_WIDTH = 7, 10
LEVELS = "▁▂▃▄▅▆▇█"


@contextmanager
def search_table(metric: str, audience: Audience) -> "Iterator[OnChange]":
    """Give a function that takes the search whenever a trial begins or ends."""
    match audience:
        case Audience.TERMINAL:
            from rich.console import Console  # noqa: PLC0415 (only terminals need it)
            from rich.live import Live  # noqa: PLC0415

            live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            with watching_gpus() as list_gpus, live:
                yield lambda loop: live.update(draw_table(loop, metric, list_gpus()))
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
            is_new = trial.result.reused is None or trial.key not in self._repeated
            if is_new or loudness() is Loudness.VERBOSE:
                self._tell(loop, describe_trial(trial, self._metric))
            if trial.result.reused is not None:
                self._repeated.add(trial.key)
        most = VERBOSE_SECONDS if loudness() is Loudness.VERBOSE else SILENCE_SECONDS
        if loop.under_way and time.monotonic() - self._told_at >= most:
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


def draw_table(loop: "SearchLoop", metric: str, gpus: Sequence[str] = ()) -> "Table":
    """Return the best so far, what is under way, what was skipped, GPUs and the time left."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415 (brackets in a text are no markup)

    table = Table(title=describe_budget(loop), title_justify="left", show_header=False, box=None)
    for width in (TITLE_WIDTH, CURVE_WIDTH):
        table.add_column(no_wrap=True, min_width=width)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for row in rows_of(loop, metric, gpus):
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def list_rows(loop: "SearchLoop", metric: str) -> str:
    """Return the same as lines of text."""
    rows = rows_of(loop, metric)
    lines = [
        f"{title:<{TITLE_WIDTH}} {curve:<{CURVE_WIDTH}} {printable(text)}"
        for title, curve, text in rows
    ]
    return "\n".join([describe_budget(loop), *lines])


def rows_of(
    loop: "SearchLoop", metric: str, gpus: Sequence[str] = ()
) -> list[tuple[str, str, str]]:
    """Return a title, a curve and a text for each of the best trials and of those under way."""
    rows = [
        ("" if i else "best", draw_curve(trial.result.curve), describe_trial(trial, metric))
        for i, trial in enumerate(loop.trials.ranked[:N_SHOWN])
    ]
    rows += [
        ("running", draw_curve(curve_until_now(loop, proposal)), describe_running(loop, proposal))
        for proposal in list(loop.under_way.values())[:N_SHOWN]
    ]
    skipped = [trial for trial in loop.trials.ended if trial.result.reused is not None]
    if skipped:
        last = describe_trial(skipped[-1], metric)
        rows.append(("skipped", "", f"{len(skipped):>4}  known already, the last: {last.strip()}"))
    return rows + [("GPU", "", gpu) for gpu in gpus]


def curve_until_now(loop: "SearchLoop", proposal: "Proposal") -> list[float]:
    """Return the metric at each validation of a trial under way, at former rungs too."""
    number = proposal.number
    before = loop.trials[number].result.curve if number in loop.trials else []
    return [*before, *loop.curve_by_number.get(number, ())]


def draw_curve(curve: Sequence[float]) -> str:
    """Return a curve as a word of bars from its lowest to its highest value, the newest last."""
    n = min(len(curve), CURVE_WIDTH)
    shown = [curve[(i + 1) * len(curve) // n - 1] for i in range(n)]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    scale = (len(LEVELS) - 1) / (high - low) if high > low else 0.0
    return "".join(LEVELS[round((value - low) * scale)] for value in shown)


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
