"""What all open pages look at: one thread follows the runs, and pages are told what has changed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

from interstellar.dashboard.followed_runs import LOOK_SECONDS, FollowedRuns
from interstellar.dashboard.parts import Parts, draw_comparison, draw_run, list_rows

Answer = TypeVar("Answer")

MOST_DRAWN = 256
"""Pages whose parts are kept, for whoever else looks at the same."""


@dataclass(frozen=True, slots=True)
class View:
    """What a page looks at: the list, a run, or several beside each other."""

    names: tuple[str, ...] = ()


@final
class Board:
    """The runs below a folder, for many pages at once."""

    def __init__(self, root: Path, is_ending: Callable[[], bool] = lambda: False) -> None:
        self.followed = FollowedRuns(root)
        self.is_ending = is_ending
        """Whether the server is to end, and with it the streams to its pages."""
        self.version = 0
        """Of what pages were last told of."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dashboard")
        self._rows: dict[str, tuple[int, str]] = {}
        self._drawn: dict[View, tuple[tuple[int, ...], Parts | None]] = {}
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the runs until the block ends."""
        task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self._thread.shutdown()

    async def _follow(self) -> None:
        while True:
            has_more = await self._run(self.followed.look)
            if self.followed.version != self.version or self.is_ending():
                self.version = self.followed.version
                self._changed.set()
                self._changed = asyncio.Event()
            await asyncio.sleep(0.01 if has_more else LOOK_SECONDS)

    async def wait(self, seen: int, seconds: float) -> None:
        """Wait until something has changed since a version, but not longer than so many seconds."""
        if self.version == seen:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)

    async def draw(self, view: View) -> Parts | None:
        """Return the parts of a page; None where a run that it is on is not there."""
        return await self._run(lambda: self._draw(view))

    def folders_of(self, view: View) -> list[Path] | None:
        """Return the folders of runs; None where one is not there."""
        runs = self.followed.runs
        if any(name not in runs for name in view.names):
            return None
        return [runs[name].folder.path for name in view.names]

    def _draw(self, view: View) -> Parts | None:
        followed = self.followed
        if not view.names:
            return list_rows(followed, self._rows)
        runs = [followed.runs[name] for name in view.names if name in followed.runs]
        if len(runs) < len(view.names):
            return None
        versions = (len(followed.runs), *(run.version for run in runs))
        if self._drawn.get(view, ((), None))[0] != versions:
            parts = draw_run(runs[0], followed) if len(runs) == 1 else draw_comparison(runs)
            self._drawn.pop(view, None)
            self._drawn[view] = versions, parts
            if len(self._drawn) > MOST_DRAWN:
                del self._drawn[next(iter(self._drawn))]
        return self._drawn[view][1]

    async def _run(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
