"""Settings and architecture as a user gives them."""

import os
from pathlib import Path
from typing import TypeAlias, cast

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import code_text
from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph
from interstellar.data.loading import Source
from interstellar.errors import SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.searching.search_experiment import StrategyName
from interstellar.training.experiment import read_settings
from interstellar.training.presets import Preset, paper_preset
from interstellar.training.settings import SettingsChanges, TrainingSettings, with_changes
from interstellar.training.toml_tables import read_toml
from interstellar.workflow.found import Found, Winner
from interstellar.workflow.written_architecture import read_written

GivenArchitecture: TypeAlias = str | os.PathLike[str] | Architecture | Winner | Found
"""A name, an 11-number code, a formula, a JSON file, the folder of a run, or what was found."""
GivenSettings: TypeAlias = TrainingSettings | Found | str | os.PathLike[str]
"""Settings, the TOML file of those that differ, a run or its folder: of a tuning the best."""


def read_given_architecture(given: GivenArchitecture) -> str:
    """Return an architecture as it was written, or the code of what was found or trained."""
    match given:
        case Found():
            return code_text(given.best.architecture)
        case Winner():
            return code_text(given.architecture)
        case Architecture():
            return code_text(given)
    return read_written(os.fspath(given))


def read_given_settings(given: GivenSettings | None, base: TrainingSettings) -> TrainingSettings:
    """Return the settings that are given whole, or the base with what a file changes."""
    match given:
        case None:
            return base
        case TrainingSettings():
            return given
        case Found():
            return read_run_settings(given, base)
        case _ if Path(given).is_dir():
            return read_run_settings(Path(given), base)
        case _:
            return read_settings(Path(given), base)


def read_run_settings(run: Found | Path, base: TrainingSettings) -> TrainingSettings:
    """Return the settings of a run, of a tuning with the best that it found."""
    folder = RunFolder.open(run.path if isinstance(run, Found) else run)
    settings = read_settings(folder.experiment_file, base)
    plan = read_toml(folder.experiment_file).get("search")
    if not isinstance(plan, dict) or plan.get("strategy") != StrategyName.TUNE:
        return settings
    found = run if isinstance(run, Found) else Found.open(run)
    return with_changes(settings, **cast("SettingsChanges", found.best.settings))


def find_preset(preset: str | None, data: Source | AnyGraph) -> Preset | None:
    """Return the published row that a word asks for, if one is asked for."""
    if preset is None:
        return None
    if preset != "paper":
        raise SettingsError(f"preset {preset!r} is unknown. There is `paper`.")
    return paper_preset(data.name if isinstance(data, KnowledgeGraph | GraphPair) else str(data))
