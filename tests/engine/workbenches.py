"""Workbenches for workers in other processes; light to import, since each worker imports them."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from interstellar.engine.engine import Plain, Workbench
from interstellar.errors import FetchError, SettingsError


def build_doubling(told: Plain, device: str) -> Workbench:
    """Double a number; say who did it, how, and what it was told."""
    import torch

    n_built = 0

    def double(works: Sequence[Plain]) -> list[Plain]:
        nonlocal n_built
        n_built += 1
        facts = {"pid": os.getpid(), "device": device, "threads": torch.get_num_threads()}
        return [{"doubled": 2 * work["x"], "told": told, "nth": n_built, **facts} for work in works]

    return double


def build_waiting(told: Plain, device: str) -> Workbench:
    """Write its process id into a folder and go on once there is a file `go`."""
    del device
    folder = Path(told["folder"])

    def wait_for_go(works: Sequence[Plain]) -> list[Plain]:
        [work] = works
        (folder / f"piece-{work['x']}.{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        return [{"doubled": 2 * work["x"]}]

    return wait_for_go


def build_mortal(told: Plain, device: str) -> Workbench:
    """Die of every piece that says so."""
    del told, device

    def double_or_die(works: Sequence[Plain]) -> list[Plain]:
        [work] = works
        if work["x"] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return [{"doubled": 2 * work["x"]}]

    return double_or_die


def build_refusing(told: Plain, device: str) -> Workbench:
    """Refuse to be built."""
    if told["is_input"]:
        raise SettingsError(f"{device} is not for this.")
    raise FetchError("the data did not arrive.")


def build_faulty(told: Plain, device: str) -> Workbench:
    """Have a fault in the program."""
    del told, device

    def divide(works: Sequence[Plain]) -> list[Plain]:
        return [{"x": 1 / work["x"]} for work in works]

    return divide
