"""Work done by several processes: none of it is lost when one of them dies."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from interstellar.engine.engine import BuildWorkbench, Done, Plain
from interstellar.engine.local_processes import (
    MAX_TRIES,
    LocalProcesses,
    count_cores,
    limit_workers,
)
from interstellar.errors import InterstellarError
from tests.engine.workbenches import (
    build_counting_threads,
    build_doubling,
    build_faulty,
    build_forgetful,
    build_garbling,
    build_mortal,
    build_refusing,
    build_reporting,
    build_stuck,
    build_talking,
    build_waiting,
)

ROOT = Path(__file__).parents[2]

ABANDONED_PROGRAM = """
import sys, time
from interstellar.engine.local_processes import LocalProcesses
from tests.engine import workbenches

engine = LocalProcesses(getattr(workbenches, sys.argv[2]), {"folder": sys.argv[1]}, ["cpu"])
engine.start(0, {"x": 0})
time.sleep(600)
"""

UNGUARDED_PROGRAM = """
print("begun")
from interstellar.engine.local_processes import LocalProcesses
from tests.engine.workbenches import build_doubling

engine = LocalProcesses(build_doubling, {}, ["cpu", "cpu"])
for number in range(2):
    engine.start(number, {"x": number})
print(sorted(done.outcome["doubled"] for _ in range(2) for done in engine.wait()))
engine.close()
"""


@contextmanager
def opened(
    build: BuildWorkbench, told: Plain, devices: Sequence[str], n_pieces: int | None = None
) -> Iterator[LocalProcesses]:
    engine = LocalProcesses(build, told, devices, n_pieces)
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


def test_who_waits_is_told_how_far_the_pieces_are() -> None:
    told: list[tuple[int, float, int, float | None]] = []

    with opened(build_reporting, {}, ["cpu"]) as engine:
        engine.start(4, {"number": 4})
        done = engine.wait(on_progress=lambda *progress: told.append(progress))

    assert done == [Done(4, {})]
    assert told == [(4, 1, 2, None), (4, 2, 2, 0.5)]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_workers_share_the_cores_evenly_whatever_threads_we_use_ourselves(
    n_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    n_cores = count_cores()

    with opened(build_counting_threads, {}, ["cpu"] * n_workers) as engine:
        engine.start(0, {})

        assert engine.wait() == [Done(0, {"threads": max(1, n_cores // n_workers)})]


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

    died = "its worker died (exit code -9)"
    assert done[0] == Done(0, None, f"given up after {MAX_TRIES} tries: {died}")
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


@pytest.mark.parametrize("build", ["build_waiting", "build_importing"])
def test_workers_at_work_or_importing_end_with_the_process_that_started_them(
    tmp_path: Path, build: str
) -> None:
    """They hold its standard error, which therefore ends only with the last of them."""
    with subprocess.Popen(
        [sys.executable, "-c", ABANDONED_PROGRAM, str(tmp_path), build],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_file(tmp_path, "piece-0.*")

        process.kill()
        process.communicate(timeout=10)

    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("is_file", [True, False])
def test_a_program_without_a_guard_or_a_file_is_not_run_again_by_its_workers(
    tmp_path: Path, is_file: bool
) -> None:
    program = tmp_path / "program.py"
    program.write_text(UNGUARDED_PROGRAM)

    done = subprocess.run(
        [sys.executable, str(program) if is_file else "-"],
        input="" if is_file else UNGUARDED_PROGRAM,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.splitlines() == ["begun", "[0, 2]"]


def test_what_a_workbench_prints_and_reads_does_not_disturb_the_work() -> None:
    with opened(build_talking, {}, ["cpu"]) as engine:
        engine.start(0, {"x": 1})

        assert engine.wait() == [Done(0, {"read": ""})]


def test_a_worker_that_hangs_is_ended_at_the_deadline_and_the_next_piece_is_done(
    tmp_path: Path,
) -> None:
    with opened(build_waiting, {"folder": str(tmp_path)}, ["cpu"]) as engine:
        engine.start(0, {"x": 0})
        hung = wait_for_file(tmp_path, "piece-0.*")
        os.kill(hung, signal.SIGSTOP)

        late = engine.wait(time.monotonic() + 0.1)

        assert [(done.number, done.outcome, done.is_late) for done in late] == [(0, None, True)]
        with pytest.raises(ProcessLookupError):
            os.kill(hung, 0)
        (tmp_path / "go").touch()
        engine.start(1, {"x": 1})
        assert engine.wait(time.monotonic() + 60) == [Done(1, {"doubled": 2})]


def test_a_worker_that_hangs_is_replaced_and_its_piece_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.engine.pulse.FROZEN_SECONDS", 0.2)
    monkeypatch.setattr("interstellar.engine.pulse.N_LONGEST", 2)
    with opened(build_waiting, {"folder": str(tmp_path)}, ["cpu"]) as engine:
        engine.start(0, {"x": 4})
        hung = wait_for_file(tmp_path, "piece-4.*")
        os.kill(hung, signal.SIGSTOP)
        (tmp_path / "go").touch()

        assert engine.wait() == [Done(0, {"doubled": 8})]

    assert len(list(tmp_path.glob("piece-4.*"))) == 2


def test_a_piece_that_hangs_every_time_is_given_up_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for what does not come, though its worker beats."""
    monkeypatch.setattr("interstellar.engine.pulse.IDLE_SECONDS", 2.0)
    monkeypatch.setattr("interstellar.engine.pulse.N_LONGEST", 1)
    with opened(build_stuck, {"folder": str(tmp_path)}, ["cpu"]) as engine:
        engine.start(0, {"x": 4})

        [done] = engine.wait()

    assert done.outcome is None
    assert done.failure is not None
    assert done.failure.startswith("given up after 2 tries: its worker hung (it did nothing for ")
    assert len(list(tmp_path.glob("piece-4.*"))) == MAX_TRIES


@pytest.mark.parametrize(("n_times", "n_workers"), [(1, 2), (2, 2)])
def test_a_worker_out_of_memory_gives_it_back_and_its_piece_is_tried_once_more(
    tmp_path: Path, n_times: int, n_workers: int
) -> None:
    told = {"folder": str(tmp_path), "n_times": n_times}
    with opened(build_forgetful, told, ["cpu"]) as engine:
        engine.start(0, {"x": 4})
        done = engine.wait()

    failure = "given up after 2 tries: its worker ran out of memory"
    assert done == [Done(0, {"doubled": 8}) if n_times == 1 else Done(0, None, failure)]
    assert len({path.suffix for path in tmp_path.glob("try-*")}) == n_workers


@pytest.mark.parametrize(
    "words", ["garbage", "[]", '{"outcome": 3}', '{"progress": [7, 1, 2]}', '{"beat": null}', ""]
)
def test_a_worker_that_says_what_is_no_answer_is_replaced_and_its_piece_done_again(
    tmp_path: Path, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(build_garbling, {"folder": str(tmp_path), "words": words}, ["cpu"]) as engine:
        engine.start(0, {"x": 4})

        assert engine.wait() == [Done(0, {"doubled": 8})]

    assert "said what is no answer and is replaced" in caplog.text


@pytest.mark.parametrize(
    ("n_asked", "n_pieces", "n_cores", "n_used"),
    [(1000, 1, 8, 1), (1000, None, 8, 8), (1000, 5, 8, 5), (3, 9, 8, 3), (4, 0, 8, 1)],
)
def test_no_more_workers_are_used_than_there_are_pieces_or_cores(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    n_asked: int,
    n_pieces: int | None,
    n_cores: int,
    n_used: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: n_cores)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(n_cores)), raising=False)

    with opened(build_doubling, {}, ["cpu"] * n_asked, n_pieces) as engine:
        assert engine.n_free == n_used

    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [f"{n_used} workers are used, not {n_asked}" in words for words in said] == (
        [True] if n_used < n_asked else []
    )


def test_every_card_has_a_worker_however_few_cores_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    assert limit_workers(["cuda:0", "cuda:1", "cuda:0"], 9) == ["cuda:0", "cuda:1"]


def test_a_worker_is_started_only_for_a_piece_of_work(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with opened(build_doubling, {}, ["cuda:0", "cuda:1"]) as engine:
        engine.start(0, {"x": 1})
        engine.wait()

    assert sum("is started on" in record.getMessage() for record in caplog.records) == 1


def test_workers_that_die_before_they_serve_end_the_work_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with opened(build_doubling, {}, ["cpu"]) as engine:
        engine.start(0, {"x": 1})

        with pytest.raises(
            InterstellarError, match=r"could not be started: it died \(exit code 1\) .*2 tries"
        ):
            engine.wait()
