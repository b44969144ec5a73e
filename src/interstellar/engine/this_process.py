"""Work done right here, several pieces together if the workbench gains from that."""

from typing import final

from interstellar.engine.engine import Done, Plain, Workbench


@final
class ThisProcess:
    """Does whatever was started when it is waited for."""

    def __init__(self, workbench: Workbench, n_together: int = 1) -> None:
        self._workbench = workbench
        self._n_together = n_together
        self._started: dict[int, Plain] = {}

    @property
    def n_free(self) -> int:
        return self._n_together - len(self._started)

    def start(self, number: int, work: Plain) -> None:
        assert self.n_free > 0
        self._started[number] = work

    def wait(self) -> list[Done]:
        started, self._started = self._started, {}
        outcomes = self._workbench(list(started.values()))
        return [Done(n, outcome) for n, outcome in zip(started, outcomes, strict=True)]

    def close(self) -> None:
        self._started = {}
