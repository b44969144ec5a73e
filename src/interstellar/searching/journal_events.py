"""Events of a search's journal, checked: it is a file like any other, and may have been altered.

Everything here raises DataError for an event that no search writes.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import inf, isclose, isfinite
from pathlib import Path
from typing import Any

from interstellar.architecture.coordinates import N_CHOICES
from interstellar.errors import ArchitectureError, DataError, SettingsError
from interstellar.searching.natural_gradient import ControllerState
from interstellar.searching.strategy import FromScratch, Proposal, WithSettings, WithSharedWeights
from interstellar.searching.trials import Trial, trial_from_plain
from interstellar.searching.works import Earned, from_plain, told_outcome

ALTERED = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError),
    *(ArchitectureError, SettingsError),
)
"""What reading an event that was altered ends in."""


def read_proposed(event: Mapping[str, Any], journal: Path) -> Proposal:
    """Return the proposal of an event `proposed`."""
    with _refusing_altered(event, journal):
        proposal = from_plain(dict(event))
        _require(_is_count(proposal.number))
        _require(event["bar"] is None or _are_numbers(event["bar"]))
        if isinstance(proposal, WithSettings):
            _require(_are_numbers(list(proposal.changes.values())))
    return proposal


def read_number(event: Mapping[str, Any], under_way: Collection[int], journal: Path) -> int:
    """Return which of the proposals under way an event is about."""
    number = event.get("number")
    if not isinstance(number, int) or number not in under_way:
        raise DataError(
            f"{journal}: proposal {number} ended, but it is not under way there. "
            "The journal was altered. Take it from a copy, or begin a new search."
        )
    return number


def read_ended(event: Mapping[str, Any], proposal: Proposal, journal: Path) -> Earned:
    """Return what a proposal earned by an event `ended`; of a supernet that is nothing."""
    with _refusing_altered(event, journal):
        outcome = told_outcome(proposal, dict(event))
        _require(all(_is_text(event.get(name)) for name in ("reused", "failure")))
        if isinstance(proposal, FromScratch | WithSettings):
            earned = Earned.from_plain(dict(event))
            _check_earned(earned)
            return earned
        if isinstance(proposal, WithSharedWeights) and isinstance(outcome, ControllerState):
            _require(_shape(outcome) == _shape(proposal.controller))
            _check_controller(outcome)
        elif isinstance(outcome, tuple):
            _require(len(outcome) == N_CHOICES)
            _require(all(options and _are_numbers(list(options)) for options in outcome))
    return Earned(score=None)


def read_known(event: Mapping[str, Any], journal: Path) -> list[Trial]:
    """Return the trials of other searches of an event `known`."""
    with _refusing_altered(event, journal):
        trials = [trial_from_plain(plain) for plain in event["trials"]]
        for trial in trials:
            _require(_is_count(trial.number) and _is_text(trial.reused))
            _check_earned(trial.earned)
    return trials


def read_elapsed(event: Mapping[str, Any], journal: Path) -> float | None:
    """Return the seconds of the search at an event, if it says them."""
    elapsed = event.get("elapsed")
    with _refusing_altered(event, journal):
        _require(elapsed is None or _is_number(elapsed))
    return elapsed


@contextmanager
def _refusing_altered(event: Mapping[str, Any], journal: Path) -> Iterator[None]:
    try:
        yield
    except ALTERED:
        raise DataError(
            f"{journal}: an event `{event.get('event')}` of {event.get('time')} is not what a "
            "search writes. The journal was altered. Take it from a copy, or begin a new search."
        ) from None


def _check_earned(earned: Earned) -> None:
    _require(earned.score is None or _is_number(earned.score))
    _require(_are_numbers(earned.curve) and _is_number(earned.seconds))
    _require(_is_count(earned.best_epoch) and _is_count(earned.epochs))
    _require(_is_text(earned.stopped) and _is_text(earned.failure))
    measured = [value for value in earned.valid.values() if value is not None]  # None: not finite
    _require(_are_numbers(measured))


def _check_controller(controller: ControllerState) -> None:
    for theta in controller.theta:
        _require(all(0 < p <= 1 for p in theta) and isclose(sum(theta), 1, abs_tol=1e-6))
    _require(all(map(isfinite, controller.s_bar)))
    _require(0 <= controller.gamma < inf and 0 < controller.Delta < inf)


def _shape(controller: ControllerState) -> tuple[list[int], int, int]:
    sizes = [len(theta) for theta in controller.theta]
    return sizes, len(controller.s_bar), controller.n_choices


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_numbers(values: object) -> bool:
    return isinstance(values, list) and all(map(_is_number, values))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
