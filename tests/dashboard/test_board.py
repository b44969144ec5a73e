import asyncio
import shutil
import time
from pathlib import Path

from interstellar.dashboard.board import Board, View
from tests.dashboard.small_folders import add_epoch, write_runs
from tests.reporting.written_runs import write_training


async def until(board: Board, view: View, word: str) -> float:
    """Return the seconds until a word is on a page."""
    begun = time.monotonic()
    while time.monotonic() < begun + 20:
        seen = board.version
        parts = await board.draw(view)
        if parts is not None and word in "".join(parts.values()):
            return time.monotonic() - begun
        await board.wait(seen, 5.0)
    raise AssertionError(word)


def test_pages_are_told_what_has_changed(tmp_path: Path) -> None:
    write_runs(tmp_path)

    async def watch() -> None:
        board = Board(tmp_path)
        async with board.following():
            await until(board, View(), "mrr 0.500")
            await asyncio.to_thread(add_epoch, tmp_path / "deep" / "training", 2, 0.77)
            assert await until(board, View(), "mrr 0.770") < 5
            await until(board, View(("deep/training",)), "2 until now")
            await asyncio.to_thread(write_training, tmp_path / "new", [0.123])
            await until(board, View(), "mrr 0.123")

    asyncio.run(watch())


def test_a_page_is_drawn_once_for_all_who_look_at_it(tmp_path: Path) -> None:
    write_runs(tmp_path)

    async def watch() -> None:
        board = Board(tmp_path)
        async with board.following():
            await until(board, View(("trained",)), "finished")
            first = await board.draw(View(("trained",)))
            assert await board.draw(View(("trained",))) is first
            both = View(("trained", "search"))
            assert await board.draw(both) is await board.draw(both)

    asyncio.run(watch())


def test_a_run_that_is_not_in_the_list_has_no_page_and_no_folder(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs")
    write_training(tmp_path / "outside", [0.2])

    async def watch() -> None:
        board = Board(tmp_path / "runs")
        async with board.following():
            await until(board, View(), "trained")
            for name in (
                "../outside",
                "/etc",
                "none",
                str(tmp_path / "outside"),
                "runs/../trained",
            ):
                assert await board.draw(View((name,))) is None
                assert board.folders_of(View((name,))) is None
            assert board.folders_of(View(("trained",))) == [tmp_path / "runs" / "trained"]
            shutil.rmtree(tmp_path / "runs" / "search")
            while await board.draw(View(("search",))) is not None:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(watch(), 30))
