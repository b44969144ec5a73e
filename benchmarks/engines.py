"""What engines cost: trials of a few seconds here and on Ray, and how soon a long search resumes.

Usage: python benchmarks/engines.py [SECONDS_OF_A_TRIAL]
"""

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from interstellar.architecture.search_space import SearchSpace
from interstellar.engine.engine import Engine, OnProgress, Plain, ThisProcess, Workbench
from interstellar.engine.local_processes import LocalProcesses
from interstellar.engine.ray_cluster import join_cluster
from interstellar.records.journal import Journal
from interstellar.runs.search_plan import Budget
from interstellar.searching.random_search import RandomSearch
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.trial import TrialResult

N_WORKERS, N_PIECES = 2, 8
N_TRIALS = 10_000
EPOCHS = 9


def build_sleeping(told: Plain, device: str) -> Workbench:
    """Sleep as long as a trial takes: what else passes is the engine's."""
    del device

    def sleep(work: Plain, on_progress: OnProgress) -> Plain:
        del work, on_progress
        time.sleep(told["seconds"])
        return {}

    return sleep


def measure(engine: Engine) -> tuple[float, float]:
    """Return the seconds until the first piece has ended, and those of all after it."""
    begun = time.perf_counter()
    engine.start(0, {})
    engine.wait()
    first = time.perf_counter()
    n_started = n_done = 0
    while n_done < N_PIECES:
        while engine.n_free and n_started < N_PIECES:
            n_started += 1
            engine.start(n_started, {})
        n_done += len(engine.wait())
    return first - begun, time.perf_counter() - first


def measure_resume(folder: Path) -> tuple[float, float]:
    """Return the seconds to read a journal of many trials again, at once and a second time."""

    def train(work: Plain, _: OnProgress) -> Plain:
        score = (work["number"] * 7919 % 1000) / 1000
        curve = [score] * EPOCHS
        return TrialResult(score=score, curve=curve, epochs=EPOCHS, best_epoch=EPOCHS).as_plain()

    def open_loop(journal: Journal) -> SearchLoop:
        strategy, rungs = RandomSearch(SearchSpace(), 1), Rungs((EPOCHS,), 1)
        return SearchLoop(strategy, journal, Budget(trials=N_TRIALS), rungs=rungs, known={})

    seconds = []
    for is_first in (True, False, False):
        with Journal.open(folder / "journal") as journal:
            begun = time.perf_counter()
            loop = open_loop(journal)
            seconds.append(time.perf_counter() - begun)
            if is_first:
                loop.run(ThisProcess(train))
    return seconds[1], seconds[2]


def main(seconds: float) -> None:
    """Measure and print."""
    # Workers import what they do by its name, which is not that of the program that is run.
    from engines import build_sleeping as build  # noqa: PLC0415

    told = {"seconds": seconds}
    ideal = N_PIECES / N_WORKERS * seconds
    with closing(LocalProcesses(build, told, ["cpu"] * N_WORKERS)) as local:
        first, others = measure(local)
    print(f"local: first {first:.2f} s, {N_PIECES} others {others / ideal:.3f} times the ideal")

    from interstellar.engine.ray_tasks import RayTasks  # noqa: PLC0415

    begun = time.perf_counter()
    cluster = join_cluster()
    started = time.perf_counter() - begun
    with closing(RayTasks(build, told, cluster, device="cpu", n_workers=N_WORKERS)) as tasks:
        first, others = measure(tasks)
    print(
        f"ray: start {started:.2f} s, first {first:.2f} s, "
        f"{N_PIECES} others {others / ideal:.3f} times the ideal"
    )
    with tempfile.TemporaryDirectory() as folder:
        once, again = measure_resume(Path(folder))
    print(f"resume of {N_TRIALS} trials: {once:.2f} s and {again:.2f} s")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
