"""What a report says of runs of every kind: where, on what, with which settings."""

from collections.abc import Iterator, Mapping

from interstellar.reporting.document import Cell, Facts, Section, Table
from interstellar.reporting.recorded_run import METRICS, RecordedRun, flatten_settings

COUNTS = ("entities", "relations", "train", "seeds", "valid", "test")


def describe_run(run: RecordedRun) -> Iterator[tuple[str, Cell]]:
    """Yield what a reader must know before anything else."""
    yield "kind", f"{run.kind}, {run.state}"
    counts = [f"{run.data[name]:,} {name}" for name in COUNTS if type(run.data.get(name)) is int]
    yield "data", f"{run.data_name} ({', '.join(counts)})" if counts else run.data_name
    yield "model", run.model
    yield "seed", str(run.experiment.seed)
    yield "device", str(run.environment.get("device") or "unknown")


def metrics_table(metrics: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the metrics of each split."""
    names = [name for name in METRICS if any(name in values for values in metrics.values())]
    rows: list[list[Cell]] = [
        [split, *(values.get(name) for name in names)] for split, values in metrics.items()
    ]
    return Table(title="", columns=("split", *names), rows=rows)


def settings_sections(run: RecordedRun) -> list[Section]:
    """Return settings and environment, folded."""
    settings = list(flatten_settings(run.experiment).items())
    environment = [
        (name, str(value))
        for name, value in run.environment.items()
        if name != "versions" and value is not None
    ]
    versions = run.environment.get("versions")
    if isinstance(versions, dict):
        environment += [(str(name), str(version)) for name, version in versions.items()]
    return [
        Section(title="Settings", blocks=[Facts(pairs=settings)], is_folded=True),
        Section(title="Environment", blocks=[Facts(pairs=environment)], is_folded=True),
    ]
