"""A terminal that keeps what is written to it."""

from io import StringIO


class Terminal(StringIO):
    """A standard error that a person watches."""

    def isatty(self) -> bool:
        return True
