"""Runs side by side: those that differ only in their seed are one row, with mean and error."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any, final

from interstellar.reporting.document import Cell, Table, format_cell
from interstellar.reporting.reading import Recorded
from interstellar.reporting.recorded_run import Kind, RecordedRun, State, flatten_settings
from interstellar.reporting.recorded_search import RecordedSearch
from interstellar.searching.tried_network import formula_of, published_name

SHOWN_METRICS = ("mrr", "hits@1", "hits@10", "auc_pr")
"""Of each split, in a table; the JSON object has all."""
MOST_BESIDE = 5
"""Groups that fit beside each other; of more each is a row."""
MOST_LETTERS = 40
"""Of a setting in a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The mean of some runs and its standard error."""

    mean: float
    error: float | None
    """None: one run has none."""
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        n = len(values)
        error = statistics.stdev(values) / sqrt(n) if n > 1 else None
        return cls(mean=statistics.mean(values), error=error, n=n)

    def __str__(self) -> str:
        """Return both as a table has them: `0.412 ± 0.003`."""
        mean = format_cell(self.mean)
        return mean if self.error is None else f"{mean} ± {format_cell(self.error)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs that differ only in their seed."""

    runs: Sequence[Recorded]
    names: tuple[str, ...]
    settings: Mapping[str, str]
    """All of them; `Comparison.differing` says which differ between groups."""
    metrics: Mapping[str, Mapping[str, Spread]]
    """By split and name; of unfinished runs those until now, of a search its best trial's."""
    seconds: Spread | None

    @property
    def first(self) -> RecordedRun:
        return self.runs[0].run

    @property
    def seeds(self) -> list[int]:
        return [run.run.experiment.seed for run in self.runs]

    @property
    def architecture(self) -> str:
        """The network by its name or formula; of searches what they found."""
        return "; ".join(dict.fromkeys(map(_describe_network, self.runs)))

    def as_dict(self, differing: Iterable[str]) -> dict[str, Any]:
        first = self.first
        return {
            "runs": [str(run.run.folder.path) for run in self.runs],
            "kind": str(first.kind),
            "state": str(first.state),
            "data": first.data_name,
            "model": first.model,
            "architecture": self.architecture,
            "settings": {name: self.settings.get(name) for name in differing},
            "seeds": self.seeds,
            "metrics": {
                split: {name: asdict(spread) for name, spread in values.items()}
                for split, values in self.metrics.items()
            },
            "seconds": None if self.seconds is None else asdict(self.seconds),
        }


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side; it prints as a table."""

    groups: Sequence[Group]

    @property
    def differing(self) -> list[str]:
        """The settings that are not the same in all runs that have them."""
        every = dict.fromkeys(name for group in self.groups for name in group.settings)
        having = {
            name: [g.settings[name] for g in self.groups if name in g.settings] for name in every
        }
        return [name for name, values in having.items() if len(set(values)) > 1]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON or a frame."""
        differing = self.differing
        groups = [group.as_dict(differing) for group in self.groups]
        return {"runs": sum(len(g.runs) for g in self.groups), "differing": differing} | {
            "groups": groups
        }

    def table(self) -> Table:
        """Return one row for each group; what is the same in all of them is left out."""
        always = ("runs", "architecture")
        shown = {
            name: cells
            for name, cells in self._columns().items()
            if name in always or len(set(cells)) > 1
        }
        shown |= self._measured() | self._differences()
        rows = list(zip(*shown.values(), strict=True))
        return Table(title="", columns=tuple(shown), rows=rows)

    def narrow_table(self) -> Table:
        """Return the same with few groups beside each other, for a terminal or a sheet of paper."""
        table = self.table()
        return table.turned() if len(table.rows) <= MOST_BESIDE else table

    def __str__(self) -> str:
        """Return the table as lines."""
        table = self.table()
        rows = [list(table.columns), *([format_cell(cell) for cell in row] for row in table.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:<{n}}" for cell, n in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _columns(self) -> dict[str, list[Cell]]:
        """Return what was asked for, in columns."""
        groups = self.groups
        return {
            "runs": [shorten_names(group.names) for group in groups],
            "kind": [str(group.first.kind) for group in groups],
            "state": [str(group.first.state) for group in groups],
            "data": [group.first.data_name for group in groups],
            "model": [group.first.model for group in groups],
            "architecture": [group.architecture for group in groups],
            "seeds": [", ".join(map(str, group.seeds)) for group in groups],
        }

    def _differences(self) -> dict[str, list[Cell]]:
        """Return the settings that differ, in columns."""
        return {
            name: [_shorten(group.settings.get(name)) for group in self.groups]
            for name in self.differing
        }

    def _measured(self) -> dict[str, list[Cell]]:
        """Return what came out, in columns: those that at least one group has."""
        found: dict[str, list[Cell]] = {}
        for split in ("valid", "test"):
            for metric in SHOWN_METRICS:
                spreads = [group.metrics.get(split, {}).get(metric) for group in self.groups]
                if any(spreads):
                    found[f"{split} {metric}"] = [_cell(spread) for spread in spreads]
        return found | {"seconds": [_cell(group.seconds) for group in self.groups]}


def compare_runs(runs: Sequence[Recorded]) -> Comparison:
    """Return runs side by side, in the order in which they were given."""
    groups: dict[object, list[Recorded]] = {}
    for recorded in runs:
        run = recorded.run
        alike = replace(run.experiment, seed=0)
        key = (alike, run.graph_sha256, run.state is State.FINISHED)
        groups.setdefault(key, []).append(recorded)
    return Comparison([_group(members) for members in groups.values()])


def shorten_names(names: Sequence[str]) -> str:
    """Return names in one line, of many the first and how many more."""
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more"


def measured_on(recorded: Recorded) -> dict[str, Mapping[str, float]]:
    """Return the metrics of a run by split."""
    if not isinstance(recorded, RecordedSearch):
        return recorded.metrics
    found: dict[str, Mapping[str, float]] = {}
    if recorded.winner is not None:
        found["valid"] = recorded.winner.valid
    if recorded.final is not None and "test" in recorded.final.metrics:
        found["test"] = recorded.final.metrics["test"]
    return found


def _group(runs: Sequence[Recorded]) -> Group:
    measured = [measured_on(run) for run in runs]
    metrics: dict[str, dict[str, Spread]] = {}
    for split in ("valid", "test"):
        values = [of_it[split] for of_it in measured if split in of_it]
        names = dict.fromkeys(name for of_it in values for name in of_it)
        by_name = {name: [v[name] for v in values if v.get(name) is not None] for name in names}
        spreads = {name: Spread.of(found) for name, found in by_name.items() if found}
        if spreads:
            metrics[split] = spreads
    seconds = [run.seconds for run in runs if run.seconds is not None]
    return Group(
        runs=runs,
        names=tuple(run.run.name for run in runs),
        settings=flatten_settings(runs[0].run.experiment),
        metrics=metrics,
        seconds=Spread.of(seconds) if seconds else None,
    )


def _describe_network(recorded: Recorded) -> str:
    network = recorded.run.trained_network
    if isinstance(recorded, RecordedSearch) and recorded.run.kind is Kind.SEARCH:
        if recorded.winner is None:
            return "none found yet"
        network = recorded.winner.network
    assert network is not None
    return published_name(network) or formula_of(network)


def _cell(spread: Spread | None) -> Cell:
    if spread is None:
        return None
    return spread.mean if spread.error is None else str(spread)


def _shorten(value: str | None) -> str | None:
    return value if value is None or len(value) <= MOST_LETTERS else f"{value[: MOST_LETTERS - 1]}…"
