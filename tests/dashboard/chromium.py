"""A browser that is there already, and pages opened in it that note whatever goes wrong."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 90.0
"""For anything to appear; it is there within one, but where others use the machine too."""
PICTURES = "INTERSTELLAR_SCREENSHOTS"
"""Names a folder where pictures of pages are kept; `make test` does."""


@dataclass
class Noted:
    """What pages said and asked for."""

    errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)


def find_chromium() -> str:
    """Return the program, or skip the test that needs it."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium was found: install one, or name it in $CHROMIUM")
    return found


@contextmanager
def browsing() -> Iterator[Any]:
    """Start a browser that opens pages of this machine alone."""
    program = find_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Any, noted: Noted, *, width: int = 1200, scheme: str = "light") -> Any:
    """Return an empty page of some width, light or dark."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(1000 * SECONDS)
    page.on("pageerror", lambda error: noted.errors.append(str(error)))
    page.on("request", lambda asked: noted.hosts.add(urlsplit(asked.url).hostname or ""))
    page.on(
        "console",
        lambda said: noted.errors.append(said.text) if said.type in ("error", "warning") else None,
    )
    return page


def keep_picture(page: Any, name: str) -> None:
    """Keep what a page looks like, where that is asked for."""
    folder = os.environ.get(PICTURES)
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def find_barriers(page: Any) -> list[str]:
    """Return where axe-core finds that somebody cannot read or use a page; contrast is part."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [
        f"{fault['id']}: {node['html'][:200]} {node['failureSummary']}"
        for fault in found
        for node in fault["nodes"]
    ]


def width_of(page: Any) -> int:
    """Return how wide the content of a page is."""
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width
