"""Writes the reports in `docs/reports`, and the pictures of them and of the dashboard.

The runs are those of `results/searches`. `make pages` writes all anew; a test fails where a page
does not say what `interstellar report` says of these runs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import interstellar as ist

ROOT = Path(__file__).parents[1]
SEARCHES = ROOT / "results" / "searches"
REPORTS, PICTURES = ROOT / "docs" / "reports", ROOT / "docs" / "screenshots"
RUNS = {
    "dbp_wd": ("dbp_wd_hybrid",),
    "wn18rr": ("wn18rr_bayes", "wn18rr_hybrid"),
}
WIDTH, HEIGHT = 1000, 760


def write_report(name: str, folder: Path) -> Path:
    """Write one of the reports into a folder."""
    runs = [SEARCHES / run for run in RUNS[name]]
    return ist.report(runs, folder / f"{name}.html", overwrite=True)


def take_pictures() -> None:
    """Take a picture of a report and one of the dashboard; needs Playwright and a Chromium."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    served = [sys.executable, "-m", "interstellar", "dashboard", str(SEARCHES), "--port", "0"]
    with (
        subprocess.Popen([*served, "--json"], stdout=subprocess.PIPE, text=True) as server,  # noqa: S603
        sync_playwright() as playwright,
    ):
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto((REPORTS / "wn18rr.html").as_uri())
        page.evaluate("document.querySelectorAll('#part-2 h3')[1].scrollIntoView()")
        page.screenshot(path=PICTURES / "report.png")
        page.goto(f"{address}run?run=dbp_wd_hybrid")
        page.locator("section[data-part=Leaderboard]").wait_for()
        page.screenshot(path=PICTURES / "dashboard.png")
        browser.close()
        server.terminate()


def main() -> None:
    """Write all of it."""
    for name in RUNS:
        write_report(name, REPORTS)
    take_pictures()


if __name__ == "__main__":
    main()
