"""Where numbers stand on an axis, and at which of them it has its ticks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from interstellar.reporting.document import format_cell

STEPS = (1, 2, 5, 10)
MOST = 1e100
"""What is beyond stands at the end of its axis: differences of larger numbers overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A stretch of numbers laid onto a stretch of a picture."""

    low: float
    high: float
    start: float
    """Where `low` stands."""
    end: float
    step: float
    """From one tick to the next, which are its multiples."""

    def place(self, value: float) -> float:
        """Return where a number stands; what lies beyond the axis stands at its end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return the round numbers on the axis."""
        first, last = ceil(self.low / self.step - 1e-9), floor(self.high / self.step + 1e-9)
        return [round(i * self.step, 12) for i in range(first, last + 1)]


def fit_axis(values: Sequence[float], *, start: float, end: float, n_steps: int = 4) -> Axis:
    """Return an axis of about so many steps, from a round number below some values to one above."""
    low, high = max(min(values), -MOST), min(max(values), MOST)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        margin = abs(high) / 10 or 1.0
        low, high = low - margin, high + margin
    step = _round_step((high - low) / n_steps)
    return Axis(
        low=floor(low / step + 1e-9) * step,
        high=ceil(high / step - 1e-9) * step,
        start=start,
        end=end,
        step=step,
    )


def format_tick(value: float, ticks: Sequence[float]) -> str:
    """Return a number with as many digits as tell it from the other ticks."""
    if all(tick == int(tick) for tick in ticks):
        return format_cell(int(value))
    step = min(b - a for a, b in pairwise(ticks)) if len(ticks) > 1 else value
    n_digits = max(0, -floor(log10(abs(step) or 1.0)))
    return f"{value:.{n_digits}f}" if n_digits < 6 else f"{value:.1e}"


def _round_step(step: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten."""
    power: float = 10.0 ** floor(log10(step))
    return min((s * power for s in STEPS), key=lambda rounded: abs(log10(rounded / step)))
