"""Flags of the command line: those that commands share, and those of the library's options.

A frozen dataclass or a `TypedDict` states each option with its type, its default and its help
(`Annotated[int, "Numbers in an embedding."]`). A command names such a type for one of its
parameters; on the command line the parameter is one flag for each option, and the command gets
the object built from them.
"""

import inspect
import signal
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from types import FrameType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from interstellar.cli.output import report

if TYPE_CHECKING:
    from interstellar.data.graph import AnyGraph

Command = Callable[..., None]
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of an object: all options of its type, or some."""

    kind: type
    title: str
    """What the flags stand under in the help."""
    only: Collection[str] = ()
    """The options that are flags; all unless said."""
    flag_by_name: Mapping[str, str] = field(default_factory=dict)
    """Flags that are called otherwise than their options."""
    value_by_name: Mapping[str, str] = field(default_factory=dict)
    """What the help calls a value, where that is neither the option's name nor N."""
    convert: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """What is done with the values of some options before the object is built."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Options that have a value and no flag."""
    is_optional: bool = False
    """Whether the object is None where none of its flags was given."""

    def parameters(self) -> list[inspect.Parameter]:
        """Return a parameter for each flag."""
        hints = get_type_hints(self.kind, include_extras=True)
        defaults = _defaults_of(self.kind)
        return [
            inspect.Parameter(
                name,
                KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=self._annotate(name, hint, defaults.get(name)),
            )
            for name, hint in hints.items()
            if not self.only or name in self.only
        ]

    def build(self, given: dict[str, Any]) -> Any:
        """Return the object that the flags describe; flags that were not given are left out."""
        defaults = {parameter.name: parameter.default for parameter in self.parameters()}
        said = {
            name: self.convert.get(name, _as_tuple)(value)
            for name, value in given.items()
            if value != defaults[name]
        }
        return None if self.is_optional and not said else self.kind(**self.fixed, **said)

    def _annotate(self, name: str, hint: Any, default: object) -> Any:
        """Return the type and help of an option as typer takes them."""
        kind, *helps = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        plain, text = _plain_type(kind), " ".join(helps)
        flag = self.flag_by_name.get(name, name).replace("_", "-")
        if default is True:  # it is on unless it is switched off
            flag, text = f" /--no-{flag}", f"Do not {text[:1].lower()}{text[1:]}"
        elif plain == bool | None:  # it can be switched on and off
            plain, flag = bool, f"--{flag}/--no-{flag}"
        else:
            flag = f"--{flag}"
        option = typer.Option(
            flag,
            help=text,
            metavar=None if plain is bool else self.value_by_name.get(name, _value(name, plain)),
            show_default=default is not None and not isinstance(default, bool),
            rich_help_panel=self.title,
        )
        return Annotated[plain, option]


def with_flags(**flags_by_parameter: Flags) -> Callable[[Command], Command]:
    """Let a command be called with flags in place of some of its parameters."""

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name in flags_by_parameter:
                parameters += flags_by_parameter[parameter.name].parameters()
            else:
                hint = hints[parameter.name]
                parameters.append(parameter.replace(kind=KEYWORD_ONLY, annotation=hint))

        @wraps(command)
        def called(**given: Any) -> None:
            built = {
                name: flags.build({own.name: given.pop(own.name) for own in flags.parameters()})
                for name, flags in flags_by_parameter.items()
            }
            command(**given, **built)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate


Data = Annotated[str, typer.Argument(metavar="DATA", help="Name of a set, folder, or file.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")]
Out = Annotated[Path, typer.Option("--out", metavar="RUN", help="Folder of the run; a new one.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in RUN.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every random choice.")]
Device = Annotated[
    str, typer.Option("--device", metavar="DEVICE", help="auto, cpu, cuda or cuda:i.")
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE|RUN", help="Settings of a TOML file or a run."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Processes, on the GPUs or sharing the cores. [default: with a limit of time as "
        "many as gain from it, otherwise 1]",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|ray",
        help="Where trials run: local, in processes of this machine; ray, on a Ray cluster.",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="A running Ray cluster, auto or host:port. [default: one started on this machine]",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How data is read."""

    second: Annotated[str | None, "The second graph, to align."] = None
    pairs: Annotated[str | None, "File of the pairs known between the two graphs."] = None
    split: Annotated[str | None, "Shares to hold out of data without splits: 90/5/5."] = None
    split_seed: Annotated[int, "Seed of that split."] = 0
    columns: Annotated[
        str | None, "Columns of subject, relation and object: from,type,to or 1,3,2."
    ] = None
    labels: Annotated[bool, "Call entities by their rdfs:label in answers."] = False

    def load(self, data: str) -> "AnyGraph":
        """Read a graph or two, and say what there is to say of it."""
        graph = self.load_silently(data)
        for note in graph.notes:
            report(f"note: {note}")
        return graph

    def load_silently(self, data: str) -> "AnyGraph":
        """Read a graph or two."""
        from interstellar.data.loading import load
        from interstellar.workflow.audience import find_audience
        from interstellar.workflow.bars import work_shown

        with work_shown(find_audience()):
            graph: AnyGraph = load(
                data,
                second=self.second,
                pairs=self.pairs,
                split=self.split,
                seed=self.split_seed,
                columns=self.column_list(),
                labels=self.labels,
            )
        return graph

    def column_list(self) -> list[str] | None:
        """Return the columns by name or number."""
        return None if self.columns is None else [c.strip() for c in self.columns.split(",")]


READING = Flags(
    Reading,
    "How data is read",
    flag_by_name={"second": "with"},
    value_by_name={"second": "GRAPH2", "pairs": "FILE", "split": "SHARES"},
)
READING_ALONE = replace(READING, flag_by_name={"second": "with", "split_seed": "seed"})
"""Of commands whose only random choice is the split."""


def stop_on_sigterm() -> None:
    """Treat SIGTERM as Ctrl-C: what was done is saved."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def _value(name: str, plain: Any) -> str:
    """Return what the help calls the value of an option."""
    if plain in (int, int | None):
        return "N"
    return "NUMBER" if plain in (float, float | None) else name.upper()


def _plain_type(kind: Any) -> Any:
    """Return the type in which the command line takes a value; what it means is checked later."""
    if get_origin(kind) is tuple:
        return list[str] | None
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    plain = [str if isinstance(o, type) and issubclass(o, StrEnum) else o for o in options]
    if str in plain:
        return str | None if NoneType in plain else str
    return kind


def _defaults_of(kind: type) -> dict[str, Any]:
    """Return the defaults as typer has them: None for several values."""
    stated = fields(kind) if is_dataclass(kind) else ()
    default_by_name = {f.name: f.default for f in stated if f.default is not MISSING}
    return {name: None if value == () else value for name, value in default_by_name.items()}


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
