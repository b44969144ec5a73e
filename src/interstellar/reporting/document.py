"""What a report says before it is HTML or Markdown: sections of blocks, all plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

Cell: TypeAlias = str | int | float | None
"""What stands in a table: a text, a count, a measured number, or nothing."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows below titles; numbers are aligned at the right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def without_empty(self) -> "Table":
        """Return the same without columns in which nothing stands."""
        kept = [
            i
            for i in range(len(self.columns))
            if any(row[i] not in (None, "") for row in self.rows)
        ]
        return Table(
            title=self.title,
            columns=[self.columns[i] for i in kept],
            rows=[[row[i] for i in kept] for row in self.rows],
        )

    def turned(self) -> "Table":
        """Return the same with columns as rows, as text: what stands in one is of any kind."""
        first, *others = zip(
            self.columns, *(map(format_cell, row) for row in self.rows), strict=True
        )
        return Table(title=self.title, columns=first, rows=others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names with what they stand for, one a line."""

    pairs: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or a few."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points (x, y) in the order of x, with the name that stands at their end."""

    name: str
    points: Sequence[tuple[float, float]]
    is_stepped: bool = False
    """Whether y stays as it is until the next x."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Lines over one axis, the numbers behind them below."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    dots: Sequence[tuple[float, float]] = ()
    """Single measurements, behind the lines."""
    levels: Sequence[tuple[str, float]] = ()
    """Heights with a name, drawn across."""
    numbers: Table
    y_range: tuple[float, float] | None = None
    """Lowest and highest y; None: those of what is drawn. Dots below are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean with its standard error, if that is known."""

    group: str
    name: str
    mean: float
    error: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalChart:
    """Means with their errors below each other, in groups."""

    title: str
    x_title: str
    intervals: Sequence[Interval]
    level: tuple[str, float] | None = None
    """A value with a name, drawn from top to bottom."""
    numbers: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """A share for each of some names in an order."""

    title: str
    bars: Sequence[tuple[str, float]]
    numbers: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A picture that was drawn elsewhere, with what stands below it."""

    svg: str
    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures beside each other."""

    drawings: Sequence[Drawing]


@dataclass(frozen=True, slots=True)
class Charts:
    """Charts beside each other where there is room."""

    charts: Sequence["Chart"]


Chart: TypeAlias = LineChart | IntervalChart | BarChart
Block: TypeAlias = Table | Facts | Paragraph | Charts | Gallery


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with what stands below it."""

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence["Section"] = field(default_factory=tuple)
    is_folded: bool = False
    """Whether it is to be opened by who wants it: settings, environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    sections: Sequence[Section]


def format_cell(cell: Cell) -> str:
    """Return a share as 0.412, a count as 12,345, other numbers with four digits."""
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case float():
            return _format_number(cell)
        case _:
            return cell


def _format_number(number: float) -> str:
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    if abs(number) >= 10:
        return f"{number:.1f}"
    if number == 0 or abs(number) >= 0.001:
        return f"{number:.3f}"
    return f"{number:.2g}"


def is_number(cell: Cell) -> bool:
    """Return whether a cell is aligned at the right."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def thin(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most so many of some items, evenly spaced, always the last."""
    if len(items) <= most:
        return list(items)
    return [items[(i + 1) * len(items) // most - 1] for i in range(most)]
