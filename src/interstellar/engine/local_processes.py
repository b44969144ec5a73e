"""Work done by several processes of this machine, each with a GPU or a share of the cores.

Each worker builds its workbench once and then does one piece after another (`worker.py`); it is
started when there is a piece for it. A worker that dies, hangs (`pulse.py`), runs out of memory or
says what is no answer is replaced, and its piece begun again; the second time the piece is given up
with the reason. Workers end when this process ends, however it ends.
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
from dataclasses import dataclass, field
from functools import partial
from typing import IO, final

from interstellar.engine.engine import BuildWorkbench, Done, OnProgress, Plain, ignore
from interstellar.engine.pulse import Pulse
from interstellar.engine.worker import START, read_answer
from interstellar.errors import InputError, InterstellarError

MAX_TRIES = 2
LOOK_UP_SECONDS = 1.0
DYING_SECONDS = 5.0
MAX_LINE_BYTES = 2**26

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
    pulse: Pulse = field(default_factory=Pulse)

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
        self._has_served = False  # whether any worker has ever said that it is there
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
        while self._workers:
            self._end(self._workers[0])

    def _begin(self, piece: _Piece) -> None:
        """Give a piece to a worker without one, or to a new one."""
        idle = (worker for worker in self._workers if worker.piece is None)
        worker = next(idle, None) or self._hire()
        worker.piece = piece
        worker.pulse.begin()
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
            for line in iter(partial(lines.readline, MAX_LINE_BYTES), b""):
                self._heard.put((worker, line))
        self._heard.put((worker, b""))

    def _hear(self, deadline: float | None, on_progress: OnProgress) -> Done | None:
        """Return the piece that has ended with what is heard next, if anything has."""
        seconds = math.inf if deadline is None else deadline - time.monotonic()
        listened = time.monotonic()
        try:  # now and then look up, since Ctrl-C does not end the waiting everywhere
            heard = self._heard.get(timeout=max(0.0, min(seconds, LOOK_UP_SECONDS)))
        except queue.Empty:
            heard = None
        busy = [worker for worker in self._workers if worker.piece is not None]
        for worker in busy:
            worker.pulse.listen(min(LOOK_UP_SECONDS, time.monotonic() - listened))
        if heard is not None and heard[0] in self._workers:  # not the last words of the dead
            done = self._understand(*heard, on_progress)
            if done is not None:
                return done
        for worker in busy:  # those that still are
            fault = worker.pulse.find_fault() if worker in self._workers and worker.piece else None
            if fault is not None:
                return self._replace(worker, fault)
        return None

    def _understand(self, worker: _Worker, line: bytes, on_progress: OnProgress) -> Done | None:
        if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(DYING_SECONDS)
            return self._replace(worker, f"died (exit code {worker.process.returncode})")
        match read_answer(line, None if worker.piece is None else worker.piece.number):
            case {"beat": work_seconds}:
                self._has_served = True
                worker.pulse.beat(work_seconds)
            case {"progress": progress}:
                worker.pulse.speak()
                on_progress(*progress)
            case {"error": error, "is_input": is_input}:
                raise (InputError if is_input else InterstellarError)(error)
            case {"outcome": outcome}:
                piece, worker.piece = worker.piece, None
                assert piece is not None, "so it is read"
                return Done(piece.number, outcome)
            case {"lost": reason}:
                return self._replace(worker, reason)
            case _:
                return self._replace(worker, "said what is no answer")
        return None

    def _replace(self, worker: _Worker, why: str) -> Done | None:
        """Begin the piece of a worker that is ended again; return it where it is given up."""
        self._end(worker)
        piece = worker.piece
        logger.warning("worker %d %s and is replaced", worker.process.pid, why)
        if piece is None:
            return None
        if piece.n_tries < MAX_TRIES:
            self._begin(piece)
            return None
        if not self._has_served:
            raise InterstellarError(
                f"a worker could not be started: it {why} before its first piece of work, in "
                f"{MAX_TRIES} tries. Standard error has its last words; a machine without free "
                "memory is the usual reason, and fewer workers the remedy."
            )
        return Done(piece.number, None, f"given up after {MAX_TRIES} tries: its worker {why}")

    def _give_up_late(self) -> list[Done]:
        late = []
        for worker in list(self._workers):
            if worker.piece is not None:
                pid = worker.process.pid
                logger.warning("worker %d has not answered in time and is ended", pid)
                self._end(worker)
                late.append(Done(worker.piece.number, None, "its time was up", is_late=True))
        return late

    def _end(self, worker: _Worker) -> None:
        """End a worker, unless it has ended; its device is free again."""
        self._workers.remove(worker)
        self._free_devices.append(worker.device)
        worker.process.kill()
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
