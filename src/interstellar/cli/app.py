"""The program `interstellar`: its commands, and what its exit codes mean.

0 done; 2 the user's input is at fault; 130 interrupted, what was done can be resumed;
1 anything else. Errors are one line on standard error; with `--json` also an object with `error`
on standard output.
"""

import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any

import typer

from interstellar.cli import (
    alignment_commands,
    architecture_commands,
    data_commands,
    export_commands,
    prediction_commands,
    report_commands,
    reproduce_commands,
    search_commands,
    server_commands,
    training_commands,
)
from interstellar.cli.output import print_json, print_what_can_be_printed, report
from interstellar.errors import InterstellarError, SettingsError
from interstellar.printable import printable
from interstellar.watching import Loudness, speaking

USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for a wrong command line; it has no public name for it."""

INTERRUPTED = 130
SERVERS = {"dashboard", "serve"}
"""Commands that end by Ctrl-C and have printed their one object long before."""
LOUDNESS = {f"--{loud}": loud for loud in (Loudness.QUIET, Loudness.VERBOSE)}
ALSO = "Also `--quiet`: errors alone on standard error; `--verbose`: a line for everything."
RESUMABLE = {"train", "search", "tune", "update", "reproduce"}
ELSEWHERE = {
    "--lr": "--learning-rate",
    "--l2": "--weight-decay",
    "--decay": "--lr-decay",
    "--batch": "--batch-size",
    "--embedding-dim": "--dim",
    "--num-epochs": "--epochs",
    "--n-trials": "--trials",
    "--timeout": "--time",
    "--output": "--out",
    "--random-seed": "--seed",
}
"""What other programs call some of our flags, too far from them for a guess by spelling."""


@dataclass(frozen=True, slots=True)
class Former:
    """A flag of version 0.1 and the one of today; each is a flag, or a flag and a value."""

    command: str
    before: str
    now: str


FORMER = (
    Former("search", "--faithful", "--no-prune"),
    Former("search", "--select", "--metric"),
    Former("tune", "--faithful", "--no-prune"),
    Former("tune", "--select", "--metric"),
    Former("align", "--direction first", "--direction source"),
    Former("align", "--direction second", "--direction target"),
    Former("data convert", "--form", "--format"),
    Former("export", "--form", "--format"),
)
GONE_IN = "version 0.3"

_TUNING = "a search chooses settings too, and `interstellar tune DATA --architecture RUN` goes on"
_BATCHES = "trials are trained side by side by --workers"
GONE = {
    ("search", "--then-tune"): _TUNING,
    ("search", "--tune-trials"): _TUNING,
    ("search", "--together"): _BATCHES,
    ("reproduce one-shot", "--together"): _BATCHES,
}
"""Flags that are no more, by command, and what to do without them."""

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
app.command("paths", no_args_is_help=True)(data_commands.sample_paths)
app.command("space")(architecture_commands.measure_space)
app.command("show", no_args_is_help=True)(architecture_commands.show)
app.command("models")(architecture_commands.list_models)
app.command("train", no_args_is_help=True)(training_commands.train)
app.command("search", no_args_is_help=True)(search_commands.search)
app.command("tune", no_args_is_help=True)(search_commands.tune)
app.command("evaluate", no_args_is_help=True)(training_commands.evaluate)
app.command("update", no_args_is_help=True)(training_commands.update)
app.command("predict", no_args_is_help=True)(prediction_commands.predict)
app.command("align", no_args_is_help=True)(alignment_commands.align)
app.command("export", no_args_is_help=True)(export_commands.export_embeddings)
app.command("report", no_args_is_help=True)(report_commands.write_report)
app.command("compare", no_args_is_help=True)(report_commands.compare_runs)
app.command("dashboard", no_args_is_help=True)(server_commands.show_dashboard)
app.command("serve", no_args_is_help=True)(server_commands.serve)
for group in (app, data_commands.app, reproduce_commands.app):
    for command in group.registered_commands:
        command.epilog = ALSO


def print_version(is_asked: bool) -> None:
    """Print the version and stop."""
    if is_asked:
        from importlib.metadata import version

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
    `--quiet` leaves only errors on standard error, `--verbose` has a line for everything.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit."""
    # Read when NumPy is imported. Its matrices here are small: on busy cores, threads that wait
    # for each other make the proposals of a search twenty times as slow.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    print_what_can_be_printed()
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code."""
    given, notes = modernise(sys.argv[1:] if arguments is None else arguments)
    words, wanted = take_loudness(given)
    interruptions: list[int] = []
    try:
        refuse_both(given)
        with noting_interruptions(interruptions), speaking(wanted), showing_log(wanted):
            for note in notes:
                report(note)
            code = app(words, standalone_mode=False)
    except InterstellarError as error:
        return fail(translate(str(error), words), error.exit_code, words)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except USAGE_ERROR as error:
        return fail_usage(error, words)
    except OSError as error:
        return fail(f"{error}. Nothing was left half written.", 1, words)
    except Exception:
        if not interruptions:  # while modules are imported, Ctrl-C can surface as anything
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:  # typer turns Ctrl-C into this code by itself
        return fail(describe_interruption(words), INTERRUPTED, words)
    return code if isinstance(code, int) else 0


def take_loudness(words: Sequence[str]) -> tuple[list[str], Loudness]:
    """Return a command line without `--quiet` and `--verbose`, wherever they stand, and which."""
    end = words.index("--") if "--" in words else len(words)
    asked = [LOUDNESS[word] for word in words[:end] if word in LOUDNESS]
    others = [word for i, word in enumerate(words) if i >= end or word not in LOUDNESS]
    return others, asked[-1] if asked else Loudness.NORMAL


def refuse_both(words: Sequence[str]) -> None:
    """Raise where both are asked for."""
    if set(LOUDNESS) <= set(words):
        raise SettingsError("--quiet and --verbose were both given. Leave one of them out.")


@contextmanager
def showing_log(wanted: Loudness) -> Iterator[None]:
    """Let the log of the library be lines on standard error, where everything is to be said."""
    if wanted is not Loudness.VERBOSE:
        yield
        return
    logger, handler = logging.getLogger("interstellar"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    handler.addFilter(make_printable)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def make_printable(record: logging.LogRecord) -> bool:
    """Keep control characters off the terminal."""
    record.msg, record.args = printable(record.getMessage()), None
    return True


def modernise(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line as it is written now, and a note for each change."""
    words, notes = list(arguments), []
    for former in FORMER:
        if words[: former.command.count(" ") + 1] != former.command.split():
            continue
        changed = _replace(words, former.before, former.now)
        if changed != words:
            words = changed
            change = f"{former.before} is now {former.now}"
            notes.append(f"note: {change}; the old name goes in {GONE_IN}.")
    return words, notes


def _replace(words: list[str], before: str, now: str) -> list[str]:
    """Return words with a flag renamed, written as `--flag`, `--flag value` or `--flag=value`."""
    flag, _, value = before.partition(" ")
    now_flag, _, now_value = now.partition(" ")
    found = list(words)
    for i, word in enumerate(words):
        if not value and (word == flag or word.startswith(f"{flag}=")):
            found[i] = now_flag + word.removeprefix(flag)
        elif value and word == f"{flag}={value}":
            found[i] = f"{now_flag}={now_value}"
        elif value and words[i : i + 2] == [flag, value]:
            found[i : i + 2] = [now_flag, now_value]
    return found


@contextmanager
def noting_interruptions(noted: list[int]) -> Iterator[None]:
    """Note each Ctrl-C, where nobody else handles it, before it does what it does in Python."""
    is_free = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_free or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def describe_interruption(words: Sequence[str]) -> str:
    """Say that a command was interrupted, and how to go on where it can be."""
    if "align" in words[:1] and any(word.startswith("--iterate") for word in words):
        return "interrupted. The rounds so far are kept in RUN: the same command goes on with them."
    if not RESUMABLE & set(words[:1]):
        return "interrupted."
    return "interrupted. What was done is kept: the same command with --resume goes on."


def translate(message: str, words: Sequence[str]) -> str:
    """Return a message of the library with its arguments as flags: `top_k` becomes --top-k."""
    flag_by_name: dict[str, str] = {}
    for parameter in find_command(words).params:
        for flag in (*parameter.secondary_opts, *parameter.opts):
            if flag.startswith("-") and flag != "--json":
                flag_by_name[flag.lstrip("-").replace("-", "_")] = flag
                flag_by_name[parameter.name] = flag

    def say_as_flag(found: re.Match[str]) -> str:
        flag = flag_by_name.get(found["name"])
        return found[0] if flag is None else " ".join(filter(None, (flag, found["value"])))

    return re.sub(r"`(?P<name>\w+)(?:=(?:True|(?P<value>[\w./:@]+)))?`", say_as_flag, message)


def find_command(words: Sequence[str]) -> Any:
    """Return the command that a command line calls, or the group it stops at."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return command


def fail_usage(error: Exception, words: Sequence[str]) -> int:
    """Say what is wrong with the command line; nothing where the help was shown instead."""
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    flag = getattr(error, "option_name", "")
    meant = ELSEWHERE.get(flag)
    for (command, gone), advice in GONE.items():
        if gone == flag and words[: command.count(" ") + 1] == command.split():
            message = f"{flag} is gone: {advice}"
    if any(meant in parameter.opts for parameter in find_command(words).params):
        message = f"{message.partition(' (')[0]}. Did you mean {meant}?"
    if not message:
        return 2
    ending = "" if message.endswith("?") else "."
    return fail(f"{message.rstrip('.')}{ending} `interstellar COMMAND --help` shows how.", 2, words)


def fail(message: str, code: int, words: Sequence[str]) -> int:
    """Say what went wrong in one line, to programs too, and return the exit code."""
    line = printable(" ".join(message.split()))
    typer.echo(f"error: {line}", err=True)
    has_printed = code == INTERRUPTED and words[0] in SERVERS
    if "--json" in words and not has_printed:
        print_json({"error": line})
    return code
