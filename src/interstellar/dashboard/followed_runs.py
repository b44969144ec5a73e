"""All runs below a folder, looked at again and again: the list and each run in it."""

import time
from pathlib import Path
from typing import final

from interstellar.dashboard.listing import Listing, list_runs
from interstellar.dashboard.live_run import LiveRun
from interstellar.errors import SettingsError

LOOK_SECONDS = 0.25
"""Between two looks at journals."""
LIST_SECONDS = 1.0
"""Between two walks through the folders, at least."""
LIST_SHARE = 10
"""How many times as long as a walk takes it is until the next, at least."""
MOST_SECONDS = 0.1
"""Of one look: then pages are served before it goes on."""


@final
class FollowedRuns:
    """The runs below a folder; used by one thread at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.runs: dict[str, LiveRun] = {}
        self.version = 0
        """Grows with whatever is to be shown of any of them."""
        self.is_cut_short = False
        self._next_listing = 0.0
        self._unread: list[str] = []
        """Runs with more to be read at once, or that were not yet looked at in this turn."""

    def look(self) -> bool:
        """Take in what has changed; return whether there is more to be read at once."""
        if time.monotonic() >= self._next_listing:
            self._list()
        if not self._unread:
            self._unread = list(self.runs)
        deadline = time.monotonic() + MOST_SECONDS
        again: list[str] = []
        while self._unread and time.monotonic() < deadline:
            name = self._unread.pop()
            if name in self.runs and self._look_at(self.runs[name]):
                again.append(name)
        self._unread = again + self._unread
        return self._unread != []

    def _look_at(self, run: LiveRun) -> bool:
        before = run.version
        has_more = run.look()
        self.version += run.version != before
        return has_more

    def _list(self) -> None:
        begun = time.monotonic()
        try:
            listing = list_runs(self.root)
        except SettingsError:  # the folder itself is gone; it may come back
            listing = Listing({}, is_cut_short=False)
        if listing.folder_by_name.keys() != self.runs.keys():
            self.version += 1
        self.runs = {
            name: self.runs.get(name) or LiveRun(name, folder)
            for name, folder in listing.folder_by_name.items()
        }
        self.is_cut_short = listing.is_cut_short
        now = time.monotonic()
        self._next_listing = now + max(LIST_SECONDS, LIST_SHARE * (now - begun))
