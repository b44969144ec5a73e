"""Text from files and names, made safe to print on a terminal."""

import re

_CONTROLS = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they reorder what stands after them
_SURROGATES = "\ud800-\udfff"  # bytes of file names that are not UTF-8, or halves from JSON
_UNPRINTABLE = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_SURROGATES}]")
_UNPRINTABLE_IN_LINES = re.compile(f"(?![\\t\\n])[{_CONTROLS}{_DIRECTIONS}{_SURROGATES}]")


def printable(text: str) -> str:
    r"""Return text as one line that cannot command a terminal: an escape is shown as `\x1b`."""
    return _UNPRINTABLE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """Return text that cannot command a terminal, with its line breaks and tabs kept."""
    return _UNPRINTABLE_IN_LINES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
