"""Charts as SVG."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.reporting.charts import HEIGHT, WIDTH, draw_chart, spread_out
from interstellar.reporting.document import (
    BarChart,
    Chart,
    Interval,
    IntervalChart,
    Line,
    LineChart,
    Table,
)

NOTHING = Table(title="", columns=(), rows=())
HOSTILE = "<script>alert(1)</script>\x00\x1b[31m\ud800"


def line_chart(*lines: Line, **others: object) -> LineChart:
    return LineChart(
        title="t",
        x_title="x",
        y_title="y",
        lines=lines,
        numbers=NOTHING,
        **others,  # type: ignore[arg-type]
    )


def texts(chart: Chart) -> list[str]:
    return [found.text or "" for found in ET.fromstring(draw_chart(chart)).iter("text")]


def paths(chart: Chart, kind: str) -> list[list[tuple[float, float]]]:
    """Return the corners of the lines of a kind."""
    drawn = [p for p in ET.fromstring(draw_chart(chart)).iter("path") if kind in p.attrib["class"]]
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([\d.-]+),([\d.-]+)", p.attrib["d"])]
        for p in drawn
    ]


def test_a_line_goes_through_its_points_within_the_picture() -> None:
    chart = line_chart(Line(name="a", points=[(0, 0.0), (5, 0.5), (10, 1.0)]))

    [corners] = paths(chart, "line c0")

    assert len(corners) == 3
    assert corners[1][0] - corners[0][0] == pytest.approx(corners[2][0] - corners[1][0], abs=0.2)
    assert corners[0][1] > corners[1][1] > corners[2][1]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in corners)


def test_a_stepped_line_stays_until_the_next_point() -> None:
    [corners] = paths(
        line_chart(Line(name="", points=[(0, 0.0), (1, 1.0)], is_stepped=True)), "line"
    )

    assert len(corners) == 3
    assert corners[0][1] == corners[1][1]
    assert corners[1][0] == corners[2][0]


def test_each_line_has_its_name_at_its_end_in_its_colour() -> None:
    chart = line_chart(*(Line(name=f"run {i}", points=[(0, 0.0), (1, i / 10)]) for i in range(8)))

    picture = ET.fromstring(draw_chart(chart))

    labels = {t.text: t.attrib["class"].split()[-1] for t in picture.iter("text")}
    colours = ["c0", "c1", "c2", "c3", "c4", "c5", "rest", "rest"]
    assert [labels[f"run {i}"] for i in range(8)] == colours


def test_labels_of_lines_that_end_together_do_not_cover_each_other() -> None:
    chart = line_chart(*(Line(name=f"r{i}", points=[(0, 0.5), (1, 0.5)]) for i in range(5)))

    heights = sorted(
        float(t.attrib["y"])
        for t in ET.fromstring(draw_chart(chart)).iter("text")
        if (t.text or "").startswith("r")
    )

    assert all(b - a >= 13.9 for a, b in pairwise(heights))


@given(st.lists(st.floats(0, 200), max_size=12))
def test_places_are_spread_in_their_order_and_bounds(places: list[float]) -> None:
    moved = spread_out(places, 14, 0, 200)

    order = sorted(range(len(places)), key=lambda i: places[i])
    in_order = [moved[i] for i in order]
    assert all(b - a >= 14 - 1e-6 for a, b in pairwise(in_order))
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in moved)


def test_dots_below_the_range_are_left_out_and_a_level_has_its_name() -> None:
    chart = line_chart(
        Line(name="", points=[(0, 0.5), (1, 0.9)]),
        dots=[(0.2, 0.6), (0.4, 0.1)],
        levels=[("best known", 0.7)],
        y_range=(0.5, 0.9),
    )

    assert draw_chart(chart).count("<circle") == 1
    assert "best known" in texts(chart)


def test_intervals_have_dot_error_and_count_in_their_groups() -> None:
    chart = IntervalChart(
        title="t",
        x_title="mrr",
        intervals=[
            Interval(group="relation", name="add", mean=0.4, error=0.1, n=12),
            Interval(group="relation", name="gated", mean=0.2, error=None, n=1),
            Interval(group="output", name="add", mean=0.3, error=0.05, n=1300),
        ],
        level=("all trials", 0.3),
        numbers=NOTHING,
    )

    written = texts(chart)

    assert [w for w in written if w in ("relation", "output")] == ["relation", "output"]
    assert {"add", "gated", "12", "1", "1,300", "all trials"} <= set(written)
    assert len(paths(chart, "line")) == 2
    assert draw_chart(chart).count("<circle") == 3


def test_bars_are_as_high_as_their_shares() -> None:
    chart = BarChart(title="t", bars=[("1", 0.5), ("2–3", 0.25), ("> 3", 0.0)], numbers=NOTHING)

    heights = [float(bar.attrib["height"]) for bar in ET.fromstring(draw_chart(chart)).iter("rect")]

    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[2] == 0
    assert {"50.0 %", "25.0 %", "0.0 %"} <= set(texts(chart))


@pytest.mark.parametrize(
    "chart",
    [
        line_chart(Line(name=HOSTILE, points=[(0, 1.0)]), levels=[(HOSTILE, 1.0)]),
        line_chart(Line(name="", points=[(1, 1.7e308), (2, -1.7e308)])),
        line_chart(Line(name="", points=[(1, 0.1), (1.7e308, 0.2)])),
        line_chart(Line(name="", points=[(-1.7e308, 0.1), (-1.0, 0.2)])),
        line_chart(Line(name="", points=[]), Line(name="", points=[(1, 0.5)])),
        IntervalChart(
            title=HOSTILE,
            x_title=HOSTILE,
            intervals=[Interval(group=HOSTILE, name=HOSTILE, mean=0.0, error=None, n=1)],
            numbers=NOTHING,
        ),
        BarChart(title=HOSTILE, bars=[(HOSTILE, 0.0)], numbers=NOTHING),
    ],
)
def test_whatever_is_drawn_is_well_formed(chart: Chart) -> None:
    drawn = draw_chart(chart)

    assert ET.fromstring(drawn).tag == "svg"
    assert "<script" not in drawn
    drawn.encode()
