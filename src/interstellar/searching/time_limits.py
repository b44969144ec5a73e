"""How far trials and supernets are, and that they stop when their time is over."""

import math
import time
from typing import final

from interstellar.engine.engine import OnProgress
from interstellar.searching.trial import Stop
from interstellar.training.loop import EpochReport, Training

PROGRESS_SECONDS = 0.5
"""Between two reports of how far a trial is, at least."""


@final
class Watch:
    """Says how far a trial is, and stops it when the time is over, also within an epoch."""

    def __init__(self, number: int, seconds_left: float | None, on_progress: OnProgress) -> None:
        self._number = number
        self._end = math.inf if seconds_left is None else time.perf_counter() + seconds_left
        self._on_progress = on_progress
        self._told_at = -math.inf
        self._epochs = (0, 1)

    def run_epoch(self, training: Training) -> Stop | None:
        """Train one epoch; where the time is over before its end, it does not count."""
        self._epochs = (training.progress.n_epochs, training.settings.max_epochs)
        try:
            training.run_epoch(self)
        except TimeoutError:
            return Stop.TIME
        self._tell(1.0, newest_score(training))
        return Stop.TIME if time.perf_counter() > self._end else None

    def on_step(self, n_done: int, n_steps: int) -> None:
        now = time.perf_counter()
        if now > self._end:
            raise TimeoutError
        if now - self._told_at >= PROGRESS_SECONDS:
            self._tell(n_done / n_steps)

    def on_epoch(self, report: EpochReport, training: Training) -> None:
        pass

    def _tell(self, share: float, score: float | None = None) -> None:
        n_done, n_epochs = self._epochs
        self._told_at = time.perf_counter()
        self._on_progress(self._number, round(n_done + share, 2), n_epochs, score)


def newest_score(training: Training) -> float | None:
    """Return the metric after the last epoch; None: it was not validated, or is no number."""
    valid = training.progress.reports[-1].valid
    score = None if valid is None else valid[training.settings.metric]
    return score if score is not None and math.isfinite(score) else None


@final
class TimeLimit:
    """Says whether a supernet has used up its share of the time that is left."""

    def __init__(self, seconds_left: float | None, share: float) -> None:
        self.was_over = False
        """Whether it has ever said so."""
        self._end = None if seconds_left is None else time.perf_counter() + share * seconds_left

    def is_over(self) -> bool:
        self.was_over = self._end is not None and time.perf_counter() > self._end
        return self.was_over
