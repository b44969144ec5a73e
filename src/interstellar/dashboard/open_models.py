"""Trained runs that are asked: opened when first needed, a few at a time, in one thread.

While a pass goes over the device, questions wait; the next pass answers all of them together. So
many who ask at once cost about as much as a few, and no answer can be taken for another's.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, final

from interstellar.dashboard.questions import Answers, Question, Way
from interstellar.errors import BusyError
from interstellar.records.run_folder import RunFolder

if TYPE_CHECKING:
    from interstellar.dashboard.answering import AnsweringModel

_Asked: TypeAlias = "tuple[Question, asyncio.Future[Answers]]"

MOST_OPEN = 3
MOST_TOGETHER = 1024
"""Questions of one pass."""
MOST_WAITING = 8192
"""More are refused: whoever asks is told to come again."""


@final
class OpenModels:
    """The models of a server."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._open: OrderedDict[tuple[Path, int], AnsweringModel] = OrderedDict()
        self._waiting: dict[Path, list[_Asked]] = {}
        self._n_waiting = 0
        self._passes: set[asyncio.Task[None]] = set()

    async def ask(self, folder: Path, question: Question) -> Answers:
        """Return the answer to a question to the run in a folder."""
        if self._n_waiting >= MOST_WAITING:
            raise BusyError(f"{MOST_WAITING:,} questions wait already. Ask again in a moment.")
        answered: asyncio.Future[Answers] = asyncio.get_running_loop().create_future()
        if folder in self._waiting:
            self._waiting[folder].append((question, answered))
        else:
            self._waiting[folder] = [(question, answered)]
            task = asyncio.create_task(self._answer_all(folder))
            self._passes.add(task)  # the loop itself would forget it
            task.add_done_callback(self._passes.discard)
        self._n_waiting += 1
        try:
            return await answered
        finally:
            self._n_waiting -= 1

    def open(self, folder: Path) -> Way:
        """Open a run before anybody asks, and return what it can be asked."""
        return self._find_model(folder).way

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(cancel_futures=True)

    async def _answer_all(self, folder: Path) -> None:
        """Answer what waits, and what has come meanwhile, until nothing waits."""
        waiting, loop = self._waiting[folder], asyncio.get_running_loop()
        try:
            while waiting:
                asked, waiting[:MOST_TOGETHER] = waiting[:MOST_TOGETHER], []
                questions = [question for question, _ in asked]
                outcomes = await loop.run_in_executor(self._thread, self._answer, folder, questions)
                for (_, answered), outcome in zip(asked, outcomes, strict=True):
                    _settle(answered, outcome)
        finally:
            del self._waiting[folder]

    def _answer(self, folder: Path, questions: Sequence[Question]) -> list[Answers | Exception]:
        """Return the outcomes of one pass; what goes wrong with all of it is each one's outcome."""
        try:
            return list(self._find_model(folder).answer(questions))
        except Exception as error:
            return [error] * len(questions)

    def _find_model(self, folder: Path) -> "AnsweringModel":
        """Return the model of a run, opened anew where it has another result than before."""
        from interstellar.dashboard.answering import open_model  # noqa: PLC0415 (needs torch)

        result = RunFolder(folder).result_file
        key = folder, result.stat().st_mtime_ns if result.is_file() else 0
        model = self._open.pop(key, None) or open_model(folder, self._device)
        self._open[key] = model
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return model


def _settle(answered: "asyncio.Future[Answers]", outcome: Answers | Exception) -> None:
    if answered.done():  # whoever asked has gone
        return
    if isinstance(outcome, Exception):
        answered.set_exception(outcome)
    else:
        answered.set_result(outcome)
