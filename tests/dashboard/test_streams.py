import asyncio
import shutil
from pathlib import Path
from typing import Any

from interstellar.dashboard.board import Board, View
from interstellar.dashboard.streams import describe_change, stream_parts
from tests.dashboard.small_folders import add_trial, read_message, write_runs


def test_the_first_message_has_everything_and_the_next_what_changed() -> None:
    first, second = {"a": "1", "b": "2"}, {"b": "2", "a": "3", "c": "4"}

    whole = read_message(describe_change(None, first) or "")
    change = read_message(describe_change(first, second) or "")

    assert whole == {"order": ["a", "b"], "changed": first}
    assert change == {"order": ["b", "a", "c"], "changed": {"a": "3", "c": "4"}}
    assert describe_change(first, dict(first)) is None


def test_parts_that_are_gone_are_no_longer_in_the_order() -> None:
    message = read_message(describe_change({"a": "1", "b": "2"}, {"b": "2"}) or "")

    assert message == {"order": ["b"], "changed": {}}


def test_a_message_is_one_line_whatever_it_holds() -> None:
    message = describe_change(None, {"a\nb": "x\r\n\ndata: y\u2028"})

    assert message is not None
    assert message.count("\n") == 2
    assert read_message(message)["changed"] == {"a\nb": "x\r\n\ndata: y\u2028"}


def test_a_stream_follows_a_search_until_its_folder_is_gone(tmp_path: Path) -> None:
    write_runs(tmp_path)
    folder = tmp_path / "search"

    async def watch() -> tuple[dict[str, Any], str]:
        board, last = Board(tmp_path), ""
        found: dict[str, Any] = {}
        async with board.following():
            while await board.draw(View(("search",))) is None:
                await asyncio.sleep(0.02)
            async for message in stream_parts(board, View(("search",))):
                last = message
                if message.startswith("data: "):
                    found |= read_message(message)["changed"]
                if "0.9" not in found.get("Leaderboard", ""):
                    if "Leaderboard" in found:
                        await asyncio.to_thread(add_trial, folder, 3, score=0.9)
                elif folder.exists():
                    shutil.rmtree(folder)
        return found, last

    found, last = asyncio.run(asyncio.wait_for(watch(), 30))

    assert "0.900" in found["Leaderboard"]
    assert last.startswith("event: gone\n")


def test_a_stream_ends_with_its_server(tmp_path: Path) -> None:
    write_runs(tmp_path)
    ending: list[bool] = []

    async def watch() -> int:
        board, n_messages = Board(tmp_path, lambda: bool(ending)), 0
        async with board.following():
            async for _ in stream_parts(board, View()):
                n_messages += 1
                if n_messages == 2:
                    ending.append(True)
        return n_messages

    assert asyncio.run(asyncio.wait_for(watch(), 10)) >= 2
