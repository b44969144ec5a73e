"""What a user gives, in words, files and objects, as the layers below want it."""

import difflib
import operator
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form, one_step_form
from interstellar.architecture.notation import code_text, read_architecture, to_formula
from interstellar.data.graph import AnyGraph, GraphPair, KnowledgeGraph, Provenance, Task, task_of
from interstellar.data.loading import Source, load
from interstellar.data.triplets import OBJECT, SUBJECT, Triplets
from interstellar.errors import ArchitectureError, SettingsError
from interstellar.paths.walk_settings import WalkSettings
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.notation import model_text, read_model
from interstellar.runs.experiment import Experiment, read_experiment, read_settings
from interstellar.runs.search_plan import Retraining, SearchPlan
from interstellar.searching.retraining import tuned_settings
from interstellar.searching.search_journal import read_written, winner_of
from interstellar.searching.trial import Trial
from interstellar.tasks.task import refuse_task
from interstellar.training.defaults import GraphSize, default_settings
from interstellar.training.presets import Preset, find_row, paper_preset, search_settings
from interstellar.training.rival_defaults import rival_settings
from interstellar.training.settings import ModelKind, TrainingSettings
from interstellar.words import choose
from interstellar.workflow.audience import Audience, tell
from interstellar.workflow.bars import work_shown
from interstellar.workflow.search_result import SearchResult

GivenArchitecture: TypeAlias = (
    str | os.PathLike[str] | Iterable[SupportsIndex] | Architecture | Trial | SearchResult
)
"""A name, an 11-number code, a formula, a JSON file, the folder of a run, or what was found."""
GivenSettings: TypeAlias = TrainingSettings | SearchResult | str | os.PathLike[str]
"""Settings, the TOML file of those that differ, a run or its folder: of a tuning the best."""


def read_data(data: Source | AnyGraph, audience: Audience) -> AnyGraph:
    """Return a graph that is loaded already as it is, and read anything else that `load` takes."""
    if isinstance(data, KnowledgeGraph | GraphPair):
        return data
    with work_shown(audience):
        graph: AnyGraph = load(data)
    for note in graph.notes:
        tell(audience, f"note: {note}")
    return graph


def final_settings(
    graph: AnyGraph, architecture: str | None = None, model: str | None = None
) -> TrainingSettings:
    """Return the settings of a training on a graph, where nothing else is said.

    An architecture that would be another one on single triplets is trained on paths.
    """
    task, kind = Task(task_of(graph)), choose("model", model or ModelKind.WALKS, ModelKind)
    propagates = kind is ModelKind.PROPAGATION
    size = GraphSize(
        n_entities=len(graph.all_entities),
        n_triplets=count_triplets(graph),
        n_pairs=len(graph.train) if isinstance(graph, GraphPair) else 0,
        has_answers=isinstance(graph, KnowledgeGraph) and graph.answers is not None,
        hides_links=propagates and isinstance(graph, KnowledgeGraph) and hides_links(graph),
    )
    network = None if architecture is None else read_model(architecture)
    if isinstance(network, Rival):
        refuse_task(network, graph)
        return rival_settings(network, task, size)
    if kind is ModelKind.RIVAL:
        raise SettingsError(
            f"model is {kind}, which an architecture such as RotatE names. Leave `model` out."
        )
    settings = default_settings(task, size, kind)
    if network is None or settings.walk.length > 1 or propagates:
        return settings
    is_alike = one_step_form(network) == canonical_form(network)
    length = 1 if is_alike else WalkSettings.link_prediction().length
    return replace(settings, walk=replace(settings.walk, length=length))


def hides_links(graph: KnowledgeGraph) -> bool:
    """Return whether the ends of held-out triplets are linked far less often than others."""
    n = len(graph.entities)
    train, valid = (pair_keys(triplets, n) for triplets in (graph.train, graph.valid))
    keys, counts = np.unique(train, return_counts=True)
    n_linked = counts[counts > 1].sum()  # triplets beside another between the same ends
    return bool(2 * np.isin(valid, keys).sum() * len(train) < n_linked * len(valid))


def pair_keys(triplets: Triplets, n_entities: int) -> npt.NDArray[np.int64]:
    """Return one number for the two ends of each triplet, whichever way it goes."""
    ends = np.sort(triplets[:, [SUBJECT, OBJECT]].astype(np.int64), axis=1)
    keys: npt.NDArray[np.int64] = ends[:, 0] * n_entities + ends[:, 1]
    return keys


def trial_settings(graph: AnyGraph, plan: SearchPlan, model: str | None = None) -> TrainingSettings:
    """Return the settings with which a search on a graph trains each architecture."""
    if plan.as_published and model != ModelKind.PROPAGATION:
        return search_settings(Task(task_of(graph)), graph.name)
    return final_settings(graph, model=model)


def published_settings(graph: AnyGraph, architecture: str) -> TrainingSettings:
    """Return the settings of the paper's final training on a set, or what fits another graph."""
    row = find_row(graph.name)
    is_of_task = row is not None and row.task is Task(task_of(graph))
    return row.settings if row is not None and is_of_task else final_settings(graph, architecture)


def count_triplets(graph: AnyGraph) -> int:
    """Return how many triplets training sees."""
    if isinstance(graph, GraphPair):
        return len(graph.source.triplets) + len(graph.target.triplets)
    return len(graph.train)


def build_experiment(
    graph: AnyGraph,
    *,
    architecture: str,
    seed: SupportsIndex,
    settings: TrainingSettings,
    plan: SearchPlan | None = None,
) -> Experiment:
    """Return the experiment on a graph, which says how the graph was read."""
    read = graph.provenance or Provenance(source=graph.name, is_in_memory=True)
    return Experiment(
        data=read.source,
        second=read.second,
        pairs=read.pairs,
        split=read.split,
        split_seed=read.split_seed or 0,
        columns=read.columns,
        labels=read.labels,
        architecture=architecture,
        seed=read_seed(seed),
        settings=settings,
        plan=plan,
    )


def refuse_mute(cell: Architecture) -> None:
    """Raise where the message of a propagation would not come from anywhere."""
    if not cell.macro.is_hidden_passed_on:
        raise SettingsError(
            f"{to_formula(cell)} cannot be propagated: its message O_r reads neither h nor O_s, so "
            "that nothing would come from the subject. Let O_r read one of them, or choose the "
            "model walks."
        )


def read_given_architecture(given: GivenArchitecture) -> str:
    """Return an architecture as it was written, or the code of what was found or trained."""
    match given:
        case SearchResult():
            return model_text(given.best.architecture)
        case Trial():
            return model_text(given.architecture)
        case Architecture():
            return code_text(given)
        case str() | os.PathLike():
            return read_written(os.fspath(given))
    try:
        code = [operator.index(number) for number in given]
    except TypeError:
        raise ArchitectureError(
            f"{str(given)[:80]} is not an architecture. Give a name such as TransE, 11 whole "
            "numbers, a formula, a JSON file, a run, or what a search found."
        ) from None
    return code_text(read_architecture(code))


def read_given_settings(given: GivenSettings | None, base: TrainingSettings) -> TrainingSettings:
    """Return the settings given whole, or the base with what a file or a run changes."""
    if given is None:
        return base
    if isinstance(given, TrainingSettings):
        return given
    path = given.path if isinstance(given, SearchResult) else Path(given)
    if not os.path.isdir(path):  # noqa: PTH112 (Path.is_dir raises where a name is too long)
        return read_settings(path, base)
    run = RunFolder.open(path)
    settings = read_settings(run.experiment_file, base)
    if read_experiment(run.experiment_file).plan is None:
        return settings
    return tuned_settings(settings, winner_of(run))


def read_seed(given: SupportsIndex) -> int:
    """Return a seed as Python's own whole number, whoever's it is."""
    try:
        return operator.index(given)
    except TypeError:
        raise SettingsError(
            f"`seed` is {given!r}, but it must be a whole number. Give for instance 3."
        ) from None


def find_preset(preset: str | None, data: Source | AnyGraph) -> Preset | None:
    """Return the published row that a word asks for, if one is asked for."""
    if preset is None:
        return None
    if preset != "paper":
        raise SettingsError(f"preset {preset!r} is unknown. There is `paper`.")
    return paper_preset(data.name if isinstance(data, KnowledgeGraph | GraphPair) else str(data))


def refuse_unknown(given: Mapping[str, Any], known: type, function: str) -> None:
    """Raise for a keyword that a function does not have, with the one that was probably meant."""
    names = list(known.__annotations__)
    for name in (name for name in given if name not in names):
        if name in ("second", "pairs", "split"):
            raise SettingsError(
                f"`{name}` is not for `{function}`: it says how data is read. Give it to `load`, "
                "and the graph that comes out to this function."
            )
        for kind, value in ((SearchPlan, "plan"), (Retraining, "retraining")):
            if name in kind.__annotations__ and function != "train":
                raise SettingsError(
                    f"`{name}` is part of `{value}`. Give {value}={kind.__name__}({name}=…)."
                )
        close = difflib.get_close_matches(name, names, n=1)
        advice = f"Did you mean {close[0]}?" if close else f"There are {', '.join(names)}."
        raise SettingsError(f"`{function}` has no option {name!r}. {advice}")
