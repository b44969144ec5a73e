"""Who watches, and what is told to all of them alike."""

import sys
from enum import StrEnum

from interstellar.printable import printable
from interstellar.watching import Loudness, loudness


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
    """Return who watches this process; nobody unless progress is wanted.

    Who wants to be told everything is given lines, of which none is lost.
    """
    if not is_wanted or loudness() is Loudness.QUIET:
        return Audience.NOBODY
    if loudness() is Loudness.VERBOSE:
        return Audience.LINES
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is not None and hasattr(ipython.get_ipython(), "kernel"):
        return Audience.NOTEBOOK
    return Audience.TERMINAL if sys.stderr.isatty() else Audience.LINES


def tell(audience: Audience, text: str) -> None:
    """Write a line to standard error, safe to print whatever is in it, if anybody watches."""
    if audience is not Audience.NOBODY:
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()


def describe_seconds(seconds: float) -> str:
    """Return a time as a person says it: `36.1 s`, `1,204 s`."""
    return f"{seconds:.1f} s" if seconds < 1000 else f"{seconds:,.0f} s"
