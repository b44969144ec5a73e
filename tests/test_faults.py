"""Searches that are disturbed at random moments: nothing is lost, and nothing counts twice.

`make faults` runs all, in under ten minutes; `make test` two of them. The seed of each is in its
name, and how many faults there were is said at the end.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from interstellar.engine.engine import Plain
from interstellar.runs.search_plan import Budget
from tests.disturbed_search import N_TRIALS, SPACE, Fault, strategy_for
from tests.searching.fake_workbench import (
    RUNGS,
    WHOLE,
    FakeWorkbench,
    events_of,
    lasting,
    run_loop,
)

ROOT = Path(__file__).parents[1]
PROGRAM = "from tests.disturbed_search import run; run()"
N_FAULTY = 12
"""Of the trials of each search."""
N_KILLS = 2
"""Of the search itself."""
SEEDS = range(18)
LEAST_FAULTS = 200


@pytest.fixture(scope="module")
def injected(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """The faults of all searches by their kinds; they are said at the end."""
    counts: Counter[str] = Counter()
    yield counts
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stderr.write(f"\n{counts.total()} faults were injected: {kinds}\n")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_a_disturbed_search_is_the_search_that_was_not(
    tmp_path: Path, injected: Counter[str], seed: int
) -> None:
    injected += disturb(tmp_path, seed)

    assert_undisturbed(tmp_path, seed)


@pytest.mark.faults
@pytest.mark.parametrize("seed", SEEDS)
def test_a_search_disturbed_at_more_moments_is_the_search_that_was_not(
    tmp_path: Path, injected: Counter[str], seed: int
) -> None:
    injected += disturb(tmp_path, seed)

    assert_undisturbed(tmp_path, seed)


@pytest.mark.faults
def test_there_were_faults_enough_and_of_every_kind(injected: Counter[str]) -> None:
    """Of the searches above, which must have run in this process."""
    if not injected:
        pytest.skip("the searches ran elsewhere")

    assert injected.total() >= LEAST_FAULTS
    assert set(injected) == {*Fault, "killed search", "full disk"}


def disturb(folder: Path, seed: int) -> Counter[str]:
    """Run a search to its end, however often it must be begun; return what happened to it."""
    rng = random.Random(seed)
    faults = {number: rng.choice(list(Fault)) for number in rng.sample(range(N_TRIALS), N_FAULTY)}
    counts: Counter[str] = Counter()
    for _ in range(N_KILLS):
        with start(folder, seed, faults) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(1, 6))
            counts["killed search"] += process.poll() is None
            process.kill()
    with start(folder, seed, faults, room_at=rng.randrange(2 * N_TRIALS)) as process:
        said = wait_for(process)
        is_full = process.returncode == 1 and "error: " in said and "Traceback" not in said
        counts["full disk"] += is_full
        assert is_full or process.returncode == 0, said
    with start(folder, seed, faults) as process:
        said = wait_for(process)
        assert process.returncode == 0, said
    for marker in folder.glob("fault-*"):
        counts[faults[int(marker.name.removeprefix("fault-"))]] += 1
        end_stopped(int(marker.read_text()))
    return counts


def start(
    folder: Path, seed: int, faults: dict[int, Fault], room_at: int | None = None
) -> subprocess.Popen[str]:
    told: Plain = {"folder": str(folder), "faults": faults}
    asked = {"folder": str(folder), "told": told, "n_workers": 1 + seed % 2, "room_at": room_at}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(asked)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str]) -> str:
    """Return what a program says until its end; one that does not end is killed."""
    try:
        return process.communicate(timeout=120)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def end_stopped(pid: int) -> None:
    """End a worker that was stopped when its search was killed, and so cannot end by itself."""
    with suppress(OSError):
        if b"interstellar.engine.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def assert_undisturbed(folder: Path, seed: int) -> None:
    """Compare the ends in a journal with those of the same search, undisturbed, in one process."""
    n_workers = 1 + seed % 2
    budget, rungs = Budget(trials=N_TRIALS), RUNGS if n_workers == 1 else WHOLE
    workbench = FakeWorkbench(SPACE, n_failing=10)
    whole, disturbed = folder / "whole", folder / "journal"
    run_loop(whole, strategy_for(n_workers), workbench, budget, rungs=rungs)

    ends = [lasting(path) for path in (disturbed, whole)]
    if n_workers > 1:
        ends = [sorted(each, key=lambda end: str(end["number"])) for each in ends]
    assert ends[0] == ends[1]
    begun = [len(events_of(path, "proposed")) for path in (disturbed, whole)]
    assert begun[0] == begun[1]
