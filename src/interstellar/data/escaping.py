r"""Names in text that has no room for every letter: reversible escapes, for many names at once.

A line of tab-separated text escapes the backslash, tabs and line breaks as \\, \t, \n and \r.
A word of a word-vector file percent-encodes white space, control characters and the percent sign
as addresses of the web do (a space is %20). So a % that two hexadecimal digits do not follow is
never part of a name, and begins a mark that tells equal names apart, as in france%graph2.
"""

import re
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

_LINE_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
_NOT_IN_A_WORD = re.compile(r"[\s%\x00-\x1f\x7f]")
_MARK = re.compile(r"%(?![0-9A-F]{2})")


def escape_lines(names: pa.Array) -> pa.Array:
    """Return names that tab-separated text can hold."""
    for character, escape in _LINE_ESCAPES:
        names = pc.replace_substring(names, character, escape)
    return names


def escape_words(names: pa.Array) -> pa.Array:
    """Return names without white space, each a word."""
    words = [
        _NOT_IN_A_WORD.sub(lambda found: quote(found[0], safe=""), name)
        for name in names.to_pylist()
    ]
    return pa.array(words, pa.string())


def read_word(word: str) -> tuple[str, tuple[str, ...]]:
    """Return the name that a word stands for, and the marks that follow it."""
    name, *marks = _MARK.split(word)
    return unquote(name), tuple(marks)
