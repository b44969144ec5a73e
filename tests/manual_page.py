"""Runs the code of a page of the manual as a reader would, block after block in one folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def run_page(page: str, folder: Path) -> int:
    """Run every block of shell or Python of a page, and return how many there were.

    What cannot be run everywhere (a GPU, a download) stands in blocks of `console`.
    """
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    for language, code in blocks:
        run_block(language, code, folder)
    return len(blocks)


def run_block(language: str, code: str, folder: Path) -> None:
    """Run one block; it must end well."""
    programs = Path(sys.executable).parent
    shell = ["bash", "-e", "-c"] if language == "sh" else [sys.executable, "-c"]
    done = subprocess.run(
        [*shell, code],
        cwd=folder,
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (code, done.stderr)
