"""Charts as SVG: few lines, names where the lines end, colours that the page chooses.

What is drawn has classes (`c0` … `c5`, `ink`, `soft`, `grid`), so that one style sheet serves light
and dark pages and paper. A chart is as wide as half a page or a whole telephone.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import assert_never

from interstellar.printable import printable
from interstellar.reporting.axes import Axis, fit_axis, format_tick
from interstellar.reporting.document import (
    BarChart,
    Chart,
    Interval,
    IntervalChart,
    Line,
    LineChart,
    format_cell,
)

WIDTH, HEIGHT = 440, 250
LEFT, TOP, BOTTOM = 46, 24, 40
N_COLOURS = 6
LETTER, LETTERS = 7.2, 16
"""How wide a letter of a label is, and of how many a label at the end of a line is at most."""
LABEL_HEIGHT, ROW_HEIGHT = 14, 19
NAMES_WIDTH = 158
"""Of the options of an interval chart."""
COUNT_WIDTH = 46


def draw_chart(chart: Chart) -> str:
    """Return a chart as an SVG element."""
    match chart:
        case LineChart():
            picture = _draw_lines(chart)
        case IntervalChart():
            picture = _draw_intervals(chart)
        case BarChart():
            picture = _draw_bars(chart)
        case _:
            assert_never(chart)
    return ET.tostring(picture, encoding="unicode")


def _draw_lines(chart: LineChart) -> ET.Element:
    picture = _start(chart.title, HEIGHT)
    names = [_shorten(line.name) for line in chart.lines]
    right = WIDTH - 12 - max((LETTER * len(name) for name in names), default=0)
    points = [point for line in chart.lines for point in line.points] + list(chart.dots)
    xs = [x for x, _ in points]
    ys = [y for _, y in points] + [level for _, level in chart.levels]
    x_axis = fit_axis([0.0, *xs], start=LEFT, end=right)
    x_axis = replace(x_axis, high=min(max(xs) or 1.0, x_axis.high))
    y_axis = fit_axis(chart.y_range or ys, start=HEIGHT - BOTTOM, end=TOP)
    _draw_grid(picture, x_axis, y_axis)
    _write(picture, (LEFT + right) / 2, HEIGHT - 6, chart.x_title, "middle", "soft")
    _write(picture, 2, TOP - 12, chart.y_title, "start", "soft")
    for x, y in chart.dots:
        if y < y_axis.low:
            continue
        place = {"cx": _n(x_axis.place(x)), "cy": _n(y_axis.place(y)), "r": "1.8"}
        ET.SubElement(picture, "circle", {**place, "class": "dot"})
    for name, level in chart.levels:
        y = y_axis.place(level)
        _path(picture, [(LEFT, y), (right, y)], "level")
        _write(picture, right - 2, y + 12, name, "end", "soft")
    for i, line in enumerate(chart.lines):
        _path(picture, _corners(line, x_axis, y_axis), f"line {_colour(i)}")
    ends = [y_axis.place(line.points[-1][1]) if line.points else TOP for line in chart.lines]
    for i, y in enumerate(spread_out(ends, LABEL_HEIGHT, TOP, HEIGHT - BOTTOM)):
        _write(picture, right + 6, y + 4, names[i], "start", f"label {_colour(i)}")
    return picture


def _corners(line: Line, x_axis: Axis, y_axis: Axis) -> list[tuple[float, float]]:
    """Return where a line turns."""
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in line.points]
    if not line.is_stepped:
        return places
    corners = places[:1]
    for x, y in places[1:]:
        corners += [(x, corners[-1][1]), (x, y)]
    return corners


def _draw_grid(picture: ET.Element, x_axis: Axis, y_axis: Axis) -> None:
    y_ticks, x_ticks = y_axis.ticks(), x_axis.ticks()
    for tick in y_ticks:
        y = y_axis.place(tick)
        _path(picture, [(x_axis.start, y), (x_axis.end, y)], "grid")
        _write(picture, x_axis.start - 6, y + 4, format_tick(tick, y_ticks), "end", "soft")
    base = max(y_axis.start, y_axis.end)
    for tick in x_ticks:
        x = x_axis.place(tick)
        _write(picture, x, base + 16, format_tick(tick, x_ticks), "middle", "soft")


def _draw_intervals(chart: IntervalChart) -> ET.Element:
    groups = [
        (name, list(found)) for name, found in groupby(chart.intervals, lambda one: one.group)
    ]
    n_rows = sum(len(found) + (name != "") for name, found in groups)
    height = TOP + ROW_HEIGHT * n_rows + BOTTOM
    picture = _start(chart.title, height)
    values = [
        end
        for one in chart.intervals
        for end in (one.mean - (one.error or 0), one.mean + (one.error or 0))
    ]
    level = [] if chart.level is None else [chart.level[1]]
    axis = fit_axis([*values, *level], start=NAMES_WIDTH, end=WIDTH - COUNT_WIDTH, n_steps=3)
    ticks, base = axis.ticks(), height - BOTTOM
    for tick in ticks:
        x = axis.place(tick)
        _path(picture, [(x, TOP), (x, base)], "grid")
        _write(picture, x, base + 16, format_tick(tick, ticks), "middle", "soft")
    _write(picture, (axis.start + axis.end) / 2, height - 6, chart.x_title, "middle", "soft")
    _write(picture, WIDTH - 2, TOP - 6, "trials", "end", "soft")
    if chart.level is not None:
        x = axis.place(chart.level[1])
        _path(picture, [(x, TOP), (x, base)], "level")
        _write(picture, x, TOP - 6, chart.level[0], "middle", "soft")
    row = 0
    for name, intervals in groups:
        if name:
            _write(picture, 2, TOP + ROW_HEIGHT * row + 14, name, "start", "ink strong")
            row += 1
        for interval in intervals:
            _draw_interval(picture, interval, axis, TOP + ROW_HEIGHT * row + 9)
            row += 1
    return picture


def _draw_interval(picture: ET.Element, interval: Interval, axis: Axis, y: float) -> None:
    _write(picture, NAMES_WIDTH - 10, y + 4, _shorten(interval.name, 20), "end", "ink")
    x = axis.place(interval.mean)
    if interval.error is not None:
        ends = [axis.place(interval.mean + sign * interval.error) for sign in (-1, 1)]
        _path(picture, [(end, y) for end in ends], "line c0")
    place = {"cx": _n(x), "cy": _n(y), "r": "3.6", "class": "mark"}
    ET.SubElement(picture, "circle", place)
    _write(picture, WIDTH - 2, y + 4, format_cell(interval.n), "end", "soft")


def _draw_bars(chart: BarChart) -> ET.Element:
    picture = _start(chart.title, HEIGHT - 40)
    base = HEIGHT - 40 - BOTTOM + 12
    highest = max(share for _, share in chart.bars) or 1.0
    axis = Axis(low=0.0, high=highest, start=base, end=TOP + 16, step=highest)
    width = (WIDTH - 8) / len(chart.bars)
    for i, (name, share) in enumerate(chart.bars):
        x, y = 4 + i * width, axis.place(share)
        place = {"x": _n(x + 3), "y": _n(y), "width": _n(width - 6), "height": _n(base - y)}
        ET.SubElement(picture, "rect", {**place, "class": "bar"})
        _write(picture, x + width / 2, y - 5, f"{100 * share:.1f} %", "middle", "ink")
        _write(picture, x + width / 2, base + 16, name, "middle", "soft")
    _path(picture, [(4, base), (WIDTH - 4, base)], "grid")
    return picture


def spread_out(places: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Return places moved so that they are so far apart and, if there is room, within bounds."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [0.0] * len(places)
    least = low
    for i in order:
        moved[i] = max(places[i], least)
        least = moved[i] + apart
    most = high
    for i in reversed(order):
        moved[i] = min(moved[i], most)
        most = moved[i] - apart
    return moved


def _start(title: str, height: float) -> ET.Element:
    view = {"viewBox": f"0 0 {WIDTH} {_n(height)}", "role": "img", "class": "chart"}
    return ET.Element("svg", {**view, "aria-label": printable(title)})


def _path(picture: ET.Element, points: Sequence[tuple[float, float]], kind: str) -> None:
    if len(points) == 1:
        points = [points[0], points[0]]  # a dot, by the round end of a line
    d = " ".join(f"{'L' if i else 'M'}{_n(x)},{_n(y)}" for i, (x, y) in enumerate(points))
    if points:
        ET.SubElement(picture, "path", {"d": d, "class": kind})


def _write(picture: ET.Element, x: float, y: float, text: str, anchor: str, kind: str) -> None:
    place = {"x": _n(x), "y": _n(y), "text-anchor": anchor, "class": kind}
    ET.SubElement(picture, "text", place).text = printable(text)


def _colour(i: int) -> str:
    return f"c{i}" if i < N_COLOURS else "rest"


def _shorten(name: str, most: int = LETTERS) -> str:
    """Return the end of a name, which is where folders of runs differ."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
