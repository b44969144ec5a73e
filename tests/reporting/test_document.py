"""What a report says before it is HTML or Markdown."""

import pytest

from interstellar.reporting.document import Cell, Table, format_cell, is_number, thin


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (0.41249, "0.412"),
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.00012, "0.00012"),
        (26.46, "26.5"),
        (4707.6, "4,708"),
        (12345, "12,345"),
        (True, "yes"),
        (None, "–"),
        ("ComplEx", "ComplEx"),
    ],
)
def test_cells_are_written_as_people_write_them(cell: Cell, text: str) -> None:
    assert format_cell(cell) == text


def test_only_numbers_are_aligned_as_numbers() -> None:
    assert [is_number(cell) for cell in (1, 0.5, "1", None, True)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    table = Table(title="t", columns=("a", "b", "c"), rows=[(1, None, ""), (0, None, "x")])

    kept = table.without_empty()

    assert list(kept.columns) == ["a", "c"]
    assert [list(row) for row in kept.rows] == [[1, ""], [0, "x"]]


def test_a_table_turned_has_its_columns_as_rows() -> None:
    table = Table(title="t", columns=("run", "mrr"), rows=[("a", 0.5), ("b", None)])

    turned = table.turned()

    assert tuple(turned.columns) == ("run", "a", "b")
    assert [tuple(row) for row in turned.rows] == [("mrr", "0.500", "–")]


def test_thinning_keeps_the_last_and_never_more_than_asked() -> None:
    assert thin([1, 2, 3], 5) == [1, 2, 3]
    assert thin(list(range(10)), 3)[-1] == 9
    assert len(thin(list(range(1000)), 7)) == 7
