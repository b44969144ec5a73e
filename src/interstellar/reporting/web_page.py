"""A report as one HTML file: its style and drawings are in it, and nothing is fetched or run.

A page is made of what strangers wrote: names of runs, of relations, reasons of failures. All of it
is escaped, and the page forbids scripts and loading to itself.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import assert_never
from urllib.parse import quote

from interstellar.architecture.picture import NAMESPACE
from interstellar.printable import printable
from interstellar.reporting.charts import draw_chart
from interstellar.reporting.document import (
    Block,
    Cell,
    Chart,
    Charts,
    Document,
    Drawing,
    Facts,
    Gallery,
    Paragraph,
    Section,
    Table,
    format_cell,
    is_number,
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
LONG = 24
"""Letters of a cell that is not to become a narrow column of words."""
_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_html(document: Document) -> str:
    """Return a report as a whole page."""
    sections = list(enumerate(document.sections, 1))
    links = "".join(
        f'<li><a href="#part-{number}">{escape_text(section.title)}</a></li>'
        for number, section in sections
    )
    parts = "\n".join(
        f'<section id="part-{number}">\n{write_section(section, level=2)}</section>'
        for number, section in sections
    )
    contents = f'<nav aria-label="Parts"><ul>{links}</ul></nav>' if len(sections) > 1 else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape_text(document.title)}</title>
<style>
{read_style()}</style>
</head>
<body>
<header>
<h1>{escape_text(document.title)}</h1>
<p>{escape_text(document.subtitle)}</p>
{contents}
</header>
<main>
{parts}
</main>
</body>
</html>
"""


@cache
def read_style() -> str:
    """Return the style sheet, which serves the dashboard too."""
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def write_section(section: Section, *, level: int) -> str:
    """Return a section under a heading of some level."""
    heading = f"<h{level}>{escape_text(section.title)}</h{level}>"
    content = "\n".join(
        [
            *map(_write_block, section.blocks),
            *(write_section(part, level=level + 1) for part in section.sections),
        ]
    )
    if section.is_folded:
        return f"<details><summary>{heading}</summary>\n{content}</details>\n"
    return f"{heading}\n{content}\n"


def _write_block(block: Block) -> str:
    match block:
        case Table():
            return write_table(block)
        case Facts():
            return f"<dl>{''.join(map(_write_fact, block.pairs))}</dl>"
        case Paragraph():
            return f'<p class="note">{escape_text(block.text)}</p>'
        case Charts():
            return f'<div class="charts">\n{"".join(map(_write_chart, block.charts))}</div>'
        case Gallery():
            return f'<div class="gallery">\n{"".join(map(_write_drawing, block.drawings))}</div>'
        case _:
            assert_never(block)


def write_table(table: Table) -> str:
    """Return a table in a box of its own, which scrolls where the page is narrow."""
    are_numbers = [any(is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    titles = zip(table.columns, are_numbers, strict=True)
    head = "".join(f'<th scope="col"{_align(number)}>{escape_text(t)}</th>' for t, number in titles)
    body = "\n".join(f"<tr>{''.join(_write_cells(row, are_numbers))}</tr>" for row in table.rows)
    caption = f"<caption>{escape_text(table.title)}</caption>" if table.title else ""
    named = escape(printable(table.title or "Table"))
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{named}">'
        f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n"
    )


def _write_cells(row: Sequence[Cell], are_numbers: Sequence[bool]) -> Iterator[str]:
    for cell, number in zip(row, are_numbers, strict=True):
        text = format_cell(cell)
        wide = ' class="long"' if len(text) > LONG and not number else _align(number)
        yield f"<td{wide}>{escape_text(text)}</td>"


def _align(number: bool) -> str:
    return ' class="number"' if number else ""


def _write_fact(pair: tuple[str, Cell]) -> str:
    name, value = pair
    return f"<dt>{escape_text(name)}</dt><dd>{escape_text(format_cell(value))}</dd>"


def _write_chart(chart: Chart) -> str:
    numbers = chart.numbers
    download = f'<a download="{_file_name(chart.title)}" href="{to_data_address(numbers)}">CSV</a>'
    return (
        f"<figure><figcaption><b>{escape_text(chart.title)}</b></figcaption>\n{draw_chart(chart)}\n"
        f"<details><summary>Numbers</summary>{download}\n{write_table(numbers)}</details></figure>\n"
    )


def _write_drawing(drawing: Drawing) -> str:
    svg = drawing.svg.replace(f' xmlns="{NAMESPACE}"', "", 1)
    caption = f"<b>{escape_text(drawing.caption)}</b><br>{escape_text(drawing.text)}"
    return f"<figure><figcaption>{caption}</figcaption>\n{svg}</figure>\n"


def to_data_address(table: Table) -> str:
    """Return the numbers of a table, with all their digits, as an address that holds them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_csv_cell, table.columns))
    writer.writerows([_csv_cell(cell) for cell in row] for row in table.rows)
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue(), safe='')}"


def _csv_cell(cell: Cell) -> Cell:
    """Return a cell that a spreadsheet takes for no formula."""
    if isinstance(cell, str):
        plain = printable(cell)
        return f"'{plain}" if plain.startswith(_STARTS_A_FORMULA) else plain
    return cell


def _file_name(title: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in title.casefold()).split()
    return escape("_".join(words)[:60] + ".csv")


def escape_text(text: str) -> str:
    """Return what a stranger wrote as text of a page or value of an attribute."""
    return escape(printable(text))
