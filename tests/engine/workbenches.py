"""Workbenches for workers in other processes; light to import, since each worker imports them."""

import os
import signal
import stat
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from interstellar.engine.engine import OnProgress, Plain, Workbench
from interstellar.errors import FetchError, SettingsError


def build_doubling(told: Plain, device: str) -> Workbench:
    """Double a number; say who did it, how, and what it was told."""
    n_done = 0

    def double(work: Plain, _: OnProgress) -> Plain:
        nonlocal n_done
        n_done += 1
        facts = {"pid": os.getpid(), "device": device}
        return {"doubled": 2 * work["x"], "told": told, "nth": n_done, **facts}

    return double


def build_counting_threads(told: Plain, device: str) -> Workbench:
    """Say how many threads torch uses."""
    del told, device
    import torch

    return lambda _work, _: {"threads": torch.get_num_threads()}


def build_waiting(told: Plain, device: str) -> Workbench:
    """Write its process id into a folder and go on once there is a file `go`."""
    del device
    folder = Path(told["folder"])

    def wait_for_go(work: Plain, _: OnProgress) -> Plain:
        (folder / f"piece-{work['x']}.{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        return {"doubled": 2 * work["x"]}

    return wait_for_go


def build_importing(told: Plain, device: str) -> Workbench:
    """Take long to import what is needed, and say so."""
    slow = Path(told["folder"]) / "slow_to_import.py"
    slow.write_text("import time; time.sleep(600)")
    (slow.parent / f"piece-0.{os.getpid()}").touch()
    sys.path.insert(0, str(slow.parent))
    __import__(slow.stem)
    return build_waiting(told, device)


def build_talking(told: Plain, device: str) -> Workbench:
    """Print, and read what there is to be read."""
    del told, device

    def talk(_work: Plain, _: OnProgress) -> Plain:
        sys.stdout.write("a word\n")
        sys.stdout.flush()
        os.write(1, b"another\n")
        return {"read": sys.stdin.read()}

    return talk


def build_reporting(told: Plain, device: str) -> Workbench:
    """Say how far it is."""
    del told, device

    def report(work: Plain, on_progress: OnProgress) -> Plain:
        for n_done in (1, 2):
            on_progress(work["number"], n_done, 2, None if n_done == 1 else 0.5)
        return {}

    return report


def build_mortal(told: Plain, device: str) -> Workbench:
    """Die of every piece that says so."""
    del told, device

    def double_or_die(work: Plain, _: OnProgress) -> Plain:
        if work["x"] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"doubled": 2 * work["x"]}

    return double_or_die


def build_refusing(told: Plain, device: str) -> Workbench:
    """Refuse to be built."""
    if told["is_input"]:
        raise SettingsError(f"{device} is not for this.")
    raise FetchError("the data did not arrive.")


def build_faulty(told: Plain, device: str) -> Workbench:
    """Have a fault in the program."""
    del told, device

    def divide(work: Plain, _: OnProgress) -> Plain:
        return {"x": 1 / work["x"]}

    return divide


def build_forgetful(told: Plain, device: str) -> Workbench:
    """Run out of memory at each piece, as often as it is told."""
    del device
    folder = Path(told["folder"])

    def double_or_run_out(work: Plain, _: OnProgress) -> Plain:
        n_tries = len(list(folder.glob(f"try-{work['x']}-*")))
        (folder / f"try-{work['x']}-{n_tries}.{os.getpid()}").touch()
        if n_tries < told["n_times"]:
            raise MemoryError
        return {"doubled": 2 * work["x"]}

    return double_or_run_out


def build_garbling(told: Plain, device: str) -> Workbench:
    """Say once what is no answer, where answers are said."""
    del device
    once = Path(told["folder"]) / "once"

    def garble(work: Plain, _: OnProgress) -> Plain:
        if not once.exists():
            once.touch()
            for descriptor in range(3, 10):  # the copy of standard output is among them
                with suppress(OSError):
                    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                        os.write(descriptor, told["words"].encode() + b"\n")
        return {"doubled": 2 * work["x"]}

    return garble


def build_stuck(told: Plain, device: str) -> Workbench:
    """Wait for what does not come."""
    del device
    folder = Path(told["folder"])

    def get_stuck(work: Plain, _: OnProgress) -> Plain:
        (folder / f"piece-{work['x']}.{os.getpid()}").touch()
        threading.Event().wait()
        return {}

    return get_stuck
