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

    [training]                 # the fields of TrainingSettings
    [paths]                    # the fields of WalkSettings

    [continued]                # only where a run went on from another: the fields of Continued

Apart from `second`, `pairs`, `split` and `continued` every key must be there, and no other may.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from interstellar.data.splitting import Split
from interstellar.errors import SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.training.settings import TrainingSettings
from interstellar.training.toml_tables import (
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

VERSION = 1
MAX_SEED = 2**63 - 1

_TOP_KEYS = ("version", "architecture", "seed", "data", "training", "paths")
_DATA_TYPES: dict[str, Any] = {
    "source": str,
    "second": str,
    "pairs": str,
    "split": list,
    "split_seed": int,
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
    split: Split | None = None
    """Shares of train, valid and test, for data without splits; None: as `data.loading` does."""
    split_seed: int = 0
    """Decides that split, and nothing else, so that runs with other seeds share it."""
    architecture: str
    """In any notation that `read_architecture` reads; a run's own file has the 11-number code."""
    seed: int
    """Of paths, initial values, order and dropout."""
    settings: TrainingSettings
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
    }
    whole = {
        "version": VERSION,
        "architecture": experiment.architecture,
        "seed": experiment.seed,
        "data": {key: value for key, value in data.items() if value is not None},
        **settings_tables(experiment.settings),
    }
    if experiment.continued is not None:
        whole["continued"] = to_table(experiment.continued)
    return toml_text(whole)


def settings_tables(settings: TrainingSettings) -> dict[str, Table]:
    """Return the tables `training` and `paths` of plain values, for TOML or JSON."""
    return {
        "training": to_table(settings, without=("walk",)),
        "paths": to_table(settings.walk),
    }


def read_settings(path: Path, base: TrainingSettings) -> TrainingSettings:
    """Return `base` with the values that a file's tables [training] and [paths] give.

    The file may be that of a whole experiment; what else it says is left to the command line.
    """
    whole, file = read_toml(path), str(path)
    left_out = ("version", "architecture", "seed", "data", "continued", "search")
    tables = {key: value for key, value in whole.items() if key not in left_out}
    refuse_unknown_keys(tables, ("training", "paths"), f"{file}:")
    paths = take_fields(WalkSettings, whole.get("paths", {}), f"{file}: [paths]")
    walk = _make(f"{file}: [paths]", lambda: replace(base.walk, **_any(paths)))
    training = take_fields(
        TrainingSettings, whole.get("training", {}), f"{file}: [training]", without=("walk",)
    )
    return _make(f"{file}: [training]", lambda: replace(base, walk=walk, **_any(training)))


def take_experiment(whole: Table, file: str) -> Experiment:
    """Return the experiment that the tables of a file describe; `file` is named in errors."""
    _check_version(whole, file)
    refuse_unknown_keys(whole, (*_TOP_KEYS, "continued"), f"{file}:")
    require_keys(whole, _TOP_KEYS, f"{file}:")
    data = _take_data(whole["data"], f"{file}: [data]")
    settings = _take_settings(whole, file)
    architecture = take_value(str, whole["architecture"], f"{file}: architecture")
    seed = take_value(int, whole["seed"], f"{file}: seed")
    chosen = _any({"architecture": architecture, "seed": seed, **data})
    if "continued" in whole:
        chosen["continued"] = _take_continued(whole["continued"], f"{file}: [continued]")
    return _make(f"{file}:", lambda: Experiment(settings=settings, **chosen))


def _take_settings(whole: Table, file: str) -> TrainingSettings:
    place = f"{file}: [paths]"
    paths = take_fields(WalkSettings, whole["paths"], place)
    require_keys(paths, [field.name for field in fields(WalkSettings)], place)
    walk = _make(place, lambda: WalkSettings(**_any(paths)))
    place = f"{file}: [training]"
    training = take_fields(TrainingSettings, whole["training"], place, without=("walk",))
    needed = [field.name for field in fields(TrainingSettings) if field.name != "walk"]
    require_keys(training, needed, place)
    return _make(place, lambda: TrainingSettings(walk=walk, **_any(training)))


def _take_continued(table: object, place: str) -> Continued:
    values = take_fields(Continued, table, place)
    require_keys(values, [field.name for field in fields(Continued)], place)
    return Continued(**_any(values))


def _take_data(table: object, place: str) -> Table:
    if not isinstance(table, dict):
        raise SettingsError(f"{place} must be a table, but it is a value. Write it as [data].")
    refuse_unknown_keys(table, _DATA_TYPES, place)
    require_keys(table, ("source", "split_seed"), place)
    found: Table = {
        key: take_value(_DATA_TYPES[key], value, f"{place} {key}")
        for key, value in table.items()
        if key != "split"
    }
    found["data"] = found.pop("source")
    if "split" in table:
        found["split"] = _take_split(table["split"], f"{place} split")
    return found


def _take_split(value: object, place: str) -> Split:
    if not isinstance(value, list) or len(value) != 3:
        raise SettingsError(
            f"{place} is {str(value)[:60]}, but it must be three shares of train, valid and test. "
            "Write them as [0.9, 0.05, 0.05]."
        )
    train, valid, test = (_any(take_value(float, share, place)) for share in value)
    return _make(f"{place}:", lambda: Split(train=train, valid=valid, test=test))


def _check_version(whole: Mapping[str, object], file: str) -> None:
    require_keys(whole, ("version",), f"{file}:")
    version = take_value(int, whole["version"], f"{file}: version")
    if version != VERSION:
        raise SettingsError(
            f"{file}: version is {version}, but this program reads experiment files of version "
            f"{VERSION}. Use a newer interstellar."
        )


def _make(place: str, make: Callable[[], Made]) -> Made:
    """Return what `make` makes; where a value is refused, say in which file and table it stands."""
    try:
        return make()
    except SettingsError as error:
        raise SettingsError(f"{place} {error}") from None


def _any(value: object) -> Any:
    """Return a value whose type was checked by hand, which mypy cannot see."""
    return value
