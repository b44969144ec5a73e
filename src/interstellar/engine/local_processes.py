"""Work done by several processes of this machine, each with a GPU or a share of the cores.

Each worker builds its workbench once and then does one piece after another (`worker.py`); it is
started when there is a piece for it. A worker that dies is replaced, and its piece begun again;
after three deaths the piece is given up. Workers end when this process ends, however it ends.
"""

import json
import logging
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, final

from interstellar.engine.engine import BuildWorkbench, Done, OnProgress, Plain, ignore
from interstellar.engine.worker import START
from interstellar.errors import InputError, InterstellarError

MAX_TRIES = 3
LOOK_UP_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Piece:
    number: int
    work: Plain
    n_tries: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    device: str
    piece: _Piece | None = None
    """What it is at."""
    is_serving: bool = False
    """Whether it has said that it is there."""

    @property
    def input(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin


@final
class LocalProcesses:
    """Spreads work over processes; with one worker a device."""

    def __init__(
        self,
        build: BuildWorkbench,
        told: Plain,
        devices: Sequence[str],
        n_pieces: int | None = None,
    ) -> None:
        """Be ready to start a worker for each entry of `devices`, as far as that is of use.

        A card may be named several times; workers on the CPU share its cores evenly. `told` is
        what `build` is told, besides the device.
        """
        devices = limit_workers(devices, n_pieces)
        n_on_cpu = max(1, sum(device == "cpu" for device in devices))
        self._begun = {"module": build.__module__, "function": build.__qualname__, "told": told}
        # torch and the rest of arithmetic read it when they are imported.
        n_threads = max(1, count_cores() // n_on_cpu)
        self._environment = {"OMP_NUM_THREADS": str(n_threads), "MKL_NUM_THREADS": str(n_threads)}
        self._free_devices = list(reversed(devices))  # the next to get a worker is last
        self._workers: list[_Worker] = []
        self._heard: queue.SimpleQueue[tuple[_Worker, bytes]] = queue.SimpleQueue()

    @property
    def n_free(self) -> int:
        return len(self._free_devices) + sum(worker.piece is None for worker in self._workers)

    def start(self, number: int, work: Plain) -> None:
        self._begin(_Piece(number, work))

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        """Return what has ended; at the deadline whoever is still at work is killed."""
        while deadline is None or time.monotonic() < deadline:
            ended = self._hear(deadline, on_progress)
            if ended is not None:
                return [ended]
        return self._give_up_late()

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in list(self._workers):
            self._bury(worker)

    def _begin(self, piece: _Piece) -> None:
        """Give a piece to a worker without one, or to a new one."""
        idle = (worker for worker in self._workers if worker.piece is None)
        worker = next(idle, None) or self._hire()
        worker.piece = piece
        piece.n_tries += 1
        _tell(worker, piece.work)

    def _hire(self) -> _Worker:
        device = self._free_devices.pop()
        command, environment = [sys.executable, "-c", START], os.environ | self._environment
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        worker = _Worker(process, device)
        self._workers.append(worker)
        logger.info("worker %d is started on %s", process.pid, device)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        for line in (list(map(str, sys.path)), {**self._begun, "device": device}):
            _tell(worker, line)
        return worker

    def _listen(self, worker: _Worker) -> None:
        """Pass on what a worker says, and an empty line at its end."""
        assert worker.process.stdout is not None
        with worker.process.stdout as lines:
            for line in lines:
                self._heard.put((worker, line))
        self._heard.put((worker, b""))

    def _hear(self, deadline: float | None, on_progress: OnProgress) -> Done | None:
        """Return the piece that has ended with what is heard next, if anything has."""
        seconds = math.inf if deadline is None else deadline - time.monotonic()
        try:  # now and then look up, since Ctrl-C does not end the waiting everywhere
            worker, line = self._heard.get(timeout=max(0.0, min(seconds, LOOK_UP_SECONDS)))
        except queue.Empty:
            return None
        if worker not in self._workers:  # the last words of one that was killed
            return None
        if not line.endswith(b"\n"):
            return self._replace(worker)
        message: Plain = json.loads(line)
        if "error" in message:
            raise (InputError if message["is_input"] else InterstellarError)(message["error"])
        if "outcome" not in message:
            worker.is_serving = True
            if "progress" in message:
                on_progress(*message["progress"])
            return None
        piece, worker.piece = worker.piece, None
        assert piece is not None
        return Done(piece.number, message["outcome"])

    def _replace(self, worker: _Worker) -> Done | None:
        """Begin the piece of a dead worker again; return it where it was begun too often."""
        self._bury(worker)
        piece = worker.piece
        if piece is None:
            return None
        if piece.n_tries < MAX_TRIES:
            self._begin(piece)
            return None
        died = f"died {MAX_TRIES} times (exit code {worker.process.returncode})"
        if not worker.is_serving:
            raise InterstellarError(
                f"a worker could not be started: {died} before its first piece of work. Standard "
                "error has its last words; a machine without free memory is the usual reason, "
                "and fewer workers the remedy."
            )
        return Done(piece.number, None, f"its worker {died}")

    def _give_up_late(self) -> list[Done]:
        late = []
        for worker in list(self._workers):
            if worker.piece is not None:
                pid = worker.process.pid
                logger.warning("worker %d has not answered in time and is ended", pid)
                worker.process.kill()
                self._bury(worker)
                late.append(Done(worker.piece.number, None, "its time was up", is_late=True))
        return late

    def _bury(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._free_devices.append(worker.device)
        worker.process.wait()
        with suppress(OSError):  # what could not be sent to the dead
            worker.input.close()


def limit_workers(devices: Sequence[str], n_pieces: int | None) -> Sequence[str]:
    """Return the devices of as many workers as are of use: one a piece, one a core or card."""
    n_places = max(count_cores(), len(set(devices)))
    n_used = min(len(devices), n_places, len(devices) if n_pieces is None else max(1, n_pieces))
    if n_used < len(devices):
        said = "%d workers are used, not %d: there are %s pieces of work and %d cores or cards"
        n_said = "many" if n_pieces is None else n_pieces
        logger.warning(said, n_used, len(devices), n_said, n_places)
    return devices[:n_used]


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _tell(worker: _Worker, message: object) -> None:
    """Send a line; that a worker is dead is heard from its own end."""
    with suppress(OSError):
        worker.input.write(json.dumps(message).encode() + b"\n")
        worker.input.flush()
