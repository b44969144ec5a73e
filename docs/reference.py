"""Writes the reference of the manual, `reference/commands.md` and `reference/python.md`.

Everything in the two pages comes from the code: flags and their help from the commands, names and
their one line from the docstrings. `make reference` writes them anew; a test fails where they are
not what the code says.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import interstellar
from interstellar.cli.app import FORMER, GONE_IN
from interstellar.cli.app import app as program

FOLDER = Path(__file__).parent / "reference"
GENERATED = "<!-- Written by docs/reference.py. Change the code, then run `make reference`. -->"

COMMANDS_HEAD = """# Commands

Each command takes `--help`, and `--json` where it has something to say: then standard output holds
one JSON object and nothing else; progress and remarks go to standard error. An error is one line on
standard error that says what was found, what must hold and what to do; with `--json` it is also an
object with `error`.

Exit codes: 0 done; 2 the input is at fault; 130 interrupted, and what was done can be resumed; 1
anything else.

DATA is the name of a set, a folder or a file ([Graphs in](../data.md)). RUN is the folder of a run
([Reading a run](../howto/read_a_run.md)). ARCH is a name, a code, a formula, a JSON file or a RUN
([Writing an architecture](../notation.md)).
"""
PYTHON_HEAD = """# Python

`import interstellar as ist` offers these names. They are imported when they are first used, so the
import itself costs nothing. What goes wrong by the caller's doing is an `InterstellarError`.
`help(ist.search)` shows what a function takes; so does the built manual, below these tables.
"""
TITLE_BY_FOLDER = {
    "workflow": "From a graph to answers",
    "inference": "From a graph to answers",
    "training": "From a graph to answers",
    "runs": "From a graph to answers",
    "searching": "From a graph to answers",
    "reporting": "Runs on a page, and side by side",
    "data": "Graphs",
    "paths": "Paths",
    "architecture": "Architectures",
}
"""The parts of the Python page in their order; names from elsewhere are under `OTHERS`."""
OTHERS = "Everything else"
WITH_METHODS = ("Model", "SearchResult", "Alignment", "Comparison")


def commands_page() -> str:
    """Return the page of the commands."""
    return "\n".join([GENERATED, "", COMMANDS_HEAD, *describe_commands(), *describe_former()])


def python_page() -> str:
    """Return the page of the names that `import interstellar` offers."""
    return "\n".join([GENERATED, "", PYTHON_HEAD, *describe_names()])


def describe_commands() -> Iterator[str]:
    """Yield the Markdown of every command."""
    for words, command in find_commands("interstellar", typer.main.get_command(program)):
        yield f"## {words}\n"
        yield f"```text\n{usage(words, command)}\n```\n"
        yield inspect.cleandoc(command.help or "") + "\n"
        yield "| argument | meaning |\n| --- | --- |"
        for parameter in command.params:
            if parameter.name != "help" and not getattr(parameter, "hidden", False):
                yield f"| `{in_table(name_of(parameter))}` | {in_table(meaning_of(parameter))} |"
        yield ""


def find_commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands of a program with the words that call them, in the program's order."""
    parts = getattr(command, "commands", {})
    for name, part in parts.items():
        yield from find_commands(f"{words} {name}", part)
    if not parts and not command.hidden:
        yield words, command


def usage(words: str, command: Any) -> str:
    """Return the line that calls a command with all that it must be given."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    given = [name_of(p) if p.required else f"[{name_of(p)}]" for p in arguments]
    needed = [name_of(p) for p in command.params if p.required and p not in arguments]
    return " ".join([words, *given, *needed, "[OPTIONS]"])


def name_of(parameter: Any) -> str:
    """Return a flag with what its value is called, or an argument."""
    value: str = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return value
    flags = ", ".join(flag for flag in (*parameter.opts, *parameter.secondary_opts) if flag.strip())
    return flags if parameter.is_flag else f"{flags} {value}"


def meaning_of(parameter: Any) -> str:
    """Return the help of a flag or an argument with its default."""
    default = parameter.default
    has_default = isinstance(default, str | int | float) and not isinstance(default, bool)
    said = f" [default: {default}]" if has_default and not parameter.required else ""
    return " ".join((parameter.help or "").split()) + said


def in_table(text: str) -> str:
    """Return a text that does not end its cell of a table."""
    return text.replace("|", r"\|")


def describe_former() -> Iterator[str]:
    """Yield the table of the flags that had another name."""
    yield "## Former names\n"
    yield f"They still work, with a note on standard error, and go in {GONE_IN}.\n"
    yield "| command | before | now |\n| --- | --- | --- |"
    for former in FORMER:
        yield f"| {former.command} | `{former.before}` | `{former.now}` |"
    yield ""


def describe_names() -> Iterator[str]:
    """Yield a table of names for each part of the Python page."""
    for title, names in group_names().items():
        yield f"## {title}\n"
        yield "| name | what it is or does |\n| --- | --- |"
        for name in names:
            value = getattr(interstellar, name)
            yield f"| `{name}{'' if is_class(name) else '()'}` | {first_line(value)} |"
            if name in WITH_METHODS:
                yield from describe_methods(name, value)
        yield ""


def describe_methods(name: str, kind: type) -> Iterator[str]:
    """Yield a row for each public method and property of a class."""
    for member, value in vars(kind).items():
        if member.startswith("_") or not getattr(value, "__doc__", None):
            continue
        is_called = inspect.isfunction(value) or isinstance(value, classmethod)
        if is_called or isinstance(value, property) or hasattr(value, "func"):
            yield f"| `{name}.{member}{'()' if is_called else ''}` | {first_line(value)} |"


def group_names() -> dict[str, list[str]]:
    """Return the public names under the titles of the page, functions before classes."""
    groups: dict[str, list[str]] = {title: [] for title in [*TITLE_BY_FOLDER.values(), OTHERS]}
    for name in sorted(interstellar.__all__, key=is_class):
        folder = getattr(interstellar, name).__module__.split(".")[1]
        groups[TITLE_BY_FOLDER.get(folder, OTHERS)].append(name)
    return {title: names for title, names in groups.items() if names}


def is_class(name: str) -> bool:
    """Say whether a public name is that of a class."""
    return isinstance(getattr(interstellar, name), type)


def first_line(value: object) -> str:
    """Return the first line of a docstring."""
    return in_table((inspect.getdoc(value) or "").partition("\n")[0])


if __name__ == "__main__":
    (FOLDER / "commands.md").write_text(commands_page(), encoding="utf-8")
    (FOLDER / "python.md").write_text(python_page(), encoding="utf-8")
