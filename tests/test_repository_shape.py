"""What the style asks for and a tool can see."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "interstellar"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

FORBIDDEN_NAMES = {"utils", "util", "misc", "core", "base", "manager", "helpers", "common"}
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 45
MAX_PARAMETERS = 10

BASES = {"Enum", "Protocol", "StrEnum", "TypedDict", "nn.Module", "torch.autograd.Function"}
BASES_BY_FILE = {
    "workflow/searching.py": {"SettingsChanges"},
    "workflow/training.py": {"SettingsChanges"},  # a TypedDict with some keys more
    "adapters/pykeen.py": {"Model"},  # PyKEEN's, which its functions ask for
    "inference/prediction.py": {"list"},  # answers are a list that prints as a table
}

TESTS_OF_SEVERAL_MODULES = {
    "dashboard/test_browser.py",
    "evaluation/test_against_pykeen.py",
    "model/test_canonical_networks.py",
    "paths/test_published_sets.py",
    "paths/test_walk_probabilities.py",
    "runs/test_kept_runs.py",
    "workflow/test_python_interface.py",
}

each_source = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of what a function does: neither its parameters nor its docstring."""
    begins_with_docstring = ast.get_docstring(node) is not None
    first = node.body[1] if begins_with_docstring and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    listed = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    return [parameter.arg for parameter in listed if parameter.arg not in ("self", "cls")]


@each_source
def test_a_module_begins_with_a_sentence_on_what_it_is(path: Path) -> None:
    docstring = ast.get_docstring(tree_of(path))

    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":", "?"))


@each_source
def test_files_and_functions_stay_small(path: Path) -> None:
    assert path.read_text().count("\n") <= MAX_FILE_LINES
    for node in functions(tree_of(path)):
        assert body_lines(node) <= MAX_FUNCTION_LINES, node.name


@each_source
def test_a_function_has_few_parameters_unless_it_is_a_command_or_a_kernel(path: Path) -> None:
    if "cli" in path.parts or "_kernel" in path.stem:
        return

    for node in functions(tree_of(path)):
        assert len(parameters(node)) <= MAX_PARAMETERS, node.name


@each_source
def test_nothing_is_named_after_nothing(path: Path) -> None:
    assert not FORBIDDEN_NAMES & {path.stem, *path.relative_to(PACKAGE).parts[:-1]}


@each_source
def test_classes_do_not_inherit_from_each_other(path: Path) -> None:
    if path.name == "errors.py":
        return
    allowed = BASES | BASES_BY_FILE.get(path.relative_to(PACKAGE).as_posix(), set())

    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
            assert bases <= allowed, node.name


def test_every_folder_of_the_package_has_its_folder_of_tests() -> None:
    folders = {path.parent.relative_to(PACKAGE) for path in SOURCES if path.name != "__init__.py"}

    missing = [str(folder) for folder in folders if not (ROOT / "tests" / folder).is_dir()]

    assert missing == []


def test_every_file_of_tests_in_a_folder_is_named_after_a_module() -> None:
    modules = {path.relative_to(PACKAGE).as_posix() for path in SOURCES}
    tests = {path.relative_to(ROOT / "tests") for path in TESTS if path.name.startswith("test_")}

    strange = {
        test.as_posix()
        for test in tests
        if len(test.parts) > 1
        and (test.parent / test.name.removeprefix("test_")).as_posix() not in modules
    }

    assert strange == TESTS_OF_SEVERAL_MODULES


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_tests_reach_for_no_private_names(path: Path) -> None:
    reached = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("interstellar"):
            reached += [alias.name for alias in node.names if alias.name.startswith("_")]
        if isinstance(node, ast.Attribute) and not node.attr.endswith("__"):
            is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os")
            reached += [node.attr] if node.attr.startswith("_") and not is_own else []

    assert reached == []


def test_the_repository_names_no_place_of_the_machine_it_was_made_on() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    home = str(ROOT.parent) + "/"
    files = [ROOT / name for name in listed.stdout.split("\0") if name]

    naming = [
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.is_file() and len(home) > 2 and home in path.read_text(errors="ignore")
    ]

    assert naming == []
