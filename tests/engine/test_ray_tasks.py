"""Work done on a Ray cluster: none of it is lost when a process or a machine dies."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interstellar.engine.engine import BuildWorkbench, Done, Plain
from interstellar.engine.ray_cluster import RayCluster, join_cluster
from interstellar.errors import InterstellarError
from tests.engine.workbenches import (
    build_doubling,
    build_forgetful,
    build_mortal,
    build_refusing,
    build_reporting,
    build_waiting,
)

ray: Any = pytest.importorskip("ray")
cluster_utils: Any = pytest.importorskip("ray.cluster_utils")

from interstellar.engine.ray_tasks import RayTasks  # noqa: E402

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    # Ray's own, at its start and end
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """Two machines of a core each, both of them this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'src'}")
        started = cluster_utils.Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 1, "include_dashboard": False},
        )
        started.add_node(num_cpus=1)
        yield started
        ray.shutdown()
        started.shutdown()


@pytest.fixture(scope="module")
def cluster(machines: Any) -> RayCluster:
    ray.init(address=machines.address, log_to_driver=False, logging_level="error")
    return join_cluster()


@contextmanager
def opened(
    cluster: RayCluster, build: BuildWorkbench, told: Plain, n_workers: int = 1
) -> Iterator[RayTasks]:
    engine = RayTasks(build, told, cluster, device="cpu", n_workers=n_workers)
    try:
        yield engine
    finally:
        engine.close()


def wait_for_all(engine: RayTasks, n: int) -> list[Done]:
    done: list[Done] = []
    while len(done) < n:
        done += engine.wait(time.monotonic() + 400)
    return sorted(done, key=lambda piece: piece.number)


def wait_for_file(folder: Path, pattern: str) -> int:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if found := sorted(folder.glob(pattern)):
            return int(found[0].suffix.removeprefix("."))
        time.sleep(0.01)
    raise TimeoutError(pattern)


def wait_for_a_death(processes: Sequence[int]) -> None:
    give_up = time.monotonic() + 60
    while all(Path(f"/proc/{pid}").exists() for pid in processes):
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_whoever_takes_part_in_a_cluster_uses_it_and_stays(cluster: RayCluster) -> None:
    assert cluster == RayCluster(n_cpus=2, n_gpus=0, is_joined=False)


def test_work_is_spread_over_processes_that_are_built_once(cluster: RayCluster) -> None:
    with opened(cluster, build_doubling, {"seed": 3}, n_workers=2) as engine:
        n_free = [engine.n_free]
        for number in range(2):
            engine.start(number, {"x": number + 0.1})
            n_free.append(engine.n_free)
        done = wait_for_all(engine, 2)
        for number in range(2, 8):
            engine.start(number, {"x": number})
            done += wait_for_all(engine, 1)

    outcomes = [piece.outcome for piece in done if piece.outcome is not None]
    assert n_free == [2, 1, 0]
    assert [outcome["doubled"] for outcome in outcomes] == [0.2, 2.2, 4, 6, 8, 10, 12, 14]
    assert all(outcome["told"] == {"seed": 3} for outcome in outcomes)
    assert max(outcome["nth"] for outcome in outcomes) > 1


def test_who_waits_is_told_how_far_the_pieces_are(cluster: RayCluster) -> None:
    told: list[tuple[int, float, int, float | None]] = []

    with opened(cluster, build_reporting, {}) as engine:
        engine.start(4, {"number": 4})
        done = engine.wait(on_progress=lambda *progress: told.append(progress))

    assert done == [Done(4, {})]
    both = [(4, 1, 2, None), (4, 2, 2, 0.5)]
    assert told in ([], both[:1], both)  # it is looked up each second


def test_the_piece_of_a_process_that_was_killed_is_done_again(
    cluster: RayCluster, tmp_path: Path
) -> None:
    with opened(cluster, build_waiting, {"folder": str(tmp_path)}, n_workers=2) as engine:
        for number in range(2):
            engine.start(number, {"x": number})
        os.kill(wait_for_file(tmp_path, "piece-0.*"), signal.SIGKILL)
        (tmp_path / "go").touch()

        done = wait_for_all(engine, 2)

    assert done == [Done(0, {"doubled": 0}), Done(1, {"doubled": 2})]
    assert len(list(tmp_path.glob("piece-0.*"))) == 2


def test_a_piece_that_kills_its_process_is_given_up_and_others_are_done(
    cluster: RayCluster,
) -> None:
    with opened(cluster, build_mortal, {}, n_workers=2) as engine:
        engine.start(0, {"x": -1})
        engine.start(1, {"x": 1})
        done = wait_for_all(engine, 2)

    died = "its worker or its machine died (WorkerCrashedError)"
    assert done == [Done(0, None, f"given up after 2 tries: {died}"), Done(1, {"doubled": 2})]


@pytest.mark.parametrize("n_times", [1, 2])
def test_a_process_out_of_memory_has_its_piece_tried_once_more(
    cluster: RayCluster, tmp_path: Path, n_times: int
) -> None:
    with opened(cluster, build_forgetful, {"folder": str(tmp_path), "n_times": n_times}) as engine:
        engine.start(0, {"x": 4})
        done = wait_for_all(engine, 1)

    failure = "given up after 2 tries: its worker ran out of memory"
    assert done == [Done(0, {"doubled": 8}) if n_times == 1 else Done(0, None, failure)]


def test_a_process_that_hangs_is_ended_and_its_piece_done_again(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interstellar.engine.pulse.FROZEN_SECONDS", 6.0)
    monkeypatch.setattr("interstellar.engine.pulse.STARTING_SECONDS", 50.0)  # its beat may be late
    monkeypatch.setattr("interstellar.engine.pulse.N_LONGEST", 2)
    with opened(cluster, build_waiting, {"folder": str(tmp_path)}) as engine:
        engine.start(0, {"x": 4})
        hung = wait_for_file(tmp_path, "piece-4.*")
        time.sleep(0.5)
        os.kill(hung, signal.SIGSTOP)
        (tmp_path / "go").touch()

        assert wait_for_all(engine, 1) == [Done(0, {"doubled": 8})]

    wait_for_a_death([hung])


def test_at_the_deadline_what_is_under_way_is_ended_and_the_next_is_done(
    cluster: RayCluster, tmp_path: Path
) -> None:
    with opened(cluster, build_waiting, {"folder": str(tmp_path)}) as engine:
        engine.start(0, {"x": 0})
        wait_for_file(tmp_path, "piece-0.*")

        late = engine.wait(time.monotonic() + 0.1)

        assert [(done.number, done.outcome, done.is_late) for done in late] == [(0, None, True)]
        (tmp_path / "go").touch()
        engine.start(1, {"x": 1})
        assert wait_for_all(engine, 1) == [Done(1, {"doubled": 2})]


@pytest.mark.parametrize("is_input", [True, False])
def test_a_workbench_that_cannot_be_built_ends_the_work_with_its_error(
    cluster: RayCluster, is_input: bool
) -> None:
    with opened(cluster, build_refusing, {"is_input": is_input}) as engine:
        engine.start(0, {})

        with pytest.raises(InterstellarError) as refusal:
            engine.wait()

    assert refusal.value.exit_code == (2 if is_input else 1)


def test_the_pieces_of_a_machine_that_dies_are_done_elsewhere(
    machines: Any, cluster: RayCluster, tmp_path: Path
) -> None:
    """Each of three machines has a piece, and one of them goes."""
    doomed = machines.add_node(num_cpus=1)
    machines.wait_for_nodes()
    three = replace(cluster, n_cpus=3)
    with opened(three, build_waiting, {"folder": str(tmp_path)}, n_workers=3) as engine:
        for number in range(3):
            engine.start(number, {"x": number})
        workers = [wait_for_file(tmp_path, f"piece-{number}.*") for number in range(3)]
        machines.remove_node(doomed, allow_graceful=False)
        wait_for_a_death(workers)
        (tmp_path / "go").touch()

        done = wait_for_all(engine, 3)

    assert done == [Done(number, {"doubled": 2 * number}) for number in range(3)]
    assert len(list(tmp_path.glob("piece-*"))) == 4
