"""What the style asks for and a tool can see."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
FORBIDDEN_STEMS = {"utils", "util", "misc", "core", "base", "manager", "helpers", "common"}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def definitions(path: Path) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node


def body_lines(node: ast.FunctionDef) -> int:
    """Count the lines of what a function does: neither its arguments nor its docstring."""
    begins_with_docstring = ast.get_docstring(node) is not None
    first = node.body[1] if begins_with_docstring and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_files_and_functions_stay_small_and_say_what_they_are(path: Path) -> None:
    text = path.read_text()

    assert ast.get_docstring(ast.parse(text)), "a module begins with a sentence on what it is"
    assert text.count("\n") <= MAX_FILE_LINES
    assert path.stem not in FORBIDDEN_STEMS
    for node in definitions(path):
        if isinstance(node, ast.FunctionDef) and "cli" not in path.parts:
            assert body_lines(node) < MAX_FUNCTION_LINES, node.name


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_classes_do_not_inherit_from_each_other(path: Path) -> None:
    allowed = {"StrEnum", "Protocol", "TypedDict", "nn.Module", "torch.autograd.Function"}
    if "adapters" in path.parts:
        allowed |= {"Model"}  # PyKEEN's, which its functions ask for

    for node in definitions(path):
        if isinstance(node, ast.ClassDef) and path.name != "errors.py":
            assert {ast.unparse(base) for base in node.bases} <= allowed, node.name


def test_every_module_has_its_tests_in_the_same_place() -> None:
    """Folders mirror each other; a folder of the package has a folder of tests."""
    folders = {
        path.parent.relative_to(ROOT / "src" / "interstellar")
        for path in SOURCES
        if path.name != "__init__.py"
    }

    missing = [str(folder) for folder in folders if not (ROOT / "tests" / folder).is_dir()]

    assert missing == []


def test_the_repository_names_no_place_of_the_machine_it_was_made_on() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    home = str(ROOT.parent) + "/"
    files = [ROOT / name for name in listed.stdout.split("\0") if name]

    naming = [
        relative(path)
        for path in files
        if path.is_file() and len(home) > 2 and home in path.read_text(errors="ignore")
    ]

    assert naming == []
