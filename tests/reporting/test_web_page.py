"""A report as one HTML file."""

import csv
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from interstellar.reporting import web_page
from interstellar.reporting.document import (
    Block,
    Charts,
    Document,
    Drawing,
    Facts,
    Gallery,
    Line,
    LineChart,
    Paragraph,
    Section,
    Table,
)
from interstellar.reporting.web_page import to_data_address, to_html, write_table
from tests.reporting.written_runs import Page

HOSTILE = "<script>alert('x')</script>\"&\x00"
NUMBERS = Table(title=HOSTILE, columns=("run", "mrr"), rows=[(HOSTILE, 0.123456789), ("=1+1", 2)])
CHART = LineChart(
    title=HOSTILE,
    x_title=HOSTILE,
    y_title="mrr",
    lines=[Line(name=HOSTILE, points=[(0.0, 0.1), (1.0, 0.2)])],
    numbers=NUMBERS,
)
STYLE = Path(web_page.__file__).with_name("page.css").read_text(encoding="utf-8")


def whole(*sections: Section) -> str:
    return to_html(Document(title=HOSTILE, subtitle=HOSTILE, sections=sections))


def section(title: str = HOSTILE, *, is_folded: bool = False) -> Section:
    drawing = Drawing(svg="<svg><title>x</title></svg>", caption=HOSTILE, text=HOSTILE)
    blocks: list[Block] = [
        Paragraph(HOSTILE),
        NUMBERS,
        Facts(pairs=[(HOSTILE, HOSTILE)]),
        Charts([CHART]),
        Gallery([drawing]),
    ]
    return Section(title=title, blocks=blocks, is_folded=is_folded)


def test_the_page_is_whole_and_everything_hostile_is_text() -> None:
    text = whole(section(), section())

    page = Page(text)

    assert page.count("script") == 0
    assert "alert('x')" in unescape(text)
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]


def test_the_page_forbids_itself_scripts_and_loading() -> None:
    text = whole(section())

    page = Page(text)

    policies = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert policies == [web_page.POLICY]
    assert "default-src 'none'" in web_page.POLICY
    assert not re.search(r"(src|href|url)\s*[=(]\s*['\"]?(https?:)?//", text)
    links = [a["href"] or "" for tag, a in page.tags if tag == "a"]
    assert all(link.startswith(("#", "data:text/csv")) for link in links)


def test_the_page_has_a_language_headings_in_order_and_a_width_for_telephones() -> None:
    inner = Section(title="Inner", sections=[Section(title="Innermost")])
    page = Page(whole(section("Outer"), Section(title="Next", sections=[inner])))

    assert ("html", {"lang": "en"}) in page.tags
    headings = [tag for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert headings == ["h1", "h2", "h2", "h3", "h4"]
    names = {attributes.get("name") for tag, attributes in page.tags if tag == "meta"}
    assert "viewport" in names


def test_links_lead_to_their_parts() -> None:
    page = Page(whole(section("one"), section("two")))

    ids = {attributes.get("id") for tag, attributes in page.tags if tag == "section"}
    links = {(a["href"] or "")[1:] for tag, a in page.tags if tag == "a" if "download" not in a}
    assert links == ids
    assert len(ids) == 2


def test_wide_tables_scroll_in_a_box_that_keys_can_reach() -> None:
    [box, *_] = Page(write_table(NUMBERS)).tags

    assert box[1]["class"] == "scroll"
    assert (box[1]["tabindex"], box[1]["role"]) == ("0", "group")
    assert box[1]["aria-label"]


def test_what_is_folded_can_be_opened() -> None:
    page = Page(whole(section("Settings", is_folded=True)))

    tags = [tag for tag, _ in page.tags]
    assert tags[tags.index("summary") + 1] == "h2"


def test_the_numbers_behind_a_chart_can_be_had_with_all_their_digits() -> None:
    text = unquote(to_data_address(NUMBERS).partition(",")[2])

    rows = list(csv.reader(text.splitlines()))

    assert rows[0] == ["run", "mrr"]
    assert float(rows[1][1]) == 0.123456789


def test_a_spreadsheet_takes_no_name_for_a_formula() -> None:
    text = unquote(to_data_address(NUMBERS).partition(",")[2])

    assert list(csv.reader(text.splitlines()))[2] == ["'=1+1", "2"]


def test_drawings_name_no_address() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="1"><title>x</title></svg>'
    drawn = Section(title="t", blocks=[Gallery([Drawing(svg=svg, caption="", text="")])])

    assert "http://" not in whole(drawn)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_colours_of_text_have_the_contrast_of_wcag_aa(scheme: str) -> None:
    light, dark = (
        dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", part)) for part in STYLE.split("@media")[:2]
    )
    colours = light if scheme == "light" else dark

    for name in ("ink", "soft", "link", *(f"c{i}" for i in range(6))):
        assert contrast(colours[name], colours["ground"]) >= 4.5, name
    assert set(light) == set(dark)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, as WCAG 2.2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
