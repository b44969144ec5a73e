"""Flags are made from the options that the library states: names, help, defaults, values."""

import inspect
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypedDict, get_args, get_type_hints

import pytest
import typer

from interstellar.cli import search_commands, training_commands
from interstellar.cli.flags import Flags, stop_on_sigterm, with_flags
from interstellar.runs.search_plan import Budget, Retraining, SearchPlan
from interstellar.training.settings_changes import SettingsChanges
from tests.cli.run_command import run_command

PYTHON_ALONE = {"macro"}
"""Of `SearchPlan`: what the studies of the paper use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soup:
    salt: Annotated[int, "Grains of it."] = 3
    kind: Annotated[str | None, "What is in it."] = None
    stir: Annotated[bool, "Stir it well."] = True
    is_hot: Annotated[bool, "Heat it."] = False
    spices: Annotated[tuple[str, ...], "One of them; can be repeated."] = ()


class Changes(TypedDict, total=False):
    heat: Annotated[float | None, "Of the stove."]


def cook(flags: Flags) -> Callable[[list[str]], Any]:
    """Return a program with the flags of an object, which it gives back."""
    program, made = typer.Typer(), []

    @program.command()
    @with_flags(made_of=flags)
    def serve(made_of: Any) -> None:
        made.append(made_of)

    def call(words: list[str]) -> Any:
        program(words, standalone_mode=False)
        return made.pop()

    return call


@pytest.mark.parametrize(
    ("words", "soup"),
    [
        ([], Soup()),
        (["--salt", "5", "--is-hot"], Soup(salt=5, is_hot=True)),
        (["--no-stir"], Soup(stir=False)),
        (["--spices", "mint", "--spices", "dill"], Soup(spices=("mint", "dill"))),
        (["--kind", "pea"], Soup(kind="pea")),
    ],
)
def test_a_command_gets_the_object_that_its_flags_describe(words: list[str], soup: Soup) -> None:
    assert cook(Flags(Soup, "Soup"))(words) == soup


def test_what_is_on_has_only_a_flag_that_switches_it_off() -> None:
    with pytest.raises(Exception, match="No such option: --stir"):
        cook(Flags(Soup, "Soup"))(["--stir"])


def test_an_object_of_which_nothing_was_said_can_be_none() -> None:
    assert cook(Flags(Soup, "Soup", is_optional=True))([]) is None


def test_flags_can_be_some_renamed_converted_and_fixed() -> None:
    flags = Flags(
        Soup,
        "Soup",
        only=("salt", "kind"),
        flag_by_name={"salt": "grains"},
        convert={"kind": str.upper},
        fixed={"is_hot": True},
    )

    assert cook(flags)(["--grains", "2", "--kind", "pea"]) == Soup(salt=2, kind="PEA", is_hot=True)


def test_only_what_was_said_is_in_a_typed_dict() -> None:
    assert cook(Flags(Changes, "Changes"))([]) == {}
    assert cook(Flags(Changes, "Changes"))(["--heat", "0.5"]) == {"heat": 0.5}


def option_of(command: Callable[..., None], name: str) -> tuple[inspect.Parameter, Any]:
    """Return the parameter of a command for an option, and what typer is told of it."""
    parameter = inspect.signature(command).parameters[name]
    return parameter, get_args(parameter.annotation)[1]


@pytest.mark.parametrize(
    ("commands", "kind"),
    [
        ((search_commands.search, search_commands.tune), SearchPlan),
        ((search_commands.search,), Budget),
        ((search_commands.tune,), Budget),
        ((search_commands.search,), Retraining),
        ((training_commands.train,), SettingsChanges),
    ],
)
def test_every_option_is_a_flag_with_the_same_help_and_default(
    commands: tuple[Callable[..., None], ...], kind: Any
) -> None:
    defaults = {} if kind is SettingsChanges else {f.name: f.default for f in fields(kind)}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if name in PYTHON_ALONE:
            continue
        command = next(c for c in commands if name in inspect.signature(c).parameters)
        parameter, option = option_of(command, name)
        help_text = get_args(hint)[1]
        assert option.help.lower().endswith(help_text.lower()), name
        assert parameter.default == (defaults.get(name) or parameter.default), name
        assert (parameter.default or None) == (defaults.get(name) or None), name


def test_help_has_titles_values_and_defaults(capfd: pytest.CaptureFixture[str]) -> None:
    shown = run_command(capfd, "search", "--help").out

    for words in ("How to search", "When to end", "What follows", "How data is read"):
        assert words in shown
    for words in ("GRAPH2", "--no-prune", "[default: surrogate]", "SHARES", "ARCH"):
        assert words in shown
    assert "--prune " not in shown
    assert "list[" not in shown


def test_sigterm_is_taken_for_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        stop_on_sigterm()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
