"""The page that leads from the paper to the code leads somewhere."""

from pathlib import Path

from tests.named_places import ROOT, missing_places, named_places

PAGE = ROOT / "docs" / "paper_to_code.md"


def test_every_place_that_the_page_names_is_there() -> None:
    assert missing_places(PAGE) == []
    assert len(named_places(PAGE)) > 40


def test_a_place_that_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "| `model/path_cell.py: PathCell.step` | `model/path_cell.py: PathCell.leap` |\n"
        "| `model/warp.py` | `training/presets.py: PRESETS` | `tests/test_none.py: test_a` |\n"
    )

    assert missing_places(page) == [
        "model/path_cell.py: PathCell.leap",
        "model/warp.py",
        "training/presets.py: PRESETS",
        "tests/test_none.py: test_a",
    ]


def test_every_deviation_is_pinned_by_a_test() -> None:
    rows = PAGE.read_text(encoding="utf-8").split("## Where we differ")[1].splitlines()
    deviations = [row for row in rows if row.startswith("| ")][2:]

    assert len(deviations) > 15
    assert [row for row in deviations if "`tests/" not in row.split("|")[-2]] == []
