"""What a search looks like."""

from pathlib import Path

import pytest

from interstellar.reporting.document import IntervalChart, LineChart
from interstellar.reporting.effects import Effect
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.reporting.search_charts import (
    MOST_CHOICES,
    chart_controller,
    chart_effects,
    chart_search_curves,
)
from tests.reporting.written_runs import KEPT, SEARCHES, write_search


def read(*folders: Path) -> list[RecordedSearch]:
    return [run for run in read_runs(folders) if isinstance(run, RecordedSearch)]


def curves(*folders: Path) -> list[LineChart]:
    return [c for c in chart_search_curves(read(*folders)).charts if isinstance(c, LineChart)]


def test_the_curve_is_the_best_so_far_by_trials_and_by_time(tmp_path: Path) -> None:
    scores = [0.25, 0.125, 0.5, 0.375]
    trials, time = curves(write_search(tmp_path / "run", [{"score": s} for s in scores]))

    assert trials.lines[0].points == [(1, 0.25), (3, 0.5), (4, 0.5)]
    assert time.lines[0].points == [(10.0, 0.25), (30.0, 0.5), (40.0, 0.5)]
    assert trials.dots == [(1, 0.25), (2, 0.125), (3, 0.5), (4, 0.375)]
    assert time.x_title == "seconds"
    assert [row[1:] for row in trials.numbers.rows] == [(1, 10, 0.25), (3, 30, 0.5), (4, 40, 0.5)]


def test_several_searches_are_laid_over_each_other_with_their_names() -> None:
    trials, time = curves(SEARCHES / "wn18rr_hybrid", SEARCHES / "wn18rr_bayes")

    assert [line.name for line in trials.lines] == ["wn18rr_hybrid", "wn18rr_bayes"]
    assert (trials.dots, trials.levels) == ((), ())
    assert time.x_title == "minutes"
    assert {row[0] for row in trials.numbers.rows} == {"wn18rr_hybrid", "wn18rr_bayes"}


def test_the_best_known_model_is_a_level_unless_it_won(tmp_path: Path) -> None:
    known, other = {"score": 0.25}, {"score": 0.5, "formula": "O_r = W3 s ⊙ W4 r; v = O_r"}

    [chart, _] = curves(write_search(tmp_path / "won", [known, other]))
    [without, _] = curves(write_search(tmp_path / "lost", [known, {**other, "score": 0.125}]))

    assert list(chart.levels) == [("best known: TransE", 0.25)]
    assert list(without.levels) == []


def test_all_effects_are_in_the_numbers_and_the_greatest_are_drawn() -> None:
    effects = [
        Effect(choice=f"c{i}", option=str(j), n=2, mean=0.1, error=0.01, alone=0.1)
        for i in range(9)
        for j in range(2)
    ]

    chart = chart_effects(effects, "mrr", 0.1)

    assert isinstance(chart, IntervalChart)
    assert len(chart.numbers.rows) == 18
    assert [interval.group for interval in chart.intervals[::2]] == [
        f"c{i}" for i in range(MOST_CHOICES)
    ]


def test_the_controller_of_a_hybrid_search_has_a_line_for_each_option() -> None:
    [search] = read(SEARCHES / "dbp_wd_hybrid")

    charts = {
        chart.title.partition(":")[0]: chart
        for chart in chart_controller(search).charts
        if isinstance(chart, LineChart)
    }

    assert [line.name for line in charts["Trained matrices"].lines] == [
        f"W_{i}" for i in range(1, 7)
    ]
    options = charts["Relation source"].lines
    assert len(options) == 4
    for place in range(len(options[0].points)):
        assert sum(line.points[place][1] for line in options) == pytest.approx(1)


def test_other_searches_have_no_controller() -> None:
    [bayes, tuned] = read(SEARCHES / "wn18rr_bayes", KEPT / "tuned")

    assert [list(chart_controller(search).charts) for search in (bayes, tuned)] == [[], []]
