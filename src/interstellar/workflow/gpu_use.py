"""How busy GPUs are while a search goes on, as the driver's own program says."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

PROGRAM = "nvidia-smi"
ASKED = "index,utilization.gpu,memory.used,memory.total"
EVERY_SECONDS = 2


@contextmanager
def watching_gpus() -> Iterator[Callable[[], list[str]]]:
    """Give a function that returns a line for each GPU; none where there is no such program.

    It runs beside this process: to ask the driver from here would take memory of the GPU.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        yield list
        return
    said: dict[str, str] = {}
    arguments = [f"--query-gpu={ASKED}", "--format=csv,noheader,nounits", f"--loop={EVERY_SECONDS}"]
    with subprocess.Popen(  # noqa: S603 (the driver's program)
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        threading.Thread(target=_listen, args=(process.stdout, said), daemon=True).start()
        try:
            yield lambda: list(said.values())
        finally:
            process.kill()


def _listen(lines: IO[str], said: dict[str, str]) -> None:
    """Keep what was last said of each GPU; what is no such line is left out."""
    for line in lines:
        described = describe_gpu(line)
        if described is not None:
            said[line.partition(",")[0]] = described


def describe_gpu(line: str) -> str | None:
    """Return a line of the program as a person reads it: `0: 83 % busy, 12.3 of 139.8 GiB`."""
    try:
        index, busy, used, total = (int(cell) for cell in line.split(","))
    except ValueError:  # "[N/A]" where the driver does not know
        return None
    return f"{index}: {busy} % busy, {used / 1024:.1f} of {total / 1024:.1f} GiB"
