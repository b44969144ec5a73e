"""Runs the code of a page of the manual as a reader would, and loads what writes its pages."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

from interstellar.cli.app import run

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"[|&;<>$`]")
"""What only a shell understands."""


def run_page(page: str, folder: Path) -> int:
    """Run every block of shell or Python of a page, and return how many there were.

    What cannot be run everywhere (a GPU, a download) stands in blocks of `console`.
    """
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    for language, code in blocks:
        if language == "python":
            run_python(code, folder)
        elif is_plain(code):
            run_commands(code, folder)
        else:
            run_shell(code, folder)
    return len(blocks)


def is_plain(code: str) -> bool:
    """Whether each line is a command of ours, for which torch need not be imported anew."""
    return not SHELL.search(code) and all(
        line.startswith("interstellar ") for line in join_lines(code)
    )


def join_lines(code: str) -> list[str]:
    return code.replace("\\\n", " ").splitlines()


def run_commands(code: str, folder: Path) -> None:
    """Run commands of ours one after the other; each must end well."""
    with chdir(folder):
        for line in join_lines(code):
            assert run(shlex.split(line, comments=True)[1:]) == 0, line


def run_python(code: str, folder: Path) -> None:
    """Run a program."""
    with chdir(folder):
        exec(compile(code, "a block of the manual", "exec"), {"__name__": "__main__"})


def run_shell(code: str, folder: Path) -> None:
    """Run a script; it must end well."""
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-e", "-c", code],
        cwd=folder,
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (code, done.stderr)


def load_writer(name: str) -> Any:
    """Return a script of the manual's folder as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
