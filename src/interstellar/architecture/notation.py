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
from pathlib import Path

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.formula_reading import EXAMPLE as FORMULA_EXAMPLE
from interstellar.architecture.formula_reading import from_formula
from interstellar.architecture.formula_writing import formulas, to_formula
from interstellar.architecture.json_form import (
    from_json,
    from_json_text,
    read_json_file,
    to_json,
)
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


def read_architecture(text: str) -> Architecture:
    """Return the architecture that `text` names, spells out, or has in the file it points to.

    A published name, an 11-number code, a formula, a JSON object, or the path of a JSON file.
    """
    named = find_by_name(text)
    if named is not None:
        return named
    if looks_like_code(text):
        return from_code_text(text)
    if text.lstrip().startswith("{"):
        return from_json_text(text)
    if _exists(text):
        return read_json_file(Path(text))
    if "=" in text:
        return from_formula(text)
    raise _not_an_architecture(text)


def _exists(text: str) -> bool:
    """Return whether `text` is a path to something; False for what cannot be a path at all."""
    return os.path.lexists(text)


def _not_an_architecture(text: str) -> ArchitectureError:
    folded = {name.casefold(): name for name in NAMED}
    close = difflib.get_close_matches(text.strip().casefold(), folded, n=3)
    guess = f" Did you mean {' or '.join(folded[name] for name in close)}?" if close else ""
    shown = text if len(text) <= 80 else text[:77] + "..."
    missing = " No file has that name." if text.endswith(".json") or "/" in text else ""
    return ArchitectureError(
        f"{shown!r} is not an architecture.{missing}{guess} Give one of: "
        f"a published name (TransE); an 11-number code ({CODE_EXAMPLE}); "
        f"a formula ({FORMULA_EXAMPLE}); or the path of a JSON file (best.json)."
    )
