"""Work done as tasks of a Ray cluster, on this machine or many.

What a workbench is built of is put into the cluster's object store once; each process of the
cluster that is given a piece builds its own and keeps it. A piece whose process or machine dies,
hangs (`pulse.py`) or runs out of memory is begun again elsewhere; the second time it is given up.
Which piece is next and what came of it is known only to this process.
"""

import logging
import math
import os
import signal
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, final

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from interstellar.engine.engine import (
    BuildWorkbench,
    Done,
    OnProgress,
    Plain,
    Workbench,
    ignore,
)
from interstellar.engine.local_processes import LOOK_UP_SECONDS, MAX_TRIES
from interstellar.engine.pulse import BEAT_SECONDS, Pulse
from interstellar.engine.ray_cluster import RayCluster, share_of
from interstellar.engine.worker import attempt
from interstellar.errors import InputError, InterstellarError

logger = logging.getLogger(__name__)

PLACE_SECONDS = 60.0
"""So long a task waits at most until it is known where it is."""


@dataclass(slots=True, eq=False)
class _Task:
    number: int
    work: Plain
    n_tries: int
    reference: Any
    """Of Ray, to what will come of it."""
    pulse: Pulse = field(default_factory=Pulse)
    place: tuple[str, int] | None = None
    """The machine and process that do it; None: it has not begun."""

    @property
    def key(self) -> tuple[int, int]:
        return self.number, self.n_tries

    def hear(self, word: Plain, on_progress: OnProgress) -> None:
        """Take note of a word of whoever does it."""
        match word:
            case {"place": (str(node), int(pid))}:
                self.place = node, pid
                self.pulse.begin()
            case {"beat": work_seconds}:
                self.pulse.beat(work_seconds)
            case {"progress": progress}:
                self.pulse.speak()
                on_progress(*progress)


@final
class RayTasks:
    """Spreads work over a cluster, each piece on a core or a share of a GPU."""

    def __init__(
        self,
        build: BuildWorkbench,
        told: Plain,
        cluster: RayCluster,
        *,
        device: str,
        n_workers: int,
    ) -> None:
        """Be ready; what is told may be anything that can be pickled."""
        cluster.join_again()
        share = share_of(cluster, device, n_workers)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._cluster = cluster
        self._n_workers = n_workers
        self._device = device
        self._begun = uuid.uuid4().hex, ray.put((build, told))
        # What Ray makes of functions and classes has a type that says too little to be of use.
        made: Any = ray.remote(num_cpus=0, max_restarts=-1)(Board)
        self._board: Any = made.options(scheduling_strategy=here).remote()
        made = ray.remote(max_retries=0, max_calls=0)(do_piece)
        self._do: Any = made.options(**share)
        self._kill: Any = ray.remote(num_cpus=0, max_retries=0)(kill_process)
        self._tasks: dict[Any, _Task] = {}

    @property
    def n_free(self) -> int:
        return self._n_workers - len(self._tasks)

    def start(self, number: int, work: Plain) -> None:
        self._begin(number, work, n_tries=1)

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        while deadline is None or time.monotonic() < deadline:
            left = math.inf if deadline is None else deadline - time.monotonic()
            listened, seconds = time.monotonic(), max(0.0, min(left, LOOK_UP_SECONDS))
            ready, _ = ray.wait(list(self._tasks), timeout=seconds)
            self._read_board(on_progress, min(seconds, time.monotonic() - listened))
            done = [self._take(self._tasks.pop(reference)) for reference in ready]
            for task in list(self._tasks.values()):
                fault = None if task.place is None else task.pulse.find_fault()
                if fault is not None:
                    done.append(self._try_again(self._end(task), f"its worker {fault}"))
            if ended := [piece for piece in done if piece is not None]:
                return ended
        late = [self._end(task) for task in list(self._tasks.values())]
        return [Done(task.number, None, "its time was up", is_late=True) for task in late]

    def close(self) -> None:
        for task in list(self._tasks.values()):
            self._end(task)
        ray.kill(self._board)
        self._cluster.leave()

    def _begin(self, number: int, work: Plain, n_tries: int) -> None:
        begun = list(self._begun)  # in a list, a reference is resolved only where it is asked for
        reference = self._do.remote(begun, work, (number, n_tries), self._board, self._device)
        self._tasks[reference] = _Task(number, work, n_tries, reference)

    def _read_board(self, on_progress: OnProgress, listened: float) -> None:
        """Take note of what was heard of the tasks meanwhile."""
        try:
            words = ray.get(self._board.read.remote(), timeout=10 * LOOK_UP_SECONDS)
        except RayError:  # it is started again
            return
        task_by_key = {task.key: task for task in self._tasks.values()}
        for task in self._tasks.values():
            task.pulse.listen(listened)
        for key, word in words:
            if key in task_by_key:
                task_by_key[key].hear(word, on_progress)

    def _take(self, task: _Task) -> Done | None:
        """Return what came of a task that has ended, unless it is begun again."""
        try:
            message = ray.get(task.reference)
        except RayError as fault:
            died = f"its worker or its machine died ({type(fault).__name__})"
            return self._try_again(task, died)
        match message:
            case {"outcome": dict() as outcome}:
                return Done(task.number, outcome)
            case {"error": str(error), "is_input": bool(is_input)}:
                raise (InputError if is_input else InterstellarError)(error)
            case {"lost": str(reason)}:
                return self._try_again(task, f"its worker {reason}")
            case _:
                return self._try_again(task, "its worker said what is no answer")

    def _try_again(self, task: _Task, why: str) -> Done | None:
        logger.warning("a piece of work is lost: %s", why)
        if task.n_tries < MAX_TRIES:
            self._begin(task.number, task.work, task.n_tries + 1)
            return None
        return Done(task.number, None, f"given up after {MAX_TRIES} tries: {why}")

    def _end(self, task: _Task) -> _Task:
        """End a task that has not ended; one that is frozen takes no order but the system's."""
        self._tasks.pop(task.reference, None)
        with suppress(RayError):
            ray.cancel(task.reference, force=True)
        if task.place is not None:
            node, pid = task.place
            place = NodeAffinitySchedulingStrategy(node, soft=False)
            with suppress(RayError):
                killed = self._kill.options(scheduling_strategy=place).remote(pid)
                ray.wait([killed], timeout=10 * LOOK_UP_SECONDS)
        return task


@final
class Board:
    """Where tasks write how far they are, and the search reads it: a process of its own."""

    def __init__(self) -> None:
        self._words: list[tuple[tuple[int, int], Plain]] = []

    def write(self, key: tuple[int, int], word: Plain) -> None:
        """Add a word of a task."""
        self._words.append((key, word))

    def read(self) -> list[tuple[tuple[int, int], Plain]]:
        """Return what was written since it was last read."""
        words, self._words = self._words, []
        return words


_BUILT: dict[str, Workbench] = {}
"""The workbench of this process, by the mark of its search."""


def do_piece(begun: list[Any], work: Plain, key: tuple[int, int], board: Any, device: str) -> Plain:
    """Do a piece of work in a process of the cluster, and say meanwhile that it is there."""
    has_ended = threading.Event()

    def tell(word: Plain) -> None:
        board.write.remote(key, word)

    def beat() -> None:
        while not has_ended.wait(BEAT_SECONDS):
            tell({"beat": time.process_time()})

    place = ray.get_runtime_context().get_node_id(), os.getpid()
    with suppress(RayError):  # waited for: who freezes before it is heard would never be missed
        ray.get(board.write.remote(key, {"place": place}), timeout=PLACE_SECONDS)
    tell({"beat": time.process_time()})
    threading.Thread(target=beat, daemon=True).start()
    try:
        return attempt(
            lambda: _workbench_of(begun, device),
            work,
            lambda *progress: tell({"progress": progress}),
        )
    finally:
        has_ended.set()


def _workbench_of(begun: list[Any], device: str) -> Workbench:
    """Return this process' workbench for a search; it keeps one."""
    mark, reference = begun
    if mark not in _BUILT:
        build, told = ray.get(reference)
        _BUILT.clear()
        _BUILT[mark] = build(told, device)
    return _BUILT[mark]


def kill_process(pid: int) -> None:
    """End a process of this machine that is at a task, at once."""
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
