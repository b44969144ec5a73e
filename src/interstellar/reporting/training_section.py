"""The part of a report on one training."""

from collections.abc import Iterator, Sequence

from interstellar.architecture.drawing import draw_svg
from interstellar.reporting.document import (
    Block,
    Cell,
    Charts,
    Drawing,
    Facts,
    Gallery,
    Line,
    LineChart,
    Section,
    Table,
    thin,
)
from interstellar.reporting.recorded_training import Epoch, RecordedTraining
from interstellar.reporting.run_section import describe_run, metrics_table, settings_sections
from interstellar.reporting.search_charts import MOST_DOTS, MOST_ROWS, table_of_lines
from interstellar.rivals.catalogue import Rival, facts_of
from interstellar.searching.tried_network import TriedNetwork, formula_of, published_name


def training_section(training: RecordedTraining, ranks: Sequence[Section] = ()) -> Section:
    """Return all that is to be said of a training, and of its ranks where they were asked for."""
    network = training.run.trained_network
    assert network is not None
    blocks: list[Block] = [Facts(pairs=list(_summary(training)))]
    if training.metrics:
        blocks.append(metrics_table(training.metrics))
    if training.epochs:
        blocks.append(Charts(list(_curves(training))))
    pictured = Section(title="The architecture", blocks=[picture(network)])
    return Section(
        title=training.run.name,
        blocks=blocks,
        sections=[pictured, *ranks, *settings_sections(training.run)],
    )


def picture(network: TriedNetwork) -> Block:
    """Return a drawing of an architecture, or what is known of a rival, which has none."""
    if isinstance(network, Rival):
        model = facts_of(network)
        said = {"idea": model.idea, "formula": model.formula, "paper": model.paper}
        return Facts(pairs=list(said.items()))
    drawing = Drawing(
        svg=draw_svg(network),
        caption=published_name(network) or "The architecture",
        text=formula_of(network),
    )
    return Gallery([drawing])


def _summary(training: RecordedTraining) -> Iterator[tuple[str, Cell]]:
    network, result = training.run.trained_network, training.result
    assert network is not None
    yield from describe_run(training.run)
    name = published_name(network)
    yield "architecture", f"{name}: {formula_of(network)}" if name else formula_of(network)
    if result is not None:
        yield "epochs", f"{result['epochs']}, the best is {result['best_epoch']}"
        yield "seconds", result["seconds"]
    elif training.epochs:
        yield "epochs", f"{training.epochs[-1].epoch} until now"


def _curves(training: RecordedTraining) -> Iterator[LineChart]:
    epochs, metric = training.epochs, training.metric
    numbers = _numbers(epochs, metric)
    losses = [(float(e.epoch), e.loss) for e in epochs if e.loss is not None]
    if losses:
        yield LineChart(
            title="Training loss",
            x_title="epoch",
            y_title="loss",
            lines=[Line(name="", points=thin(losses, MOST_DOTS))],
            numbers=numbers,
        )
    validated = list_validated(epochs, metric)
    if validated:
        yield LineChart(
            title=f"{metric} on the validation split",
            x_title="epoch",
            y_title=metric,
            lines=[Line(name="", points=thin(validated, MOST_DOTS))],
            numbers=numbers,
        )


def chart_trainings(trainings: Sequence[RecordedTraining]) -> Charts:
    """Return the validation curves of several trainings over each other; they have one metric."""
    metric = trainings[0].metric
    lines = [
        Line(name=t.run.name, points=thin(list_validated(t.epochs, metric), MOST_DOTS))
        for t in trainings
    ]
    lines = [line for line in lines if line.points]
    if not lines:
        return Charts([])
    return Charts(
        [
            LineChart(
                title=f"{metric} on the validation split, by epoch",
                x_title="epoch",
                y_title=metric,
                lines=lines,
                numbers=table_of_lines("epoch", lines),
            )
        ]
    )


def _numbers(epochs: Sequence[Epoch], metric: str) -> Table:
    rows: list[list[Cell]] = [
        [epoch.epoch, epoch.loss, epoch.valid.get(metric)] for epoch in thin(epochs, MOST_ROWS)
    ]
    return Table(title="Epochs", columns=("epoch", "loss", metric), rows=rows)


def list_validated(epochs: Sequence[Epoch], metric: str) -> list[tuple[float, float]]:
    """Return the metric by epoch, where it was measured."""
    return [(float(e.epoch), e.valid[metric]) for e in epochs if metric in e.valid]
