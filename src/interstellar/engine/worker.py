"""A worker: a process of its own that does one piece of work after another.

It reads lines of JSON from its standard input and answers with lines of JSON; what is printed goes
to standard error. It knows nothing of the program that started it, whose main module is never
imported here. When that program ends, however it ends, the input ends, and so does the worker.
"""

import io
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import BinaryIO, final

from interstellar.engine.engine import BuildWorkbench, OnProgress, Plain, Workbench
from interstellar.engine.pulse import BEAT_SECONDS
from interstellar.errors import InputError, InterstellarError

START = """
import json, sys
path = sys.stdin.buffer.readline()
if path:
    sys.path[:] = json.loads(path)
    from interstellar.engine.worker import serve
    serve()
"""
"""What the interpreter of a worker runs; the first line it reads is where modules are found."""


def serve() -> None:
    """Be a worker until the input ends; its first line says what to build, each other is work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; ours decides
    lines = _follow_input(sys.stdin.buffer)
    answers = _Answers(_take_streams())
    threading.Thread(target=_beat, args=(answers,), daemon=True).start()
    begun: Plain = json.loads(lines.get())
    build_once = cache(lambda: _build(begun))

    def tell_progress(*progress: float | None) -> None:
        answers.give({"progress": progress})

    while True:
        work = json.loads(lines.get())
        answers.give(attempt(build_once, work, tell_progress))


def attempt(build: Callable[[], Workbench], work: Plain, on_progress: OnProgress) -> Plain:
    """Do a piece of work; return what came of it, or what went wrong, in words for whoever asked.

    What is lost can be tried again; an error ends all work.
    """
    try:
        return {"outcome": build()(work, on_progress)}
    except MemoryError:
        return {"lost": "ran out of memory"}
    except InterstellarError as error:
        return {"error": str(error), "is_input": isinstance(error, InputError)}
    except Exception as error:
        traceback.print_exc()
        fault = f"a worker met a fault in the program: {error!r}"
        return {"error": fault, "is_input": False}


def read_answer(line: bytes, number: int | None) -> Plain:
    """Return what a worker says, at a piece of that number or none; empty where it is no answer."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    match message:
        case {"outcome": dict()} | {"lost": str()} if number is not None:
            return dict(message)
        case {"progress": [int(n), int() | float(), int(), None | int() | float()]} if n == number:
            return dict(message)
        case {"beat": int() | float()} | {"error": str(), "is_input": bool()}:
            return dict(message)
        case _:
            return {}


@final
class _Answers:
    """Where a worker answers, from several threads."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()

    def give(self, message: Plain) -> None:
        with self._lock:
            self._file.write(json.dumps(message).encode() + b"\n")
            self._file.flush()


def _beat(answers: _Answers) -> None:
    """Say every second that this process is there, and how long it has computed."""
    while True:
        answers.give({"beat": time.process_time()})
        time.sleep(BEAT_SECONDS)


def _follow_input(file: BinaryIO) -> queue.SimpleQueue[bytes]:
    """Give each line as it comes; end this process at once where no more can come."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def follow() -> None:
        for line in file:
            lines.put(line)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    return lines


def _take_streams() -> BinaryIO:
    """Return standard output; what others print goes to standard error, and they read nothing."""
    sys.stdin = io.StringIO()
    ours = os.fdopen(os.dup(1), "wb")
    with suppress(OSError):  # standard error may be closed
        os.dup2(2, 1)
    return ours


def _build(begun: Plain) -> Workbench:
    build: BuildWorkbench = getattr(import_module(begun["module"]), begun["function"])
    return build(begun["told"], begun["device"])
