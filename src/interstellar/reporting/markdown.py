"""A report as Markdown, for a ticket or a paper: the tables, and those behind the charts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from interstellar.printable import printable
from interstellar.reporting.document import (
    Block,
    Cell,
    Chart,
    Charts,
    Document,
    Facts,
    Gallery,
    LineChart,
    Paragraph,
    Section,
    Table,
    format_cell,
    is_number,
    thin,
)

MOST_POINTS = 30
"""Of the numbers of a line; the page has more."""
_SPECIAL = re.compile(r"([\\`*\[\]<>|&])")


def to_markdown(document: Document) -> str:
    """Return a report as Markdown."""
    parts = [f"# {escape(document.title)}", escape(document.subtitle)]
    for section in document.sections:
        parts += _write_section(section, level=2)
    return "\n\n".join(filter(None, parts)) + "\n"


def escape(text: str) -> str:
    """Return text that is no markup, as one line."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def write_table(table: Table) -> str:
    """Return a table with its title above."""
    are_numbers = [any(is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    rules = ["---:" if number else "---" for number in are_numbers]
    rows = [list(map(_write_cell, row)) for row in table.rows]
    lines = [list(map(escape, table.columns)), rules, *rows]
    written = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{escape(table.title)}**\n\n{written}" if table.title else written


def _write_section(section: Section, *, level: int) -> Iterator[str]:
    yield f"{'#' * min(level, 6)} {escape(section.title)}"
    for block in section.blocks:
        yield from _write_block(block)
    for part in section.sections:
        yield from _write_section(part, level=level + 1)


def _write_block(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield write_table(block)
        case Facts():
            pairs = [(name, format_cell(value)) for name, value in block.pairs]
            yield write_table(Table(title="", columns=("", ""), rows=pairs))
        case Paragraph():
            yield escape(block.text)
        case Charts():
            yield from dict.fromkeys(map(_write_numbers, block.charts))  # some share theirs
        case Gallery():
            yield "\n".join(
                f"- {escape(drawing.caption)}: {escape(drawing.text)}" for drawing in block.drawings
            )
        case _:
            assert_never(block)


def _write_numbers(chart: Chart) -> str:
    """Return the numbers behind a chart; of a long line as many as a reader can take in."""
    numbers = chart.numbers
    if isinstance(chart, LineChart):
        numbers = replace(numbers, rows=thin(numbers.rows, MOST_POINTS))
    return write_table(numbers)


def _write_cell(cell: Cell) -> str:
    return escape(format_cell(cell))
