"""The reports in the manual say what `report` says today."""

from pathlib import Path

import pytest

from tests.manual_page import DOCS, load_writer
from tests.reporting.written_runs import Page

writer = load_writer("example_pages")
MAX_BYTES, MAX_PICTURE_BYTES = 400_000, 150_000


@pytest.mark.parametrize("name", writer.RUNS)
def test_a_report_of_the_manual_is_up_to_date(name: str, tmp_path: Path) -> None:
    kept = writer.REPORTS / f"{name}.html"

    now = writer.write_report(name, tmp_path)

    texts = [Page(path.read_text(encoding="utf-8")).texts for path in (kept, now)]
    assert texts[0] == texts[1], "run `make pages`"
    assert kept.stat().st_size < MAX_BYTES


def test_pages_and_pictures_are_shown_and_small() -> None:
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    pictures = sorted(writer.PICTURES.iterdir())

    assert all(f"screenshots/{path.name}" in text for path in pictures)
    assert all(f"reports/{path.name})" in text for path in writer.REPORTS.iterdir())
    assert all(path.stat().st_size < MAX_PICTURE_BYTES for path in pictures)
