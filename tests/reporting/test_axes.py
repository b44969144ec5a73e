"""Axes: round numbers, and where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interstellar.reporting.axes import Axis, fit_axis, format_tick

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@given(NUMBERS)
def test_an_axis_holds_all_values_and_has_few_ticks(values: list[float]) -> None:
    axis = fit_axis(values, start=0.0, end=100.0)

    assert all(-1e-6 <= axis.place(value) <= 100 + 1e-6 for value in values)
    assert axis.low <= min(values) + 1e-6 * axis.step
    assert axis.high >= max(values) - 1e-6 * axis.step
    assert 2 <= len(axis.ticks()) <= 9


@given(NUMBERS)
def test_larger_numbers_stand_further_along(values: list[float]) -> None:
    axis = fit_axis(values, start=0.0, end=100.0)

    places = [axis.place(value) for value in sorted(values)]

    assert places == sorted(places)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.0, 0.42], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ([0.0, 100.0], [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
        ([3.0, 5.5], [3.0, 3.5, 4.0, 4.5, 5.0, 5.5]),
    ],
)
def test_ticks_are_round(values: list[float], ticks: list[float]) -> None:
    assert fit_axis(values, start=0, end=1).ticks() == ticks


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 1e-12])
def test_one_value_stands_in_the_middle(value: float) -> None:
    axis = fit_axis([value], start=0.0, end=100.0)

    assert 30 < axis.place(value) < 70


def test_numbers_that_no_metric_has_do_not_break_it() -> None:
    axis = fit_axis([-1.7e308, 1.7e308, 0.0], start=0.0, end=100.0)

    assert [axis.place(value) for value in (-1.7e308, 1.7e308)] == [0.0, 100.0]


def test_what_lies_beyond_stands_at_the_end() -> None:
    axis = Axis(low=0.0, high=1.0, start=10.0, end=20.0, step=0.5)

    assert [axis.place(value) for value in (-1.0, 0.5, 7.0)] == [10.0, 15.0, 20.0]


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"]),
        ([0.0, 20.0], ["0", "20"]),
        ([0.0, 5000.0], ["0", "5,000"]),
        ([0.38, 0.4], ["0.38", "0.40"]),
    ],
)
def test_ticks_have_as_many_digits_as_tell_them_apart(ticks: list[float], texts: list[str]) -> None:
    assert [format_tick(tick, ticks) for tick in ticks] == texts
