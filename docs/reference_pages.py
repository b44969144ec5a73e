"""The reference of the manual, made from the code while the manual is built.

`reference/commands.md` and `reference/python.md` hold a title and a few sentences. What follows is
added in memory when Sphinx reads them: nothing is written into the source tree, and a command or a
name that is new stands there without anyone's doing.
"""

import re
from collections.abc import Iterator

import typer
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.util.typing import ExtensionMetadata
from typer.core import TyperArgument, TyperCommand, TyperGroup

import interstellar
from interstellar.cli.app import app as program

COMMANDS, PYTHON = "reference/commands", "reference/python"

TITLE_BY_FOLDER = {
    "workflow": "From a graph to answers",
    "tasks": "From a graph to answers",
    "training": "From a graph to answers",
    "data": "Graphs",
    "paths": "Paths",
    "architecture": "Architectures",
}
"""The parts of the Python page in their order; names from elsewhere are under `OTHERS`."""
OTHERS = "Everything else"
WITH_SECTIONS = ("class", "exception", "function", "method")
"""What has docstrings with sections such as `Args:`; elsewhere a colon is a colon."""
ARRAY = re.compile(r"(~?numpy\.ndarray)\[.*?dtype\[[^]]*\]\]")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Let Sphinx ask for the two pages each time it builds."""
    app.connect("env-get-outdated", lambda *_: [COMMANDS, PYTHON])
    app.connect("source-read", add_reference)
    app.connect("autodoc-process-docstring", read_sections)
    app.connect("autodoc-process-signature", shorten_arrays)
    return {"parallel_read_safe": True}


def add_reference(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add what the code says to the text of a page."""
    if page == COMMANDS:
        source[0] += "\n".join(describe_commands())
    if page == PYTHON:
        source[0] += "\n".join(describe_names())


def describe_commands() -> Iterator[str]:
    """Yield the Markdown of every command."""
    for words, command in find_commands("interstellar", typer.main.get_command(program)):
        yield f"\n## {words}\n"
        yield f"```text\n{usage(words, command)}\n```\n"
        yield (command.help or "").strip() + "\n"
        yield "| argument | meaning |\n| --- | --- |"
        context = typer.Context(command, info_name=words)
        for parameter in command.params:
            name, says = parameter.get_help_record(context) or ("", "")
            yield f"| `{in_table(name)}` | {in_table(says)} |"


def find_commands(words: str, command: object) -> Iterator[tuple[str, TyperCommand]]:
    """Yield the commands of a program with the words that call them, in the program's order."""
    if isinstance(command, TyperGroup):
        for name, part in command.commands.items():
            yield from find_commands(f"{words} {name}", part)
    elif isinstance(command, TyperCommand) and not command.hidden:
        yield words, command


def usage(words: str, command: TyperCommand) -> str:
    """Return the line that calls a command with all that it must be given."""
    context = typer.Context(command, info_name=words)
    given, flags = [], []
    for parameter in command.params:
        name, _ = parameter.get_help_record(context) or ("", "")
        if isinstance(parameter, TyperArgument):
            given.append(name.split(" <")[0])
        elif parameter.required:
            flags.append(name)
    return " ".join([words, *given, *flags, "[OPTIONS]"])


def in_table(text: str) -> str:
    """Return a text that does not end its cell of a table."""
    return text.replace("|", r"\|")


def describe_names() -> Iterator[str]:
    """Yield the Markdown of every public name."""
    for title, names in group_names().items():
        yield f"\n## {title}\n"
        for name in names:
            yield f"```{{eval-rst}}\n.. {directive(name)}:: interstellar.{name}"
            yield "   :members:\n```\n" if is_class(name) else "```\n"


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


def directive(name: str) -> str:
    """Return the directive of autodoc that describes a public name."""
    value = getattr(interstellar, name)
    if not isinstance(value, type):
        return "autofunction" if callable(value) else "autodata"
    return "autoexception" if issubclass(value, Exception) else "autoclass"


def read_sections(
    _app: Sphinx, what: str, _name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Turn the sections of a docstring into what Sphinx reads."""
    if what in WITH_SECTIONS:
        lines[:] = GoogleDocstring(lines).lines()


def shorten_arrays(
    _app: Sphinx,
    _what: str,
    _name: str,
    _value: object,
    _options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Return a signature in which an array is called an array."""
    return (
        signature and ARRAY.sub(r"\1", signature),
        returns and ARRAY.sub(r"\1", returns),
    )
