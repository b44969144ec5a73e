"""A report as Markdown."""

import re
from dataclasses import replace

from interstellar.reporting.document import (
    BarChart,
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
from interstellar.reporting.markdown import MOST_POINTS, escape, to_markdown, write_table

TABLE = Table(title="Scores", columns=("run", "mrr"), rows=[("a|b", 0.5), ("<script>", None)])


def test_a_table_is_one_of_github_with_numbers_at_the_right() -> None:
    assert write_table(TABLE).splitlines() == [
        "**Scores**",
        "",
        "| run | mrr |",
        "| --- | ---: |",
        "| a\\|b | 0.500 |",
        "| \\<script\\> | – |",
    ]


def test_text_is_no_markup_and_one_line() -> None:
    assert escape("*a* [b](c) <i> & `d`") == r"\*a\* \[b\](c) \<i\> \& \`d\`"
    assert "\n" not in escape("one\ntwo")


def test_sections_nest_and_charts_are_their_numbers() -> None:
    bars = BarChart(title="Ranks", bars=[("1", 1.0)], numbers=TABLE)
    inner = Section(title="Inner", blocks=[Charts([bars]), Facts(pairs=[("seed", 3)])])
    drawing = Drawing(svg="<svg/>", caption="1.", text="O_r = s + r")
    outer = Section(
        title="Outer", blocks=[Paragraph("Said."), Gallery([drawing])], sections=[inner]
    )

    text = to_markdown(Document(title="Report", subtitle="Data: x.", sections=[outer]))

    assert text.startswith(
        "# Report\n\nData: x.\n\n## Outer\n\nSaid.\n\n- 1.: O_r = s + r\n\n### Inner"
    )
    assert "| seed | 3 |" in text
    assert "**Scores**" in text
    assert "svg" not in text


def test_charts_with_the_same_numbers_say_them_once_and_long_lines_shortly() -> None:
    rows = [(i, i / 1000) for i in range(500)]
    numbers = Table(title="Epochs", columns=("epoch", "loss"), rows=rows)
    line = Line(name="", points=[(0.0, 0.0)])
    chart = LineChart(title="t", x_title="x", y_title="y", lines=[line], numbers=numbers)

    text = to_markdown(
        Document(
            title="R",
            subtitle="",
            sections=[Section(title="S", blocks=[Charts([chart, replace(chart, title="u")])])],
        )
    )

    assert text.count("**Epochs**") == 1
    assert len(re.findall(r"^\| \d", text, flags=re.MULTILINE)) == MOST_POINTS
    assert "| 499 | 0.499 |" in text
