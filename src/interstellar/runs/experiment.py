"""An experiment: what is trained on what, and how; and the TOML file that says so.

    version = 1
    architecture = "[0,0,2,0,0,0,0,0,0,0,0]"
    seed = 0

    [data]
    source = "WN18RR"          # a name or a path
    second = "other.tsv"       # only for two graphs of one's own, with
    pairs = "pairs.tsv"        # the pairs known between them
    split = [0.9, 0.05, 0.05]  # only for data without splits of its own
    split_seed = 0
    columns = ["from", "type", "to"]  # only where the columns had to be named, or numbered
    labels = true              # only where rdfs:label says what entities are called

    [training]                 # the fields of TrainingSettings
    [paths]                    # the fields of WalkSettings
    [propagation]              # only where the cell is propagated: those of PropagationSettings
    [rival]                    # only of a model outside the space: those of RivalSettings

    [search]                   # only where a search or a tuning is asked for: those of SearchPlan
    [continued]                # only where a run went on from another: the fields of Continued

A search has the architecture `any`. Keys marked "only" may be left out; all others must be there,
and no further ones may. Keys that had other names in version 0.1 are read under those too, and
settings that came later (`LATER_SETTINGS`) may be missing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from interstellar.data.splitting import SplitShares
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.records.toml_tables import (
    Table,
    parse_toml,
    read_toml,
    refuse_unknown_keys,
    require_keys,
    take_fields,
    take_value,
    to_table,
    toml_text,
)
from interstellar.rivals.rival_settings import RivalSettings
from interstellar.runs.former_experiments import modernise_plan, rename
from interstellar.runs.search_plan import SearchPlan
from interstellar.training.settings import (
    FORMER_NAMES,
    LATER_SETTINGS,
    PropagationSettings,
    TrainingSettings,
)

VERSION = 1
MAX_SEED = 2**63 - 1
ANY = "any"
"""Stands where the experiment of a search names its architecture."""

TABLES = ("training", "paths", "propagation", "rival")
"""Of settings."""
_TOP_KEYS = ("version", "architecture", "seed", "data", "training", "paths")
_DATA_TYPES: dict[str, Any] = {
    "source": str,
    "second": str,
    "pairs": str,
    "split": list,
    "split_seed": int,
    "columns": list,
    "labels": bool,
}

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """The run that a training went on from, and what its graph was given since."""

    run: str
    """Its folder."""
    weights_sha256: str
    """Of that run, as its result says."""
    added: str
    """The triplets that were added: the name of a set, or the path of a file or folder."""
    side: str | None = None
    """Which of two graphs they were added to; None where there is one."""
    pairs: str | None = None
    """The file of the pairs that were added as seeds."""
    graph_sha256: str
    """Of the graph with all of it, which is the one that this run is trained on and keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One training, completely: the same experiment on the same device gives the same run."""

    data: str
    """The name of a set, or the path of a file or folder."""
    second: str | None = None
    """The second graph, where two of one's own are aligned."""
    pairs: str | None = None
    """The file of the pairs known between the two graphs."""
    split: SplitShares | None = None
    """Shares with which we split the data; None: it has splits of its own, or the default ones."""
    split_seed: int = 0
    """Decides that split, and nothing else, so that runs with other seeds share it."""
    columns: tuple[str | int, ...] | None = None
    """Names or numbers of the columns of subject, relation and object, if given."""
    labels: bool = False
    """Whether `rdfs:label` says what entities are called."""
    architecture: str
    """In any notation, or the name of a rival; a run's own file has the 11-number code or that."""
    seed: int
    """Of paths, initial values, order and dropout."""
    settings: TrainingSettings
    """Of the training, or of each trial of a search."""
    plan: SearchPlan | None = None
    """How to search or tune; None: one network is trained."""
    continued: Continued | None = None
    """Where the weights at first came from; then `data` is what the graph was at the very first."""

    @property
    def sources(self) -> tuple[str | None, ...]:
        """What was read: names, files or folders."""
        return self.data, self.second, self.pairs

    def __post_init__(self) -> None:
        for name, seed in (("seed", self.seed), ("split_seed", self.split_seed)):
            if not 0 <= seed <= MAX_SEED:
                raise SettingsError(
                    f"{name} is {seed}, but it must be a whole number from 0 to {MAX_SEED}. "
                    "Take a small one."
                )
        if not self.data or not self.architecture.strip():
            raise SettingsError(
                f"data is {self.data!r} and architecture {self.architecture!r}, but neither may "
                "be empty. Give a set such as WN18RR and an architecture such as TransE."
            )
        if (self.second is None) != (self.pairs is None):
            raise SettingsError(
                "a second graph and a file of known pairs belong together. "
                "Give both (`second` and `pairs`), or neither."
            )


def read_experiment(path: Path) -> Experiment:
    """Read an experiment file.

    Raises:
        SettingsError: A key is unknown, missing or of the wrong type; file and key are named.
    """
    return take_experiment(read_toml(path), str(path))


def parse_experiment(text: str, file: str = "experiment") -> Experiment:
    """Read the text of an experiment file; `file` is named in errors."""
    return take_experiment(parse_toml(text, file), file)


def experiment_text(experiment: Experiment) -> str:
    """Return the text of an experiment file, with everything in it."""
    split = experiment.split
    shares = None if split is None else [split.train, split.valid, split.test]
    data = {
        "source": experiment.data,
        "second": experiment.second,
        "pairs": experiment.pairs,
        "split": shares,
        "split_seed": experiment.split_seed,
        "columns": experiment.columns,
        "labels": experiment.labels or None,
    }
    whole = {
        "version": VERSION,
        "architecture": experiment.architecture,
        "seed": experiment.seed,
        "data": {key: value for key, value in data.items() if value is not None},
        **settings_tables(experiment.settings),
    }
    if experiment.plan is not None:
        whole["search"] = to_table(experiment.plan)
    if experiment.continued is not None:
        whole["continued"] = to_table(experiment.continued)
    return toml_text(whole)


def settings_tables(settings: TrainingSettings) -> dict[str, Table]:
    """Return the tables of `TABLES` that settings have, of plain values, for TOML or JSON."""
    tables = {
        "training": to_table(settings, without=("walk", "propagation", "rival")),
        "paths": to_table(settings.walk),
    }
    if settings.propagation is not None:
        tables["propagation"] = to_table(settings.propagation)
    if settings.rival is not None:
        tables["rival"] = to_table(settings.rival)
    return tables


def read_settings(path: Path, base: TrainingSettings) -> TrainingSettings:
    """Return `base` with the values of a file's tables of settings (`TABLES`).

    The file may be that of a whole experiment; what else it says is left to the command line.
    """
    whole, file = read_toml(path), str(path)
    left_out = ("version", "architecture", "seed", "data", "continued", "search")
    tables = {key: value for key, value in whole.items() if key not in left_out}
    refuse_unknown_keys(tables, TABLES, f"{file}:")
    if "version" in whole:  # an experiment leaves nothing open but what there was not yet
        base = replace(base, propagation=None, rival=None, **_settings_that_came_later())
    return _take_settings(whole, file, base)


def take_experiment(whole: Table, file: str) -> Experiment:
    """Return the experiment that the tables of a file describe; `file` is named in errors."""
    require_keys(whole, ("version",), f"{file}:")
    version = take_value(int, whole["version"], f"{file}: version")
    if version != VERSION:
        raise SettingsError(
            f"{file}: version is {version}, but this program reads experiment files of version "
            f"{VERSION}. Use a newer interstellar."
        )
    refuse_unknown_keys(
        whole, (*_TOP_KEYS, "propagation", "rival", "search", "continued"), f"{file}:"
    )
    require_keys(whole, _TOP_KEYS, f"{file}:")
    chosen: dict[str, Any] = dict(_take_data(whole["data"], f"{file}: [data]"))
    chosen["settings"] = _take_settings(whole, file)
    chosen["architecture"] = take_value(str, whole["architecture"], f"{file}: architecture")
    chosen["seed"] = take_value(int, whole["seed"], f"{file}: seed")
    if "search" in whole:
        place = f"{file}: [search]"
        plan = take_fields(SearchPlan, modernise_plan(whole["search"]), place)
        chosen["plan"] = _make(place, SearchPlan, plan)
    if "continued" in whole:
        chosen["continued"] = _take(Continued, whole["continued"], f"{file}: [continued]")
    return _make(f"{file}:", Experiment, chosen)


def _take_settings(
    whole: Table, file: str, base: TrainingSettings | None = None
) -> TrainingSettings:
    before = None if base is None else base.walk
    walk = _take(WalkSettings, whole.get("paths", {}), f"{file}: [paths]", before)
    propagation = None if base is None else base.propagation
    if "propagation" in whole:
        place = f"{file}: [propagation]"
        propagation = _take(PropagationSettings, whole["propagation"], place, propagation)
    rival = None if base is None else base.rival
    if "rival" in whole:
        rival = _take(RivalSettings, whole["rival"], f"{file}: [rival]", rival)
    table, place = rename(whole.get("training", {}), FORMER_NAMES), f"{file}: [training]"
    return _take(
        TrainingSettings, table, place, base, walk=walk, propagation=propagation, rival=rival
    )


def _take(
    kind: type[Made], table: object, place: str, base: Made | None = None, **given: object
) -> Made:
    """Return what a table describes; only where there is a `base` may it leave fields out."""
    names = [field.name for field in fields(cast("Any", kind)) if field.name not in given]
    before = _settings_that_came_later() if kind is TrainingSettings else {}
    if base is not None:
        before = {name: getattr(base, name) for name in names}
    values = before | take_fields(kind, table, place, without=tuple(given))
    require_keys(values, names, place)
    return _make(place, kind, values | given)


def _settings_that_came_later() -> dict[str, Any]:
    return {f.name: f.default for f in fields(TrainingSettings) if f.name in LATER_SETTINGS}


def _take_data(table: object, place: str) -> Table:
    if not isinstance(table, dict):
        raise SettingsError(f"{place} must be a table, but it is a value. Write it as [data].")
    refuse_unknown_keys(table, _DATA_TYPES, place)
    require_keys(table, ("source", "split_seed"), place)
    found: Table = {
        key: take_value(_DATA_TYPES[key], value, f"{place} {key}")
        for key, value in table.items()
        if key not in ("split", "columns")
    }
    found["data"] = found.pop("source")
    if "split" in table:
        found["split"] = _take_split(table["split"], f"{place} split")
    if "columns" in table:
        found["columns"] = _take_columns(table["columns"], f"{place} columns")
    return found


def _take_columns(value: object, place: str) -> tuple[str | int, ...]:
    if not isinstance(value, list) or not all(type(column) in (str, int) for column in value):
        raise SettingsError(
            f"{place} is {str(value)[:60]}, but it must be names or numbers in brackets. "
            'Write ["from", "type", "to"] or [1, 2, 3].'
        )
    return tuple(value)


def _take_split(value: object, place: str) -> SplitShares:
    if not isinstance(value, list) or len(value) != 3:
        raise SettingsError(
            f"{place} is {str(value)[:60]}, but it must be three shares of train, valid and test. "
            "Write them as [0.9, 0.05, 0.05]."
        )
    shares = [take_value(float, share, place) for share in value]
    names = ("train", "valid", "test")
    return _make(f"{place}:", SplitShares, dict(zip(names, shares, strict=True)))


def _make(place: str, kind: Callable[..., Made], values: Mapping[str, object]) -> Made:
    """Return a value of a kind; where one of its own is refused, say where that stands."""
    try:
        return kind(**values)
    except SettingsError as error:
        raise SettingsError(f"{place} {error}") from None
