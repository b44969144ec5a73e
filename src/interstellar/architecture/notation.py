"""Every way to write an architecture, and one function that reads them all.

| notation | write | read |
| --- | --- | --- |
| 11-number code | `to_code`, `code_text` | `from_code`, `from_code_text` |
| formula | `to_formula` | `from_formula` |
| JSON | `to_json` | `from_json`, `from_json_text`, `read_json_file` |
| name | `literature.name_of` | `literature.find_by_name` |
| lines to show | `formulas` | `from_formula` reads the clauses |
"""

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula import EXAMPLE as FORMULA_EXAMPLE
from interstellar.architecture.formula import formulas, from_formula, to_formula
from interstellar.architecture.json_format import from_json, from_json_text, read_json_file, to_json
from interstellar.architecture.literature import NAMED, find_by_name
from interstellar.architecture.number_code import EXAMPLE as CODE_EXAMPLE
from interstellar.architecture.number_code import (
    code_text,
    from_code,
    from_code_text,
    looks_like_code,
    to_code,
)
from interstellar.errors import ArchitectureError

__all__ = [
    "code_text",
    "formulas",
    "from_code",
    "from_code_text",
    "from_formula",
    "from_json",
    "from_json_text",
    "read_architecture",
    "read_json_file",
    "to_code",
    "to_formula",
    "to_json",
]


def read_architecture(given: str | Iterable[int]) -> Architecture:
    """Return the architecture that a text or a code stands for.

    A text is a published name, an 11-number code, a formula, a JSON object, or the path of a JSON
    file; a code is 11 whole numbers.
    """
    if not isinstance(given, str):
        return from_code(_read_numbers(given))
    named = find_by_name(given)
    if named is not None:
        return named
    if looks_like_code(given):
        return from_code_text(given)
    if given.lstrip().startswith("{"):
        return from_json_text(given)
    if os.path.lexists(given):  # False for what cannot be a path at all
        return read_json_file(Path(given))
    if "=" in given:
        return from_formula(given)
    raise _not_an_architecture(given)


def _read_numbers(given: object) -> list[int]:
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise ArchitectureError(
            f"{_shorten(repr(given))} is not an architecture. Give a text, or 11 whole numbers "
            f"such as {CODE_EXAMPLE}."
        )
    return list(given)


def _not_an_architecture(text: str) -> ArchitectureError:
    folded = {name.casefold(): name for name in NAMED}
    close = difflib.get_close_matches(text.strip().casefold(), folded, n=3)
    guess = f" Did you mean {' or '.join(folded[name] for name in close)}?" if close else ""
    missing = " No file has that name." if text.endswith(".json") or "/" in text else ""
    return ArchitectureError(
        f"{_shorten(text)!r} is not an architecture.{missing}{guess} Give one of: "
        f"a published name ({', '.join(NAMED)}); an 11-number code ({CODE_EXAMPLE}); "
        f"a formula ({FORMULA_EXAMPLE}); or the path of a JSON file (best.json)."
    )


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
