"""Budgets: trials, time, or both."""

import pytest

from interstellar.errors import SettingsError
from interstellar.searching.budget import Budget, read_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("20m", 1200),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("0.5h", 1800),
        (" 1H ", 3600),
        ("1d2h3m4s", 93_784),
        ("0s", 0),
    ],
)
def test_a_time_is_read(text: str, seconds: float) -> None:
    assert read_time(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "20", "m", "-5m", "5 minutes", "1h-30m", "1h 30m", "1e3s", "nan", "infs", "5mm"]
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingsError, match=r"is not a time.* 1h30m"):
        read_time(text)


@pytest.mark.parametrize("trials", [0, -3])
def test_a_search_without_trials_is_refused(trials: int) -> None:
    with pytest.raises(SettingsError, match=f"--trials is {trials}"):
        Budget(trials=trials)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(SettingsError, match="it must be above 0"):
        Budget(seconds=seconds)


def test_a_search_without_an_end_is_refused() -> None:
    with pytest.raises(SettingsError, match="Give --trials, --time, or both"):
        Budget()


def test_one_of_both_is_enough() -> None:
    assert Budget(trials=1).seconds is None
    assert Budget(seconds=0.5).trials is None
