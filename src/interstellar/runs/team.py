"""Processes of this machine that train one network together: started, joined and ended.

This process leads; the others (`team_member.py`) are started by it and end with it, however it
ends. They meet in a folder that only this user can read, and talk over the loopback interface.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from interstellar.data.graph import KnowledgeGraph
from interstellar.device import is_out_of_memory
from interstellar.errors import InputError, InterstellarError, SettingsError, TrainingError
from interstellar.model.path_network import PathNetwork
from interstellar.model.propagation_network import PropagationNetwork
from interstellar.rivals.network import Network
from interstellar.runs.experiment import Experiment, experiment_text
from interstellar.tasks.task import Task
from interstellar.training.exchange import Exchange, Guard, Interrupts
from interstellar.training.loop import BeginState
from interstellar.training.settings import ModelKind, Precision, TrainingSettings
from interstellar.training.sharded_state import ShardedState, spread
from interstellar.training.split_batch import begin_split

SILENCE = timedelta(hours=2)
"""Longer than anything that the leader does by itself; whoever waits so long gives up."""
MOST_ON_CPU = 16
"""Each takes half a gibibyte for its program alone."""
DYING_SECONDS = 10.0
"""Within which whoever lost the others has ended."""
LEAVING_SECONDS = 2.0
INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")

START = """
import json, sys
told = json.loads(sys.stdin.buffer.readline())
sys.path[:] = told["path"]
from interstellar.runs.team_member import serve
serve(told)
"""
"""What the interpreter of a process that follows runs."""


def take_in(exchange: Exchange, network: Network, task: Task, paths: Tensor) -> BeginState:
    """Tell the others what is trained; return what puts it where it is trained.

    Before initial values are drawn: of a network along walks, this process keeps some rows.
    """
    if isinstance(network, PathNetwork):
        size, form = network.size, network.form
        if size.n_entities < exchange.n_processes:
            raise SettingsError(
                f"`processes` is {exchange.n_processes}, but there are only {size.n_entities} "
                "entities to share. Take fewer."
            )
        exchange.tell({"entities": size.n_entities, "is_two_way": form.is_two_way})
        spread(network, exchange)
        return partial(ShardedState, exchange=exchange)
    assert isinstance(network, PropagationNetwork)
    assert isinstance(task.graph, KnowledgeGraph)
    triplets = torch.from_numpy(task.graph.train).to(paths)
    shapes = {"paths": list(paths.shape), "triplets": list(triplets.shape)}
    sizes = {"entities": network.graph.n_entities, "relations": network.size.n_relations}
    exchange.tell(shapes | sizes)
    for tensor in (paths, triplets):
        exchange.share(tensor)
    return partial(begin_split, exchange=exchange)


@contextmanager
def gathered(
    n_processes: int, experiment: Experiment, device: torch.device
) -> Iterator[Exchange | None]:
    """Have so many processes while something is done inside; none are started where it is one."""
    if n_processes == 1:
        yield None
        return
    interrupts = Interrupts()
    with (
        tempfile.TemporaryDirectory(prefix="interstellar-") as folder,
        _on_loopback(),
        _sharing_cores(n_processes, device),
        interrupts.handled(),
    ):
        told = {"n_processes": n_processes, "folder": folder, "device": device.type}
        told |= {"experiment": experiment_text(experiment), "path": list(map(str, sys.path))}
        members = [_start(told | {"number": number}) for number in range(1, n_processes)]
        try:
            _await(members)
            with _explaining(members):
                guard = partial(_commanding, interrupts, members)
                exchange = join(0, n_processes, Path(folder), device, guard)
                yield exchange
                exchange.tell({})
        finally:
            _end(members)


def refuse_processes(n: Any, settings: TrainingSettings, device: torch.device) -> None:
    """Raise where so many processes cannot train together."""
    if type(n) is not int or n < 1:
        raise SettingsError(
            f"`processes` is {n!r}, but it must be a whole number from 1 up. 1 is this process "
            "alone."
        )
    n_cards = torch.cuda.device_count() if device.type == "cuda" else n
    model = settings.model
    faults = {
        "a model outside the search space is trained by one. Leave it out": model
        is ModelKind.RIVAL,
        "precision is mixed, and several compute in TF32 or float32. Leave one of them out": (
            model is ModelKind.WALKS and settings.precision is Precision.MIXED
        ),
        f"a batch has {settings.batch_size} queries to share. Take fewer, or larger batches": (
            model is ModelKind.PROPAGATION and settings.batch_size < n
        ),
        f"this machine has {n_cards} GPUs, and each needs one. Take fewer, or the device cpu": (
            n_cards < n
        ),
        f"the CPU has work for {MOST_ON_CPU} at most: its cores share one memory. Take fewer": (
            device.type == "cpu" and n > MOST_ON_CPU
        ),
        f"{device} is a single card. Choose cuda: they take the first ones": (
            device.index is not None
        ),
        "torch.distributed or a loopback interface is missing here, or it is in use. Take one": (
            not dist.is_available() or dist.is_initialized() or find_loopback() is None
        ),
    }
    found = next((fault for fault, is_so in faults.items() if is_so), None)
    if n > 1 and found is not None:
        raise SettingsError(f"`processes` is {n}, but {found}.")


def join(
    number: int,
    n_processes: int,
    folder: Path,
    device: torch.device,
    guard: Guard = nullcontext,
) -> Exchange:
    """Meet all others; return the place of this process among them."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    store = dist.FileStore(str(folder / "meeting"), n_processes)  # type: ignore[attr-defined]
    dist.init_process_group(
        backend, store=store, rank=number, world_size=n_processes, timeout=SILENCE
    )
    return Exchange(device, guard)


@contextmanager
def _commanding(
    interrupts: Interrupts, members: Sequence[subprocess.Popen[bytes]]
) -> Iterator[None]:
    with _explaining(members), interrupts.deferred():
        yield


@contextmanager
def _explaining(members: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Say which process has ended where a library only says that a connection has."""
    try:
        yield
    except RuntimeError as error:
        fault = None if is_out_of_memory(error) else find_fault(members)
        if fault is None:
            raise
        raise fault from error


def find_fault(members: Sequence[subprocess.Popen[bytes]]) -> InterstellarError | None:
    """Return what ended one of the processes, if one has ended: the others end for it."""
    deadline = time.monotonic() + DYING_SECONDS
    while time.monotonic() < deadline and all(member.poll() is None for member in members):
        time.sleep(0.05)
    reasons = []
    for number, member in enumerate(members, start=1):
        code = member.poll()
        assert member.stdout is not None
        last = member.stdout.readline() if code is not None else b""
        if last:
            said = json.loads(last)
            return (InputError if said["is_input"] else TrainingError)(said["error"])
        if code:
            why = f"signal {-code}" if code < 0 else f"exit code {code}"
            reasons.append((code > 0, f"process {number} of {len(members) + 1} ended ({why})"))
    if not reasons:
        return None
    return TrainingError(
        f"{min(reasons)[1]}, so that all do. What was done until the last checkpoint is kept: "
        "`resume` goes on from there, with any number of processes. Signal 9 may be the system's, "
        "out of memory: lower the dimension or the batch size."
    )


def _start(told: dict[str, object]) -> subprocess.Popen[bytes]:
    threads = str(torch.get_num_threads())
    environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    command = [sys.executable, "-c", START]
    process = subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended, which is noticed later
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
    return process


def _await(members: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until all are about to join; raise where one has ended instead."""
    for number, member in enumerate(members, start=1):
        assert member.stdout is not None
        if not member.stdout.readline():
            raise TrainingError(
                f"process {number} of {len(members) + 1} could not be started. Standard error has "
                "its last words; a machine without free memory is the usual reason."
            )


def _end(members: Sequence[subprocess.Popen[bytes]]) -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
    for member in members:
        with suppress(subprocess.TimeoutExpired):
            member.wait(LEAVING_SECONDS)
        member.kill()
        member.wait()
        for pipe in (member.stdin, member.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def find_loopback() -> str | None:
    """Return the name of the interface that no other machine can reach: `lo` or `lo0`."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), None)


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Let the libraries of torch.distributed use no other interface of the network."""
    loopback = find_loopback()
    assert loopback is not None, "or else refused"
    before = {name: os.environ.get(name) for name in INTERFACE_VARIABLES}
    os.environ.update(dict.fromkeys(INTERFACE_VARIABLES, loopback))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _sharing_cores(n_processes: int, device: torch.device) -> Iterator[None]:
    """Let this process have its share of the threads, where all compute on the CPU."""
    n_before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(max(1, n_before // n_processes))
    try:
        yield
    finally:
        torch.set_num_threads(n_before)
