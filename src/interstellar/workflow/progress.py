"""What is shown while networks train: to a terminal, a notebook, or as lines."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, final

import torch

from interstellar.training.loop import EpochReport, Observer, SilentObserver, Training
from interstellar.training.settings import TrainingSettings
from interstellar.watching import Loudness, loudness
from interstellar.workflow.audience import Audience, describe_seconds, tell
from interstellar.workflow.bars import Bars, terminal_bars, work_shown

LINE_SECONDS = 1.0
"""Lines of epochs that nobody watches are at least so far apart."""
WATCHED_SECONDS, LONG_SECONDS = 15.0, 3600.0
"""After so long of the first epoch it is said if all of them take longer than an hour."""


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
def training_bar(
    n_epochs: int, metric: str, audience: Audience, quicker: Sequence[str] = ()
) -> Iterator[Observer]:
    """Give an observer that shows how far training is, and the scoring that is part of it.

    Of a training of hours it says what would be `quicker`.
    """
    match audience:
        case Audience.TERMINAL:
            with terminal_bars() as bars:
                yield _Foresight(_Bar(bars, n_epochs, metric), n_epochs, audience, quicker)
        case Audience.NOTEBOOK:
            shown = _EachEpoch(_show_in_notebook(n_epochs, metric))
            yield _Foresight(shown, n_epochs, audience, quicker)
        case Audience.LINES:
            with work_shown(audience):
                shown = _EachEpoch(_show_now_and_then(n_epochs, metric))
                yield _Foresight(shown, n_epochs, audience, quicker)
        case Audience.NOBODY:
            yield SilentObserver()


def list_quicker(settings: TrainingSettings, device: torch.device) -> list[str]:
    """Return what a training that takes long could have instead."""
    ways = ["a GPU"] if device.type == "cpu" else []
    ways += ["a smaller `dim`", "fewer `epochs`"]
    if settings.propagation is not None:
        few = "the 100 best nodes of each query in place of all (`nodes` 100)"
        return ways if settings.propagation.nodes else [*ways, few]
    few = "drawn wrong answers in place of all (`negatives` 1024)"
    return ways if settings.n_negatives else [*ways, few]


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


@final
class _Foresight:
    """Says in the first epoch if a training is going to be long, and what is quicker."""

    def __init__(
        self, observer: Observer, n_epochs: int, audience: Audience, quicker: Sequence[str]
    ) -> None:
        self._observer = observer
        self._n_epochs = n_epochs
        self._audience = audience
        self._quicker = quicker
        self._first: tuple[int, float] | None = None
        self._is_open = True

    def on_step(self, n_done: int, n_steps: int) -> None:
        self._observer.on_step(n_done, n_steps)
        if not self._is_open:
            return
        if self._first is None:  # the first step is slower than others
            self._first = n_done, time.monotonic()
            return
        seconds = time.monotonic() - self._first[1]
        if seconds >= WATCHED_SECONDS:
            self._is_open = False
            self._say(n_steps * seconds / max(1, n_done - self._first[0]))

    def _say(self, epoch_seconds: float) -> None:
        if self._n_epochs * epoch_seconds < LONG_SECONDS:
            return
        hours = self._n_epochs * epoch_seconds / 3600
        ways = f" Quicker are {', '.join(self._quicker)}; " if self._quicker else ""
        by_itself = "a search with a limit of time sees to that by itself." if ways else ""
        tell(
            self._audience,
            f"note: an epoch takes about {epoch_seconds / 60:,.1f} minutes here, and all "
            f"{self._n_epochs} of them {hours:,.1f} hours, unless it stops early.{ways}{by_itself}",
        )

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        self._is_open = False
        self._observer.on_epoch(report, training)


@final
class _Bar:
    """A bar of epochs, from the first step on."""

    def __init__(self, bars: Bars, n_epochs: int, metric: str) -> None:
        self._bars = bars
        self._n_epochs = n_epochs
        self._metric = metric
        self._n_over = 0
        self._said = "training"

    def on_step(self, n_done: int, n_steps: int) -> None:
        self._show(self._n_over + n_done / n_steps)

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        del training
        self._n_over = report.epoch
        self._said = describe_epoch(report, self._metric)
        self._show(report.epoch)

    def _show(self, n_done: float) -> None:
        done = min(n_done, self._n_epochs - 0.01)  # it stays to the end
        self._bars.note("training", done, self._n_epochs, "epochs", self._said)


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
        apart = 0.0 if loudness() is Loudness.VERBOSE else LINE_SECONDS
        if shown_at is None or now - shown_at >= apart or report.epoch == n_epochs:
            tell(Audience.LINES, describe_epoch(report, metric))
            shown_at = now

    return show
