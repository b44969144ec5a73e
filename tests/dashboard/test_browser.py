"""The dashboard and the report in a real browser, of runs that are under way."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import interstellar
from tests.dashboard.chromium import (
    Noted,
    browsing,
    find_barriers,
    keep_picture,
    open_page,
    width_of,
)
from tests.dashboard.small_folders import add_epoch, add_trial, wait_until, write_runs
from tests.dashboard.started_servers import fetch, started
from tests.reporting.written_runs import write_training

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

PAGES = {
    "runs": "",
    "search": "run?run=search",
    "model": "run?run=linked",
    "compared": "compare?run=search&run=trained",
    "report": "report?run=search&run=trained",
}
A4_PIXELS = 720
"""The width of a sheet within its margins."""
SEARCH = ("search", "geography-S2", "--trials", 4, "--epochs", 2, "--dim", 8, "--device", "cpu")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as opened:
        yield opened


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def folder(tmp_path: Path, linked: Path) -> Path:
    return write_folder(tmp_path / "runs", linked)


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with serving(folder) as address:
        yield address


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory, linked: Path) -> Iterator[str]:
    """The address of a dashboard of which nothing changes."""
    with serving(write_folder(tmp_path_factory.mktemp("still") / "runs", linked)) as address:
        yield address


def write_folder(runs: Path, linked: Path) -> Path:
    write_runs(runs)
    shutil.copytree(linked, runs / "linked")
    write_training(runs / "<script>alert(1)<", [0.3], test=0.2)
    return runs


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    with started("dashboard", folder, "--port", 0, "--device", "cpu") as (_, said):
        wait_until(lambda: "mrr 0.500" in fetch(said["address"])[1])
        yield said["address"]


def test_a_table_grows_while_a_search_is_running(
    browser: Any, noted: Noted, tmp_path: Path
) -> None:
    with started("dashboard", tmp_path, "--port", 0) as (_, said):
        page = open_page(browser, noted)
        page.goto(said["address"])
        page.get_by_text("There is no run in this folder yet.").wait_for()
        search = subprocess.Popen(
            [sys.executable, "-m", "interstellar", *map(str, SEARCH), "--out", tmp_path / "found"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        try:
            page.get_by_role("link", name="found").click()
            page.get_by_role("heading", name="Leaderboard").wait_for()
            page.locator("#parts .gallery svg").first.wait_for()
            assert search.wait(300) == 0
        finally:
            search.kill()
        page.get_by_text("search, finished").wait_for()
        page.locator("section[data-part=Leaderboard] tbody tr").nth(2).wait_for()

    assert [error for error in noted.errors if "ERR_" not in error] == []
    assert noted.hosts == {"127.0.0.1"}


def test_a_reader_clicks_through_runs_and_compares_them(
    browser: Any, noted: Noted, address: str
) -> None:
    page = open_page(browser, noted)
    page.goto(address)

    for name in ("search", "deep/training", "trained", "<script>alert(1)<"):
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("heading", name=name, exact=True).wait_for()
        page.get_by_role("link", name="All runs").click()
    page.locator("#status.live").wait_for()
    page.get_by_label("Show").fill("train")
    wait_until(lambda: page.locator("#parts tr:visible").count() == 2)
    page.get_by_label("Compare trained").check()
    page.get_by_label("Compare deep/training").check()
    page.get_by_role("button", name="Compare the chosen").click()
    page.get_by_role("heading", name="2 runs side by side").wait_for()
    page.get_by_role("link", name="The report on all of them").click()
    page.get_by_role("heading", name="Side by side").wait_for()

    assert noted.errors == []
    assert noted.hosts == {"127.0.0.1"}


def test_what_a_reader_chose_and_opened_stays_so_while_the_page_changes(
    browser: Any, noted: Noted, address: str, folder: Path
) -> None:
    page = open_page(browser, noted)
    page.goto(address)
    page.locator("#status.live").wait_for()
    page.get_by_label("Compare search").check()
    add_trial(folder / "search", 3, score=0.61)
    page.get_by_text("mrr 0.610").wait_for()
    assert page.get_by_label("Compare search").is_checked()

    page.get_by_role("link", name="search", exact=True).click()
    page.get_by_text("Numbers").first.click()
    add_trial(folder / "search", 4, score=0.72)
    page.locator("section[data-part=Leaderboard]").get_by_text("0.720").wait_for()

    assert page.locator("section[data-part=summary] details").first.get_attribute("open") == ""
    assert noted.errors == []


def test_a_model_is_asked_from_its_page(
    browser: Any, noted: Noted, address: str, linked: Path
) -> None:
    graph = interstellar.open(linked, device="cpu").graph
    assert isinstance(graph, interstellar.KnowledgeGraph)
    page = open_page(browser, noted)
    page.goto(f"{address}run?run=linked")
    page.locator("#status.live").wait_for()

    page.get_by_label("subject").fill(graph.entities.name(0))
    page.get_by_label("relation").fill(graph.relations.name(0))
    page.get_by_label("answers").fill("3")
    page.get_by_role("button", name="Ask").click()
    page.locator("[aria-live] tbody tr").nth(2).wait_for()
    assert page.locator("[aria-live] tbody tr").count() == 3
    assert noted.errors == []
    page.get_by_label("subject").fill("nobody")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text('"nobody" is not an entity').wait_for()

    assert noted.hosts == {"127.0.0.1"}


def test_a_page_whose_server_was_started_again_finds_it(
    browser: Any, noted: Noted, folder: Path
) -> None:
    page = open_page(browser, noted)
    with started("dashboard", folder, "--port", 0) as (_, said):
        port = said["address"].rstrip("/").rpartition(":")[2]
        page.goto(said["address"])
        page.locator("#status.live").wait_for()
    page.get_by_text("the server is away").wait_for()
    add_trial(folder / "search", 3, score=0.83)

    with started("dashboard", folder, "--port", port):
        page.get_by_text("mrr 0.830").wait_for()
        assert page.locator("#status").text_content() == "live"


def test_what_a_reader_typed_outlives_the_server(browser: Any, noted: Noted, folder: Path) -> None:
    page = open_page(browser, noted)
    with started("dashboard", folder, "--port", 0) as (_, said):
        port = said["address"].rstrip("/").rpartition(":")[2]
        page.goto(f"{said['address']}run?run=linked")
        page.locator("#status.live").wait_for()
        page.get_by_label("subject").fill("half a na")
    page.get_by_text("the server is away").wait_for()

    with started("dashboard", folder, "--port", port):
        page.locator("#status.live").wait_for()
        add_epoch(folder / "linked", 77, 0.125)
        page.get_by_text("0.125").first.wait_for(state="attached")
        assert page.get_by_label("subject").input_value() == "half a na"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_telephone_and_nobody_is_shut_out(
    name: str, scheme: str, browser: Any, noted: Noted, still: str
) -> None:
    page = open_page(browser, noted, scheme=scheme)
    page.goto(f"{still}{PAGES[name]}")
    page.locator("h1").wait_for()
    if name != "report":
        page.locator("#status.live").wait_for()
    for details in page.locator("details").all():
        details.evaluate("it => it.open = true")

    assert find_barriers(page) == []
    keep_picture(page, f"{name}-{scheme}")
    page.set_viewport_size({"width": 390, "height": 844})
    assert width_of(page) == 390
    assert find_barriers(page) == []
    keep_picture(page, f"{name}-{scheme}-telephone")
    assert noted.errors == []


def test_who_looks_for_barriers_finds_faint_text(browser: Any, noted: Noted) -> None:
    page = open_page(browser, noted)
    page.set_content("<html lang=en><title>t</title><main><h1>a</h1><p style=color:#bbb>faint")

    assert [found.split(":")[0] for found in find_barriers(page)] == ["color-contrast"]


@pytest.mark.parametrize("name", ["search", "report"])
def test_pages_are_printed_on_light_paper_and_nothing_is_cut_off(
    name: str, browser: Any, noted: Noted, still: str
) -> None:
    page = open_page(browser, noted, width=A4_PIXELS, scheme="dark")
    page.goto(f"{still}{PAGES[name]}")
    page.locator("h1").wait_for()

    page.emulate_media(media="print")

    keep_picture(page, f"{name}-printed")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert width_of(page) <= A4_PIXELS
    assert page.locator("nav:visible").count() == 0
    assert page.pdf().startswith(b"%PDF")


def test_the_keyboard_reaches_a_run(browser: Any, noted: Noted, still: str) -> None:
    page = open_page(browser, noted)
    page.goto(still)
    page.locator("#status.live").wait_for()
    page.get_by_role("link", name="trained", exact=True).wait_for()

    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "trained":
            break
    page.keyboard.press("Enter")

    page.get_by_role("heading", name="trained", exact=True).wait_for()
    assert noted.errors == []
