"""The places of the code that a page names, as in `model/path_cell.py: PathCell.step`."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "interstellar"
PLACE = re.compile(r"`([\w/]+\.py)(?:: ([\w.]+))?`")


def named_places(page: Path) -> list[tuple[str, str]]:
    """Return the file and the name in it, which may be empty, of every place on a page."""
    return PLACE.findall(page.read_text(encoding="utf-8"))


def missing_places(page: Path) -> list[str]:
    """Return the places on a page that there are not."""
    return [
        f"{file}: {name}" if name else file
        for file, name in named_places(page)
        if not is_there(file, name)
    ]


def is_there(file: str, name: str) -> bool:
    """Return whether a file of the package or of the tests has a definition of that name."""
    path = (ROOT if file.startswith("tests/") else SOURCES) / file
    return path.is_file() and (not name or name in definitions(path))


@cache
def definitions(path: Path) -> frozenset[str]:
    """Return the functions, classes, methods and constants of a file."""
    return frozenset(list_names(ast.parse(path.read_text(encoding="utf-8")).body, prefix=""))


def list_names(body: list[ast.stmt], prefix: str) -> list[str]:
    names = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(prefix + node.name)
        if isinstance(node, ast.ClassDef):
            names += list_names(node.body, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign):
            names += [prefix + target.id for target in node.targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(prefix + node.target.id)
    return names
