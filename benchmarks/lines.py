"""Reads what benchmarks write: a file with one JSON object a line, packed or not."""

import gzip
import json
from pathlib import Path
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, Any]


def read_lines(file: Path) -> list[Line]:
    """Return the lines of a file; one that does not exist yet has none."""
    if not file.exists():
        return []
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]
