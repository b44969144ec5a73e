"""The real sets, where they lie on this machine."""

import os
from pathlib import Path

import pytest


def requires_set(folder: str) -> pytest.MarkDecorator:
    """Mark a test that reads a real set; without it the test is left out, and says so."""
    root = os.environ.get("INTERSTELLAR_DATA")
    is_there = root is not None and (Path(root) / folder).is_dir()
    return pytest.mark.skipif(
        not is_there, reason=f"needs {folder} under $INTERSTELLAR_DATA ({root or 'not set'})"
    )
