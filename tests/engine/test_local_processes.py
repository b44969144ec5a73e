"""Work done by several processes: none of it is lost when one of them dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from interstellar.engine.engine import BuildWorkbench, Done, Plain
from interstellar.engine.local_processes import MAX_TRIES, LocalProcesses
from interstellar.errors import InterstellarError
from tests.engine.workbenches import (
    build_doubling,
    build_faulty,
    build_mortal,
    build_refusing,
    build_waiting,
)

ABANDONED_PROGRAM = """
import sys, time
from interstellar.engine.local_processes import LocalProcesses
from tests.engine.workbenches import build_waiting

if __name__ == "__main__":
    engine = LocalProcesses(build_waiting, {"folder": sys.argv[1]}, ["cpu", "cpu"])
    engine.start(0, {"x": 0})
    time.sleep(600)
"""


@contextmanager
def opened(build: BuildWorkbench, told: Plain, devices: Sequence[str]) -> Iterator[LocalProcesses]:
    engine = LocalProcesses(build, told, devices)
    try:
        yield engine
    finally:
        engine.close()


def wait_for_all(engine: LocalProcesses, n: int) -> list[Done]:
    done: list[Done] = []
    while len(done) < n:
        done += engine.wait()
    return sorted(done, key=lambda piece: piece.number)


def wait_for_file(folder: Path, pattern: str) -> int:
    """Return the process id in the name of the file that a waiting workbench writes."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if found := sorted(folder.glob(pattern)):
            return int(found[0].suffix.removeprefix("."))
        time.sleep(0.01)
    raise TimeoutError(pattern)


def test_work_is_spread_over_workers_that_are_built_once() -> None:
    told = {"seed": 3, "words": ["ä", None]}

    with opened(build_doubling, told, ["cpu", "cpu"]) as engine:
        n_free = [engine.n_free]
        for number in range(2):
            engine.start(number, {"x": number + 0.1})
            n_free.append(engine.n_free)
        first = wait_for_all(engine, 2)
        engine.start(2, {"x": 9})
        [third] = engine.wait()

    outcomes = [done.outcome for done in (*first, third) if done.outcome is not None]
    assert n_free == [2, 1, 0]
    assert [outcome["doubled"] for outcome in outcomes] == [0.2, 2.2, 18]
    assert all(outcome["told"] == told for outcome in outcomes)
    assert len({outcome["pid"] for outcome in outcomes} | {os.getpid()}) == 3
    assert [outcome["nth"] for outcome in outcomes] == [1, 1, 2]
    assert {outcome["threads"] for outcome in outcomes} == {max(1, (os.cpu_count() or 1) // 2)}


def test_each_worker_has_the_device_that_it_was_given() -> None:
    """Nothing is computed on the cards here, so there need be none."""
    with opened(build_doubling, {}, ["cuda:0", "cuda:1"]) as engine:
        for number in range(2):
            engine.start(number, {"x": 1})
        done = wait_for_all(engine, 2)

    outcomes = [piece.outcome for piece in done if piece.outcome is not None]
    assert [outcome["device"] for outcome in outcomes] == ["cuda:0", "cuda:1"]


def test_the_piece_of_a_worker_that_was_killed_is_done_again(tmp_path: Path) -> None:
    with opened(build_waiting, {"folder": str(tmp_path)}, ["cpu", "cpu"]) as engine:
        for number in range(2):
            engine.start(number, {"x": number})
        os.kill(wait_for_file(tmp_path, "piece-0.*"), signal.SIGKILL)
        (tmp_path / "go").touch()

        done = wait_for_all(engine, 2)

    assert done == [Done(0, {"doubled": 0}), Done(1, {"doubled": 2})]
    assert len(list(tmp_path.glob("piece-0.*"))) == 2


def test_a_worker_that_was_killed_while_idle_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    with opened(build_waiting, {"folder": str(tmp_path)}, ["cpu"]) as engine:
        engine.start(0, {"x": 0})
        engine.wait()
        os.kill(wait_for_file(tmp_path, "piece-0.*"), signal.SIGKILL)
        engine.start(1, {"x": 1})

        assert engine.wait() == [Done(1, {"doubled": 2})]


def test_a_piece_that_kills_its_worker_is_given_up_with_the_reason_and_others_are_done() -> None:
    with opened(build_mortal, {}, ["cpu", "cpu"]) as engine:
        engine.start(0, {"x": -1})
        engine.start(1, {"x": 1})
        done = wait_for_all(engine, 2)
        engine.start(2, {"x": 2})
        engine.start(3, {"x": 3})
        done += wait_for_all(engine, 2)

    assert done[0] == Done(0, None, f"its worker died {MAX_TRIES} times (exit code -9)")
    assert done[1:] == [Done(x, {"doubled": 2 * x}) for x in (1, 2, 3)]


def test_a_fault_in_the_program_ends_the_work_and_is_named() -> None:
    with opened(build_faulty, {}, ["cpu"]) as engine:
        engine.start(0, {"x": 0})

        with pytest.raises(InterstellarError, match="fault in the program: ZeroDivisionError"):
            engine.wait()


@pytest.mark.parametrize("is_input", [True, False])
def test_a_workbench_that_cannot_be_built_ends_the_work_with_its_error(is_input: bool) -> None:
    with opened(build_refusing, {"is_input": is_input}, ["cpu"]) as engine:
        engine.start(0, {})

        with pytest.raises(InterstellarError) as refusal:
            engine.wait()

    exit_code, words = (2, "cpu is not for this.") if is_input else (1, "did not arrive")
    assert refusal.value.exit_code == exit_code
    assert words in str(refusal.value)


def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    """They hold its standard output, which therefore ends only with the last of them."""
    with subprocess.Popen(
        [sys.executable, "-c", ABANDONED_PROGRAM, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_file(tmp_path, "piece-0.*")

        process.kill()
        process.communicate(timeout=30)

    assert process.returncode == -signal.SIGKILL
