"""Adds to the Python page, while the manual is built, what each name takes and has in full."""

import re
from collections.abc import Iterator

from reference import group_names, is_class
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.util.typing import ExtensionMetadata

import interstellar

PYTHON = "reference/python"
WITH_SECTIONS = ("class", "exception", "function", "method")
"""What has docstrings with sections such as `Args:`; elsewhere a colon is a colon."""
ARRAY = re.compile(r"(~?numpy\.ndarray)\[.*?dtype\[[^]]*\]\]")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Let Sphinx ask for the page each time it builds."""
    app.connect("env-get-outdated", lambda *_: [PYTHON])
    app.connect("source-read", add_details)
    app.connect("autodoc-process-docstring", read_sections)
    app.connect("autodoc-process-signature", shorten_arrays)
    return {"parallel_read_safe": True}


def add_details(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add what the code says to the text of a page."""
    if page == PYTHON:
        source[0] += "\n".join(describe_in_full())


def describe_in_full() -> Iterator[str]:
    """Yield the directives that describe every public name."""
    yield "\n## In full\n"
    for names in group_names().values():
        for name in names:
            yield f"```{{eval-rst}}\n.. {directive(name)}:: interstellar.{name}"
            yield "   :members:\n```\n" if is_class(name) else "```\n"


def directive(name: str) -> str:
    """Return the directive of autodoc that describes a public name."""
    value = getattr(interstellar, name)
    if not isinstance(value, type):
        return "autofunction" if callable(value) else "autodata"
    return "autoexception" if issubclass(value, Exception) else "autoclass"


def read_sections(
    _app: Sphinx, what: str, _name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Turn the sections of a docstring into what Sphinx reads."""
    if what in WITH_SECTIONS:
        lines[:] = GoogleDocstring(lines).lines()


def shorten_arrays(
    _app: Sphinx,
    _what: str,
    _name: str,
    _value: object,
    _options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Return a signature in which an array is called an array."""
    return (
        signature and ARRAY.sub(r"\1", signature),
        returns and ARRAY.sub(r"\1", returns),
    )
