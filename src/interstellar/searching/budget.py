"""How much a search may spend: trials, time, or both."""

import math
import re
from dataclasses import dataclass

from interstellar.errors import SettingsError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """No trial is begun once it is spent; one of the two must be given."""

    trials: int | None = None
    """Networks that are trained from scratch; those known already cost nothing."""
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.trials is None and self.seconds is None:
            raise SettingsError("a search needs an end. Give --trials, --time, or both.")
        if self.trials is not None and self.trials < 1:
            raise SettingsError(
                f"--trials is {self.trials}, but a search needs at least one trial. Raise it."
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise SettingsError(
                f"the time is {self.seconds:g} s, but it must be above 0. Give for instance 20m."
            )


def read_time(text: str) -> float:
    """Return the seconds that a text such as `90s`, `20m`, `1h30m` or `2d` stands for."""
    text = str(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise SettingsError(
            f"--time {text!r} is not a time. Write a number with s, m, h or d, such as 90s, 20m "
            "or 1h30m."
        )
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
