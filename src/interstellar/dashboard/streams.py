"""The parts of a page as they change, as server-sent events.

Each message is a JSON object with `order`, the names of all parts, and `changed`, the HTML of those
that are new or other than before. The first has all, so that a page that lost its server for a
while has everything again.
"""

import asyncio
import json
from collections.abc import AsyncIterator

from interstellar.dashboard.board import Board, View
from interstellar.dashboard.parts import Parts

AGAIN_MILLISECONDS = 1000
"""After which a page that lost its server looks for it."""
PAUSE_SECONDS = 0.25
"""Between two messages, at least."""
STILL_HERE_SECONDS = 15.0
"""After which a silent stream says that it is there, and notices a page that is not."""


async def stream_parts(board: Board, view: View) -> AsyncIterator[str]:
    """Yield messages for as long as somebody listens; the last, where a run is gone, is `gone`."""
    yield f"retry: {AGAIN_MILLISECONDS}\n\n"
    sent: Parts | None = None
    while not board.is_ending():
        seen = board.version
        parts = await board.draw(view)
        if parts is None:
            yield "event: gone\ndata: {}\n\n"
            return
        yield describe_change(sent, parts) or ": still here\n\n"
        sent = parts
        await asyncio.sleep(PAUSE_SECONDS)
        await board.wait(seen, STILL_HERE_SECONDS)


def describe_change(sent: Parts | None, parts: Parts) -> str | None:
    """Return the message that makes of some parts others; None: they are the same."""
    if sent == parts:
        return None
    before = sent or {}
    changed = {name: html for name, html in parts.items() if before.get(name) != html}
    message = {"order": list(parts), "changed": changed}
    return f"data: {json.dumps(message, ensure_ascii=False)}\n\n"
