"""A search whose workers are disturbed as it is told: a program, so that it can be killed too."""

import json
import os
import resource
import signal
import stat
import sys
import threading
import time
from contextlib import closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from interstellar.architecture.search_space import SearchSpace, Subspace
from interstellar.engine import pulse, worker
from interstellar.engine.engine import Engine, OnProgress, Plain, Workbench
from interstellar.engine.local_processes import LocalProcesses
from interstellar.errors import InterstellarError
from interstellar.records.journal import Journal
from interstellar.runs.search_plan import Budget
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.reinforce import ReinforceSearch
from interstellar.searching.strategy import FirstRung, SearchStrategy
from tests.searching.fake_workbench import RUNGS, WHOLE, FakeWorkbench, open_loop

N_TRIALS = 24
SPACE = SearchSpace(Subspace.P1)  # small enough that networks come again
A_DAY = 86_400.0


class Fault(StrEnum):
    """What can happen to a worker at a trial."""

    KILL = "kill"
    EXIT = "exit"
    HANG = "hang"
    """The whole process is stopped."""
    STUCK = "stuck"
    """It waits for what does not come, though it beats."""
    GARBAGE = "garbage"
    """It gives back what is no result."""
    NOISE = "noise"
    """It says what is no answer."""
    MEMORY = "memory"
    CLOCK = "clock"
    """The time of day jumps."""
    SLOW = "slow"


def build_disturbed(told: Plain, device: str) -> Workbench:
    """Do as the fake workbench, but meet the faults that are told, each once."""
    del device
    worker.BEAT_SECONDS = 0.1  # type: ignore[attr-defined]
    do = FakeWorkbench(SPACE, n_failing=10)
    folder, faults = Path(told["folder"]), told["faults"]

    def do_or_fail(work: Plain, on_progress: OnProgress) -> Plain:
        fault = faults.get(str(work["number"]))
        if fault is not None and _is_new(folder / f"fault-{work['number']}"):
            garbage = meet(Fault(fault))
            if garbage is not None:
                return garbage
        return do(work, on_progress)

    return do_or_fail


def meet(fault: Fault) -> Plain | None:
    """Let a fault happen to this process; return what it gives back, if that is the fault."""
    now = time.time()
    match fault:
        case Fault.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        case Fault.EXIT:
            os._exit(3)
        case Fault.HANG:
            os.kill(os.getpid(), signal.SIGSTOP)
        case Fault.STUCK:
            threading.Event().wait()
        case Fault.GARBAGE:
            return {"score": "?"}
        case Fault.NOISE:
            for descriptor in range(3, 10):  # the copy of standard output is among them
                with suppress(OSError):
                    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                        os.write(descriptor, b"\xff{]\n")
        case Fault.MEMORY:
            raise MemoryError
        case Fault.CLOCK:
            time.time = lambda: now - A_DAY
        case Fault.SLOW:
            time.sleep(0.5)
        case _:
            assert_never(fault)
    return None


def _is_new(marker: Path) -> bool:
    """Return whether there was no such file, and write it, with the number of this process."""
    try:
        with marker.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


def strategy_for(n_workers: int) -> SearchStrategy:
    """Return one that learns, but for several workers one whose proposals are always the same."""
    return FirstRung((ReinforceSearch if n_workers == 1 else RandomSearch)(SPACE, 1))


def main(folder: Path, told: Plain, n_workers: int, room_at: int | None) -> None:
    """Begin a search or go on with it; after so many events its disk is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    pulse.FROZEN_SECONDS, pulse.IDLE_SECONDS, pulse.N_LONGEST = 3.0, 4.0, 2
    engine: Engine = LocalProcesses(build_disturbed, told, ["cpu"] * n_workers)
    with Journal.open(folder / "journal") as journal, closing(engine):
        loop = open_loop(
            journal,
            strategy_for(n_workers),
            Budget(trials=N_TRIALS),
            rungs=RUNGS if n_workers == 1 else WHOLE,
            on_change=lambda _: _fill_disk(journal, room_at),
        )
        loop.run(engine)


def _fill_disk(journal: Journal, room_at: int | None) -> None:
    if room_at is not None and len(journal.events()) >= room_at:
        size = journal.path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))


def run() -> None:
    """Do as the first argument says."""
    asked = json.loads(sys.argv[1])
    try:
        main(Path(asked["folder"]), asked["told"], asked["n_workers"], asked["room_at"])
    except InterstellarError as error:
        sys.exit(f"error: {error}")
