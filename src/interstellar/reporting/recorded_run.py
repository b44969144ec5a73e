"""What any run says of itself: what was asked for, on what machine, and how far it has come."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast, final, runtime_checkable

from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.records.toml_tables import to_table
from interstellar.rivals.notation import read_model
from interstellar.runs.experiment import Experiment, settings_tables
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.plain_values import is_number
from interstellar.searching.tried_network import TriedNetwork, network_of, own_choices

Event: TypeAlias = Mapping[str, Any]
Facts: TypeAlias = dict[str, Any]

METRICS = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "auc_pr", "n")
"""What a report has of the metrics of a split, in this order."""


@runtime_checkable
class HasFolder(Protocol):
    """What lies in the folder of a run: a `Model`, a `SearchResult`."""

    @property
    def path(self) -> Path:
        """The folder."""


MOST = 1e15
"""No metric, time or count is larger; what is was altered."""

StrPath: TypeAlias = str | os.PathLike[str]
Given: TypeAlias = StrPath | HasFolder
"""A run as a user names it."""


class Kind(StrEnum):
    """What a run was for."""

    TRAINING = "training"
    SEARCH = "search"
    TUNING = "tuning"


class State(StrEnum):
    """How far a run has come."""

    FINISHED = "finished"
    STOPPED = "stopped"
    OPEN = "under way, or killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """What runs of all kinds have."""

    folder: RunFolder
    name: str
    """Of its folder, with as many folders above it as tell it from the other runs."""
    experiment: Experiment
    environment: Facts
    data: Facts
    """Counts of the data; empty until it was read."""
    graph_sha256: str | None
    state: State
    begun: float | None = None
    """When, in seconds since 1970; None: the journal does not say."""

    @property
    def kind(self) -> Kind:
        plan = self.experiment.plan
        if plan is None:
            return Kind.TRAINING
        return Kind.TUNING if plan.strategy is StrategyName.TUNE else Kind.SEARCH

    @property
    def data_name(self) -> str:
        return str(self.data.get("name") or self.experiment.data)

    @property
    def model(self) -> str:
        """What the cell is run along."""
        return str(self.experiment.settings.model)

    @property
    def trained_network(self) -> TriedNetwork | None:
        """The network of a training or a tuning; None: it was searched for."""
        if self.kind is Kind.SEARCH:
            return None
        settings = self.experiment.settings
        return network_of(read_model(self.experiment.architecture), own_choices(settings))


@final
class Watched:
    """The events of a run as they are read, and what they say of it as a whole."""

    def __init__(self, folder: RunFolder) -> None:
        self.last: Event = {}
        self.started: Event = {}
        self._folder = folder

    def __iter__(self) -> Iterator[Event]:
        """Yield each event and remember it."""
        for event in self._folder.read_events():
            self.last = event
            if event["event"] == "started" and not self.started:
                self.started = event
            yield event

    def describe(self, experiment: Experiment, name: str) -> RecordedRun:
        """Return what is known once all events were read."""
        data, graph_sha256 = self.started.get("data"), self.started.get("graph_sha256")
        return RecordedRun(
            folder=self._folder,
            name=name,
            experiment=experiment,
            environment=self._folder.read_environment(),
            data=data if isinstance(data, dict) else {},
            graph_sha256=graph_sha256 if isinstance(graph_sha256, str) else None,
            state=self._find_state(),
            begun=moment_of(self.started),
        )

    def _find_state(self) -> State:
        if self._folder.is_finished:
            return State.FINISHED
        return State.STOPPED if self.last.get("event") == "stopped" else State.OPEN


def moment_of(event: Event) -> float | None:
    """Return when something happened, in seconds since 1970; None: that cannot be read."""
    try:
        return datetime.fromisoformat(event["time"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def is_measured(value: object) -> bool:
    """Return whether a value can be a metric, a time or a count."""
    return is_number(value) and abs(cast("float", value)) <= MOST


def list_folders(given: Given | Iterable[Given]) -> list[Path]:
    """Return the folders of one run or several, each once."""
    several = [given] if isinstance(given, str | os.PathLike | HasFolder) else list(given)
    paths = [Path(one.path if isinstance(one, HasFolder) else one) for one in several]
    if not paths:
        raise SettingsError("no run was given. Give the folders of one or more runs.")
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path.resolve(), path)
    return list(first.values())


def name_runs(folders: Iterable[Path]) -> list[str]:
    """Return the shortest ends of paths that differ, so that `a/run` is not `b/run`."""
    parts = [folder.resolve().parts for folder in folders]
    longest = max(map(len, parts))
    for n in range(1, longest + 1):
        names = ["/".join(part[-n:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise AssertionError("each folder is there once")


def flatten_settings(experiment: Experiment) -> dict[str, str]:
    """Return all that was asked for but data, architecture and seed, as text by name."""
    tables = settings_tables(experiment.settings)
    found = {key: _text(value) for key, value in tables.pop("training").items()}
    if experiment.plan is not None:
        tables["search"] = to_table(experiment.plan)
    for table, values in tables.items():
        found |= {f"{table}.{key}": _text(value) for key, value in values.items()}
    split = experiment.split
    shares = None if split is None else (split.train, split.valid, split.test)
    return found | {"data.split": _text(shares), "data.split_seed": str(experiment.split_seed)}


def _text(value: object) -> str:
    match value:
        case None | () | []:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case list() | tuple():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
