"""What a search looks like: its curve, the effects of choices, its controller."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from interstellar.architecture.search_space import Choice
from interstellar.reporting.document import (
    Cell,
    Charts,
    Interval,
    IntervalChart,
    Line,
    LineChart,
    Table,
    thin,
)
from interstellar.reporting.effects import Effect
from interstellar.reporting.recorded_search import Known, RecordedSearch

MOST_DOTS, MOST_ROWS = 400, 200
"""Points of a picture, rows of the numbers behind it."""
MOST_CHOICES = 6
"""Whose effects are drawn; the numbers have all."""
UNITS = ((2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))
"""From how many seconds on which unit is used."""


def chart_search_curves(searches: Sequence[RecordedSearch]) -> Charts:
    """Return the best score so far against trials and against time, of searches of one metric."""
    metric = searches[0].metric
    alone = searches[0] if len(searches) == 1 else None
    seconds, unit = _choose_unit(searches)
    levels = () if alone is None else tuple(_best_known(alone))
    y_range = _interesting(searches)
    dotted = "" if alone is None else "; dots: single trials but for the lowest quarter"
    numbers = Table(
        title="Best so far",
        columns=("run", "trials", "seconds", metric),
        rows=list(_list_best(searches)),
    )
    trials = LineChart(
        title=f"Best {metric} so far, by trials{dotted}",
        x_title="trials",
        y_title=metric,
        lines=[_line(s, alone, [(float(k.n_trials), k.score) for k in _best(s)]) for s in searches],
        dots=() if alone is None else [(k.n_trials, k.score) for k in thin(alone.known, MOST_DOTS)],
        levels=levels,
        y_range=y_range,
        numbers=numbers,
    )
    time = LineChart(
        title=f"Best {metric} so far, by time{dotted}",
        x_title=unit,
        y_title=metric,
        lines=[_line(s, alone, list(_by_time(_best(s), seconds))) for s in searches],
        dots=() if alone is None else list(_by_time(thin(alone.known, MOST_DOTS), seconds)),
        levels=levels,
        y_range=y_range,
        numbers=numbers,
    )
    return Charts([chart for chart in (trials, time) if any(line.points for line in chart.lines)])


def chart_effects(effects: Sequence[Effect], metric: str, mean: float) -> IntervalChart:
    """Return what the trials earned that took each option of the choices that matter most."""
    choices = [choice for choice, _ in groupby(effects, lambda effect: effect.choice)]
    rows: list[tuple[Cell, ...]] = [
        (e.choice, e.option, e.n, e.mean, e.error, e.alone) for e in effects
    ]
    return IntervalChart(
        title=f"Mean {metric} of the trials with each option, and its standard error",
        x_title=f"{metric} at the first rung",
        intervals=[
            Interval(group=e.choice, name=e.option, mean=e.mean, error=e.error, n=e.n)
            for e in effects
            if e.choice in choices[:MOST_CHOICES]
        ],
        level=("all trials", mean),
        numbers=Table(
            title="Effects of choices",
            columns=("choice", "option", "trials", f"mean {metric}", "standard error", "alone"),
            rows=rows,
        ),
    )


def chart_controller(search: RecordedSearch) -> Charts:
    """Return how the probabilities of options moved; of a matrix, that it is trained."""
    moments = thin(search.controllers, MOST_DOTS)
    if len(moments) < 2:
        return Charts([])
    plan = search.run.experiment.plan
    assert plan is not None
    choices = plan.space.choices()
    xs = [float(moment.n_trials) for moment in moments]

    def line(i: int, option: int, name: str) -> Line:
        ys = [moment.theta[i][option] for moment in moments]
        return Line(name=name, points=list(zip(xs, ys, strict=True)), is_stepped=True)

    matrices = [(i, c) for i, c in enumerate(choices) if c.options == (False, True)]
    charts = [_chart_theta("Trained matrices", [line(i, 1, c.name) for i, c in matrices])]
    for i, choice in enumerate(choices):
        if (i, choice) not in matrices and len(choice.options) > 1:
            lines = [line(i, j, str(option)) for j, option in enumerate(choice.options)]
            charts.append(_chart_theta(_words(choice), lines))
    return Charts([chart for chart in charts if chart.lines])


def _chart_theta(what: str, lines: Sequence[Line]) -> LineChart:
    return LineChart(
        title=f"{what}: probabilities of the controller",
        x_title="trials",
        y_title="probability",
        lines=lines,
        y_range=(0.0, 1.0),
        numbers=table_of_lines("trials", lines),
    )


def table_of_lines(x_title: str, lines: Sequence[Line]) -> Table:
    """Return the numbers of lines: one row for each x, one column for each line."""
    by_line = [dict(line.points) for line in lines]
    xs = thin(sorted({x for points in by_line for x in points}), MOST_ROWS)
    rows: list[tuple[Cell, ...]] = [
        (int(x) if x == int(x) else x, *(points.get(x) for points in by_line)) for x in xs
    ]
    return Table(title="", columns=(x_title, *(line.name for line in lines)), rows=rows)


def _words(choice: Choice) -> str:
    return choice.name.replace("_", " ").capitalize()


def _line(
    search: RecordedSearch, alone: RecordedSearch | None, points: list[tuple[float, float]]
) -> Line:
    """Return the curve of a search; one alone needs no name."""
    return Line(name="" if alone else search.run.name, points=points, is_stepped=True)


def _best(search: RecordedSearch) -> list[Known]:
    return thin(search.best_so_far, MOST_ROWS)


def _list_best(searches: Sequence[RecordedSearch]) -> Iterator[tuple[Cell, ...]]:
    for search in searches:
        for known in _best(search):
            yield search.run.name, known.n_trials, known.seconds, known.score


def _by_time(known: Sequence[Known], unit: float) -> Iterator[tuple[float, float]]:
    for one in known:
        if one.seconds is not None:
            yield one.seconds / unit, one.score


def _interesting(searches: Sequence[RecordedSearch]) -> tuple[float, float]:
    """Return from where to where scores are drawn: without the lowest quarter of the trials."""
    scores = sorted(known.score for search in searches for known in search.known)
    return scores[len(scores) // 4], scores[-1]


def _choose_unit(searches: Sequence[RecordedSearch]) -> tuple[float, str]:
    longest = max((search.seconds or 0.0 for search in searches), default=0.0)
    return next((unit, name) for least, unit, name in UNITS if longest >= least)


def _best_known(search: RecordedSearch) -> Iterator[tuple[str, float]]:
    """Yield the best known model, unless it is the best of all."""
    known = search.baselines[:1]
    if known and known[0].score is not None and known[0].score < search.best_so_far[-1].score:
        yield f"best known: {known[0].describe()['name']}", known[0].score
