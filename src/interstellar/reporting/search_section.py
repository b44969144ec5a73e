"""The part of a report on one search or tuning."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.propagation import CLAUSES
from interstellar.reporting.document import (
    Block,
    Cell,
    Charts,
    Drawing,
    Facts,
    Gallery,
    Paragraph,
    Section,
    Table,
    format_cell,
)
from interstellar.reporting.effects import effects_of
from interstellar.reporting.recorded_run import Kind
from interstellar.reporting.recorded_search import FATES, RecordedSearch
from interstellar.reporting.run_section import describe_run, metrics_table, settings_sections
from interstellar.reporting.search_charts import (
    chart_controller,
    chart_effects,
    chart_search_curves,
)
from interstellar.rivals.catalogue import Rival
from interstellar.searching.trial import Trial
from interstellar.searching.tried_network import (
    Changes,
    SearchedNetwork,
    formula_of,
    published_name,
)

N_LEADERS, N_DRAWN, N_FAILURES = 10, 4, 5


def search_section(search: RecordedSearch, ranks: Sequence[Section] = ()) -> Section:
    """Return all that is to be said of a search or a tuning, and of the ranks of its winner."""
    blocks: list[Block] = [Facts(pairs=list(_summary(search)))]
    if search.is_cut_short:
        blocks.append(Paragraph("The journal goes on: only its beginning was read."))
    if search.known:
        blocks.append(chart_search_curves([search]))
    parts = [
        leaders_section(search),
        gallery_section(search),
        _effects(search),
        _fates(search),
        _baselines(search),
        _controller(search),
        _final(search),
    ]
    shown = [part for part in parts if part is not None]
    return Section(
        title=search.run.name,
        blocks=blocks,
        sections=[*shown, *ranks, *settings_sections(search.run)],
    )


def _summary(search: RecordedSearch) -> Iterator[tuple[str, Cell]]:
    plan, winner, fates = search.run.experiment.plan, search.winner, search.fates
    assert plan is not None
    yield from describe_run(search.run)
    yield "strategy", str(plan.strategy)
    trained = len(search.trials.trained)
    yield "trials", f"{trained:,} trained, {fates['known already']:,} known already"
    if search.n_under_way:
        yield "under way", search.n_under_way
    yield "seconds", search.seconds
    if winner is not None:
        yield "best", _title(winner)
        yield f"best {search.metric} (valid)", winner.score
    if search.gain is not None:
        yield "gain", describe_gain(search)


def describe_gain(search: RecordedSearch) -> str:
    """Return in words what the search found over what everybody has."""
    gain = search.gain
    assert gain is not None
    name = published_name(gain.over.network) or gain.over.formula
    if gain.points <= 0:
        return f"nothing better than {name} was found"
    seeds = "one seed" if gain.n_seeds == 1 else f"{gain.n_seeds} seeds"
    spread = "" if gain.spread is None else f" ± {gain.spread:.2f}"
    return f"{gain.points:+.2f}{spread} points of {search.metric} over {name}, {seeds}"


def leaders_section(search: RecordedSearch) -> Section | None:
    """Return the best trials in a table, and the finalists."""
    ranked = search.trials.ranked[:N_LEADERS]
    if not ranked:
        return None
    is_tuning = search.run.kind is Kind.TUNING
    metrics = [m for m in ("mrr", "hits@1", "hits@10") if m != search.metric]
    network = () if is_tuning else ("name", "architecture")
    columns = ("#", search.metric, *network, *metrics, "epochs", "seconds", "settings", "trial")
    rows: list[list[Cell]] = []
    for place, trial in enumerate(ranked, 1):
        said = [] if is_tuning else [published_name(trial.network), trial.formula]
        measured = [trial.valid.get(metric) for metric in metrics]
        spent: list[Cell] = [trial.result.epochs, trial.result.seconds]
        settings = describe_changes(trial.settings)
        rows.append([place, trial.score, *said, *measured, *spent, settings, str(trial.number)])
    note = Paragraph(
        "The best of many is partly luck. Scores of trials that were not trained to their end are "
        "those until then."
    )
    blocks: list[Block] = [Table(title="", columns=columns, rows=rows).without_empty(), note]
    if search.finalists:
        blocks.append(_finalists(search))
    return Section(title="Leaderboard", blocks=blocks)


def _finalists(search: RecordedSearch) -> Table:
    rows: list[list[Cell]] = []
    for finalist in search.finalists:
        scores = list(finalist.scores.values())
        error = statistics.stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else None
        listed = ", ".join(map(format_cell, scores))
        rows.append([_title(finalist.trial), statistics.mean(scores), error, listed])
    return Table(
        title="Finalists, repeated with other seeds",
        columns=("architecture", f"mean {search.metric}", "standard error", "of each seed"),
        rows=rows,
    )


def gallery_section(search: RecordedSearch) -> Section | None:
    """Return pictures of the best, the winner first, each network once."""
    if search.winner is None:
        return None
    first: dict[SearchedNetwork, Trial] = {}
    for trial in (search.winner, *search.trials.ranked):
        if isinstance(trial.network, Rival):
            return None
        first.setdefault(trial.network, trial)
        if len(first) == N_DRAWN:
            break
    drawings = [
        Drawing(
            svg=draw_svg(network),
            caption=f"{place}. {search.metric} {format_cell(trial.score)}",
            text=_title(trial),
        )
        for place, (network, trial) in enumerate(first.items(), 1)
    ]
    is_one = search.run.kind is Kind.TUNING
    return Section(
        title="The architecture" if is_one else "The best architectures",
        blocks=[Gallery(drawings[:1] if is_one else drawings)],
    )


def _effects(search: RecordedSearch) -> Section | None:
    effects = effects_of(search.run.experiment, search.trials.ended)
    if not effects:
        return None
    n = sum(effect.n for effect in effects if effect.choice == effects[0].choice)
    mean = sum(e.n * e.mean for e in effects if e.choice == effects[0].choice) / n
    note = Paragraph(
        "Each dot is the mean over the trials that took an option, with its standard error; the "
        "choices that make the greatest difference come first. A search tries good options "
        "together, so the numbers also have what an option is worth alone, by a regression on all "
        "of them."
    )
    chart = chart_effects(effects, search.metric, mean)
    return Section(title="What the best have in common", blocks=[Charts([chart]), note])


def _fates(search: RecordedSearch) -> Section | None:
    if not search.fates:
        return None
    rows: list[list[Cell]] = [
        [fate, search.fates[fate], meaning] for fate, meaning in FATES.items() if search.fates[fate]
    ]
    blocks: list[Block] = [Table(title="", columns=("trials", "number", "meaning"), rows=rows)]
    failed = [trial for trial in search.trials.ended if trial.result.failure is not None]
    if failed:
        reasons: list[list[Cell]] = [
            [str(trial.number), trial.formula, trial.result.failure]
            for trial in failed[:N_FAILURES]
        ]
        blocks.append(Table(title="Failures", columns=("trial", "network", "why"), rows=reasons))
    return Section(title="What became of the trials", blocks=blocks)


def _baselines(search: RecordedSearch) -> Section | None:
    if not search.baselines:
        return None
    rows: list[list[Cell]] = [
        [published_name(trial.network), trial.formula, trial.score, trial.result.epochs]
        for trial in search.baselines
    ]
    columns = ("known model", "architecture", search.metric, "epochs")
    said = Paragraph(f"Gain: {describe_gain(search)}.")
    return Section(
        title="Known models, and the gain over them",
        blocks=[said, Table(title="", columns=columns, rows=rows)],
    )


def _controller(search: RecordedSearch) -> Section | None:
    charts = chart_controller(search)
    if not charts.charts:
        return None
    note = Paragraph(
        "The probabilities of the options while the search went on, from equal ones at first. They "
        "are computed again from what the journal says of each trial."
    )
    return Section(title="The controller", blocks=[note, charts])


def _final(search: RecordedSearch) -> Section | None:
    if search.final is None:
        return None
    blocks: list[Block] = [metrics_table(search.final.metrics)]
    if search.final.run.experiment.settings.rival is not None:
        name = search.final.run.experiment.architecture
        said = f"{name}, outside the search space, is better on validation than what was found."
        blocks.insert(0, Paragraph(said))
    return Section(title="The winner, trained", blocks=blocks)


def _title(trial: Trial) -> str:
    name, settings = published_name(trial.network), describe_changes(trial.settings)
    named = f"{name}: {formula_of(trial.network)}" if name else formula_of(trial.network)
    return f"{named} ({settings})" if settings else named


def describe_changes(changes: Changes) -> str:
    """Return settings in one line, but for those that the formula of a propagation says."""
    others: Mapping[str, float | int | str] = {
        name: value for name, value in changes.items() if name not in CLAUSES
    }
    return ", ".join(f"{name} {_value(value)}" for name, value in others.items())


def _value(value: float | int | str) -> str:
    match value:
        case str():
            return value
        case int():
            return str(value)
        case float():
            return f"{value:.4g}"
        case _:
            assert_never(value)
