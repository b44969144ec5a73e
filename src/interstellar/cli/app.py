"""The program `interstellar`: its commands, and what its exit codes mean.

0 done; 2 the user's input is at fault; 130 interrupted, what was done can be resumed;
1 anything else. Errors are one line on standard error.
"""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from types import FrameType
from typing import Annotated

import typer

from interstellar.cli import (
    alignment_commands,
    architecture_commands,
    data_commands,
    export_commands,
    path_commands,
    prediction_commands,
    reproduce_commands,
    search_commands,
    training_commands,
    update_commands,
)
from interstellar.errors import InterstellarError

USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for a wrong command line; it has no public name for it."""

INTERRUPTED = 130
RESUMABLE = {"train", "search", "tune", "update", "reproduce"}

app = typer.Typer(
    name="interstellar",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_commands.app, name="data")
app.add_typer(reproduce_commands.app, name="reproduce")
app.command("paths", no_args_is_help=True)(path_commands.sample)
app.command("space")(architecture_commands.measure_space)
app.command("show", no_args_is_help=True)(architecture_commands.show)
app.command("train", no_args_is_help=True)(training_commands.train)
app.command("search", no_args_is_help=True)(search_commands.search)
app.command("tune", no_args_is_help=True)(search_commands.tune)
app.command("evaluate", no_args_is_help=True)(training_commands.evaluate)
app.command("update", no_args_is_help=True)(update_commands.update)
app.command("predict", no_args_is_help=True)(prediction_commands.predict)
app.command("align", no_args_is_help=True)(alignment_commands.align)
app.command("export", no_args_is_help=True)(export_commands.export_embeddings)


def print_version(is_asked: bool) -> None:
    """Print the version and stop."""
    if is_asked:
        typer.echo(f"interstellar {version('interstellar-kg')}")
        raise typer.Exit


@app.callback()
def describe(
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """AutoML for knowledge graphs: your graph in, a network that learned it out.

    DATA is the name of a set (`interstellar data list`), a folder, or a file of triplets.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code."""
    interruption = Interruption()
    try:
        with interruption.noted():
            code = app(arguments, standalone_mode=False)
    except InterstellarError as error:
        return fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except USAGE_ERROR as error:
        return fail_usage(error)
    except OSError as error:
        return fail(f"{error}. Nothing was left half written.", 1)
    except Exception:
        if not interruption.has_come:  # while modules are imported, Ctrl-C can surface as anything
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:  # typer turns Ctrl-C into this code by itself
        return fail(describe_interruption(arguments or sys.argv[1:]), INTERRUPTED)
    return code if isinstance(code, int) else 0


class Interruption:
    """Takes note of Ctrl-C, and then does what Python does."""

    has_come = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Take note of it from here to the end of the block, where nobody else handles it."""
        is_free = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if not is_free or threading.current_thread() is not threading.main_thread():
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.has_come = True
        signal.default_int_handler(number, frame)


def describe_interruption(arguments: Sequence[str]) -> str:
    """Say that a command was interrupted, and how to go on where it can be."""
    if not RESUMABLE & set(arguments[:1]):
        return "interrupted."
    return "interrupted. What was done is kept: the same command with --resume goes on."


def fail_usage(error: Exception) -> int:
    """Say what is wrong with the command line; nothing where the help was shown instead."""
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    if message:
        fail(f"{message.rstrip('.')}. `interstellar COMMAND --help` shows how.", 2)
    return 2


def fail(message: str, code: int) -> int:
    """Say what went wrong in one line and return the exit code."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return code
