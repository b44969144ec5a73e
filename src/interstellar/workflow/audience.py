"""Who watches: a person at a terminal or a notebook, or a file that lines are written to."""

import sys
from enum import StrEnum
from importlib import import_module
from typing import Any, final


class Audience(StrEnum):
    """Where progress is shown, and so how."""

    TERMINAL = "terminal"
    """A bar or a table that is drawn anew, on standard error."""
    NOTEBOOK = "notebook"
    """One text below the cell that is replaced."""
    LINES = "lines"
    """A line for each event, on standard error."""
    NOBODY = "nobody"


def find_audience(*, is_wanted: bool = True) -> Audience:
    """Return who watches this process; nobody unless progress is wanted."""
    if not is_wanted:
        return Audience.NOBODY
    if _is_notebook():
        return Audience.NOTEBOOK
    return Audience.TERMINAL if sys.stderr.isatty() else Audience.LINES


def report(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def tell(audience: Audience, text: str) -> None:
    """Write a line to standard error, if anybody watches."""
    if audience is not Audience.NOBODY:
        report(text)


@final
class NotebookText:
    """A text below a notebook's cell that can be replaced; without widgets, so it needs none."""

    def __init__(self, text: str) -> None:
        display: Any = import_module("IPython.display").display  # a notebook has it
        self._handle = display({"text/plain": text}, raw=True, display_id=True)

    def show(self, text: str) -> None:
        """Replace the text."""
        self._handle.update({"text/plain": text}, raw=True)


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
