"""How long nothing was heard of a worker, and how long is too long.

A worker says every second that it is there, and how much computing time it has used. One that says
nothing is stopped or frozen; one that says so, but neither computes nor gets on, waits for what
will not come. Time is counted only while somebody listens: a program that was itself stopped and
goes on finds its workers as they were.
"""

from typing import final

BEAT_SECONDS = 1.0
N_LONGEST = 20
"""So many times the longest pause that was seen is too long, and never less than these seconds."""
FROZEN_SECONDS, IDLE_SECONDS, STARTING_SECONDS = 30.0, 600.0, 300.0
"""Of one that says nothing; of one that does nothing; of one that has not yet said a word."""
LEAST_WORK_SECONDS = 0.02
"""Of computing time since the last beat: less is the beating itself."""


@final
class Pulse:
    """The pauses of one worker."""

    def __init__(self) -> None:
        self._silent_seconds = 0.0
        self._idle_seconds = 0.0
        self._longest_silence = 0.0
        self._longest_idleness = 0.0
        self._work_seconds: float | None = None

    def begin(self) -> None:
        """Count from now: it was given something to do."""
        self._silent_seconds = self._idle_seconds = 0.0

    def listen(self, seconds: float) -> None:
        """Note that it was listened to for so long."""
        self._silent_seconds += seconds
        self._idle_seconds += seconds

    def beat(self, work_seconds: float) -> None:
        """Note that it is there, and has computed for so long in all."""
        self._longest_silence = max(self._longest_silence, self._silent_seconds)
        self._silent_seconds = 0.0
        before, self._work_seconds = self._work_seconds, work_seconds
        if before is None or work_seconds - before > LEAST_WORK_SECONDS:
            self._get_on()

    def speak(self) -> None:
        """Note that it said something of its work."""
        self._longest_silence = max(self._longest_silence, self._silent_seconds)
        self._silent_seconds = 0.0
        self._get_on()

    def find_fault(self) -> str | None:
        """Return in words that it has paused for too long."""
        is_starting = self._work_seconds is None
        least = STARTING_SECONDS if is_starting else FROZEN_SECONDS
        if self._silent_seconds > max(least, N_LONGEST * self._longest_silence):
            return f"hung (nothing was heard of it for {self._silent_seconds:.0f} s)"
        if self._idle_seconds > max(IDLE_SECONDS, N_LONGEST * self._longest_idleness):
            return f"hung (it did nothing for {self._idle_seconds:.0f} s)"
        return None

    def _get_on(self) -> None:
        self._longest_idleness = max(self._longest_idleness, self._idle_seconds)
        self._idle_seconds = 0.0
