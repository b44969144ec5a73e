"""ARCHITECTURE.md leads somewhere: its walks and its guards are there."""

import re

import pytest

from tests.named_places import ROOT, missing_places, named_places

PAGE = ROOT / "ARCHITECTURE.md"
WALKS = ("A triplet, from a file to a prediction", "A search, from the command to the winner")


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_has_at_most_twelve_stops_each_a_file_and_a_name(title: str) -> None:
    walk = PAGE.read_text(encoding="utf-8").split(f"**{title}**")[1].split("\n\n")[1]
    stops = walk.strip().splitlines()

    assert 1 < len(stops) <= 12
    assert [stop for stop in stops if not re.match(r"\d+\. `[\w/]+\.py: [\w.]+`", stop)] == []


def test_every_place_that_the_page_names_is_there() -> None:
    assert missing_places(PAGE) == []
    assert len(named_places(PAGE)) > 30


def test_every_guard_of_an_invariant_is_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE.read_text(encoding="utf-8"))

    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
