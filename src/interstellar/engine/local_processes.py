"""Work done by several processes of this machine, each with a GPU or a share of the cores.

Each worker builds its workbench once and then does one piece after another. Values travel as
JSON. A worker that dies is replaced, and its piece begun again; after three deaths the piece is
given up. Workers end when this process ends, however it ends.
"""

import json
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import final

from interstellar.engine.engine import BuildWorkbench, Done, Plain
from interstellar.errors import InputError, InterstellarError

MAX_TRIES = 3
_SPAWN = multiprocessing.get_context("spawn")  # a forked child cannot use CUDA


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    device: str
    number: int | None = None
    """Of the piece it is at."""


@final
class LocalProcesses:
    """Spreads work over processes; with one worker a device."""

    def __init__(self, build: BuildWorkbench, told: Plain, devices: Sequence[str]) -> None:
        """Start a worker for each entry of `devices`; a card may be named several times.

        Args:
            build: Makes the workbench of a worker, in its process.
            told: What `build` is told, besides the device.
            devices: `cpu` or `cuda:i`. Workers on the CPU share its cores evenly.
        """
        self._build = build
        self._told = told
        n_on_cpu = max(1, sum(device == "cpu" for device in devices))
        self._n_threads = max(1, (os.cpu_count() or 1) // n_on_cpu)
        self._work_by_number: dict[int, Plain] = {}
        self._tries_by_number: dict[int, int] = {}
        self._workers: list[_Worker] = []
        try:
            for device in devices:
                self._workers.append(self._hire(device))
        except BaseException:
            self.close()
            raise

    @property
    def n_free(self) -> int:
        return sum(worker.number is None for worker in self._workers)

    def start(self, number: int, work: Plain) -> None:
        self._work_by_number[number] = work
        self._tries_by_number[number] = 0
        self._assign(next(worker for worker in self._workers if worker.number is None), number)

    def wait(self) -> list[Done]:
        while True:
            ready = wait(
                [worker.connection for worker in self._workers if worker.number is not None]
            )
            done = [self._receive(w) for w in self._workers if w.connection in ready]
            ended = [d for d in done if d is not None]
            if ended:
                return ended

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.connection.close()
        self._workers = []

    def _hire(self, device: str) -> _Worker:
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(
            target=serve,
            args=(theirs, self._build, json.dumps(self._told), device, self._n_threads),
            daemon=True,
        )
        process.start()
        theirs.close()  # else we would hold it open ourselves and never hear of the worker's end
        return _Worker(process, ours, device)

    def _assign(self, worker: _Worker, number: int) -> None:
        worker.number = number
        self._tries_by_number[number] += 1
        try:
            worker.connection.send_bytes(json.dumps(self._work_by_number[number]).encode())
        except OSError:  # it died while idle: the next wait finds that out
            return

    def _receive(self, worker: _Worker) -> Done | None:
        """Return what a worker has done; None where it died and its piece was begun again."""
        number = worker.number
        assert number is not None
        try:
            message: Plain = json.loads(worker.connection.recv_bytes())
        except (EOFError, OSError):
            return self._replace(worker, number)
        if "error" in message:
            raise (
                InputError(message["error"])
                if message["is_input"]
                else InterstellarError(message["error"])
            )
        self._forget(number)
        worker.number = None
        return Done(number, message["outcome"])

    def _replace(self, worker: _Worker, number: int) -> Done | None:
        worker.process.join()
        worker.connection.close()
        exit_code = worker.process.exitcode
        place = self._workers.index(worker)
        self._workers[place] = self._hire(worker.device)
        if self._tries_by_number[number] < MAX_TRIES:
            self._assign(self._workers[place], number)
            return None
        self._forget(number)
        return Done(number, None, f"its worker died {MAX_TRIES} times (exit code {exit_code})")

    def _forget(self, number: int) -> None:
        del self._work_by_number[number], self._tries_by_number[number]


def serve(
    connection: Connection, build: BuildWorkbench, told: str, device: str, n_threads: int
) -> None:
    """Be a worker: do what comes over the connection until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; ours decides
    _end_with_parent()
    _limit_threads(n_threads)
    workbench = None
    while True:
        try:
            work = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            workbench = workbench or build(json.loads(told), device)
            [outcome] = workbench([work])
            message: Plain = {"outcome": outcome}
        except InterstellarError as error:
            message = {"error": str(error), "is_input": isinstance(error, InputError)}
        except Exception as error:
            traceback.print_exc()
            message = {
                "error": f"a worker met a fault in the program: {error!r}",
                "is_input": False,
            }
        connection.send_bytes(json.dumps(message).encode())


def _end_with_parent() -> None:
    """End this process when the one that started it ends, even by kill -9."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _limit_threads(n_threads: int) -> None:
    import torch  # noqa: PLC0415 (the engine itself needs none)

    torch.set_num_threads(n_threads)
