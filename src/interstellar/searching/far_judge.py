"""A judge on a machine that shares no disk with the search: states go there and back with trials.

A trial stops at a rung and goes on from there, perhaps elsewhere. Its state is sent along with the
piece of work and comes back with the result; the search keeps it in its folder as ever, so that any
engine can go on from it.
"""

import shutil
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import final

from interstellar.device import find_device
from interstellar.engine.engine import Done, Engine, OnProgress, Plain, Workbench, ignore
from interstellar.records.safe_files import replacing_file
from interstellar.searching.judge import Judge, checkpoint_file

STATE = "state"
"""What a state is called in a piece of work, and in what came of it."""


def build_far_workbench(told: Plain, device: str) -> Workbench:
    """Return the workbench of a worker, told the experiment and the graph themselves."""
    folder = Path(gettempdir()) / f"interstellar-{token_hex(8)}"  # there only during a trial
    experiment, graph = told["experiment"], told["graph"]
    judge = Judge(experiment, find_device(device), graph, checkpoints=folder)

    def do(work: Plain, on_progress: OnProgress = ignore) -> Plain:
        file = checkpoint_file(folder, work["number"])
        folder.mkdir(mode=0o700)
        try:
            if work[STATE] is not None:
                file.write_bytes(work[STATE])
            outcome = judge.do(work, on_progress)
            return outcome | {STATE: file.read_bytes() if file.is_file() else None}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return do


@final
class CarryingStates:
    """An engine whose workers see no folder of ours: it carries states to them and back."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder

    @property
    def n_free(self) -> int:
        return self._engine.n_free

    def start(self, number: int, work: Plain) -> None:
        file = checkpoint_file(self._folder, number)
        self._engine.start(number, {**work, STATE: file.read_bytes() if file.is_file() else None})

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        done = self._engine.wait(deadline, on_progress)
        for piece in done:
            state = None if piece.outcome is None else piece.outcome.pop(STATE, None)
            if isinstance(state, bytes):
                self._keep(piece.number, state)
        return done

    def close(self) -> None:
        self._engine.close()

    def _keep(self, number: int, state: bytes) -> None:
        """Write down where a trial stands; it is just trained again where there is no room."""
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            with replacing_file(checkpoint_file(self._folder, number)) as file:
                file.write(state)
