"""Values that a file gives, read with distrust: it may have been altered."""

from collections.abc import Sequence
from math import isfinite


def require(condition: object) -> None:
    """Raise a ValueError unless something holds."""
    if not condition:
        raise ValueError


def is_text(value: object) -> bool:
    """Return whether a value is a text, or None."""
    return value is None or isinstance(value, str)


def are_numbers(values: object) -> bool:
    """Return whether values are finite numbers in a row."""
    return isinstance(values, Sequence) and all(map(is_number, values))


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
