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
import traceback
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

from interstellar.engine.engine import BuildWorkbench, Plain, Workbench
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
    answers = _take_streams()
    begun: Plain = json.loads(lines.get())
    _answer(answers, {"pid": os.getpid()})
    workbench: Workbench | None = None

    def tell_progress(*progress: float) -> None:
        _answer(answers, {"progress": progress})

    while True:
        work = json.loads(lines.get())
        try:
            workbench = workbench or _build(begun)
            message: Plain = {"outcome": workbench(work, tell_progress)}
        except InterstellarError as error:
            message = {"error": str(error), "is_input": isinstance(error, InputError)}
        except Exception as error:
            traceback.print_exc()
            fault = f"a worker met a fault in the program: {error!r}"
            message = {"error": fault, "is_input": False}
        _answer(answers, message)


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


def _answer(file: BinaryIO, message: Plain) -> None:
    file.write(json.dumps(message).encode() + b"\n")
    file.flush()


def _build(begun: Plain) -> Workbench:
    build: BuildWorkbench = getattr(import_module(begun["module"]), begun["function"])
    return build(begun["told"], begun["device"])
