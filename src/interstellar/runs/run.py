"""The life of a run: begun, or taken up again; written by one; stopped, or finished.

Training, search and tuning all go through here. What a run was begun with is in its folder, and
nobody goes on with something else: not with other settings, other data or another kind of device.
The one thing that may change is that a training is given more epochs.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, final

import torch

from interstellar.data.graph import AnyGraph
from interstellar.data.splitting import PAIR_SPLIT, TRIPLET_SPLIT
from interstellar.data.statistics import count
from interstellar.errors import InterstellarError, SettingsError
from interstellar.paths.path_table import PathTable
from interstellar.records.environment import describe_environment
from interstellar.records.journal import Journal
from interstellar.records.run_folder import RunFolder, refuse_existing
from interstellar.records.safe_files import replacing_file
from interstellar.runs.experiment import Experiment, experiment_text, read_experiment
from interstellar.runs.kept_graph import graph_sha256, save_graph

logger = logging.getLogger(__name__)

Result: TypeAlias = dict[str, Any]
"""What `result.json` holds."""


@final
class OpenRun:
    """A run while it is written."""

    def __init__(self, folder: RunFolder, journal: Journal, *, is_resumed: bool) -> None:
        self.folder = folder
        self.journal = journal
        self.is_resumed = is_resumed
        """Whether it had been begun before."""

    def finish(self, result: Result, **noted: object) -> Result:
        """Store what came out, note that in the journal, and return it as it will be read."""
        self.journal.append("finished", **noted)
        self.folder.write_result(result)
        return self.folder.read_result()


def find_run(
    out: Path, experiment: Experiment, device: torch.device, *, resume: bool
) -> RunFolder | None:
    """Return the run to go on with; None where one is to be begun. Refuse what is in the way."""
    if not resume:
        refuse_existing(out)
    if not os.path.lexists(out):  # Path.exists raises where a name is too long
        return None
    run = RunFolder.open(out)
    before = read_beginning(run, experiment)
    if before != experiment and not is_longer(experiment, before):
        difference = first_difference(experiment_text(before), experiment_text(experiment))
        raise SettingsError(
            f"{out} was begun otherwise: {difference}. "
            "Resume with what it was begun with, or choose a new folder as `out`."
        )
    begun_on = run.read_environment().get("device")
    if begun_on != name_device(device):
        raise SettingsError(
            f"{out} was begun on {begun_on}, and this is {name_device(device)}. Their results "
            "differ in rounding, so a run stays on one kind of device: choose it as `device`."
        )
    return run


def read_beginning(run: RunFolder, now: Experiment) -> Experiment:
    """Return what a run was begun with.

    Version 0.1 did not write down the split that we make by default: where that one is asked for
    `now`, it is the one that was meant.
    """
    before = read_experiment(run.experiment_file)
    is_unsaid = before.split is None and now.split in (TRIPLET_SPLIT, PAIR_SPLIT)
    return replace(before, split=now.split) if is_unsaid else before


@contextmanager
def writing(
    found: RunFolder | None,
    out: Path,
    experiment: Experiment,
    graph: AnyGraph,
    facts: Mapping[str, Any],
    device: torch.device,
) -> Iterator[OpenRun]:
    """Be the one writer of a run that was found or is made now; why it stops is noted.

    The start is in the journal, and the graph in the folder, before anything else happens. Who
    goes on must find the same facts: hashes of graph, paths and initial weights.
    """
    run = found or RunFolder.create(
        out,
        experiment=experiment_text(experiment),
        environment=describe_environment(name_device(device)),
    )
    with run.writing() as journal:
        started = find_start(run)
        if started is None:
            save_graph(run, graph)
            said = {key: fact for key, fact in facts.items() if fact is not None}
            journal.append("started", **said)
        else:
            refuse_other_data(run, facts)
            if journal.cut:
                logger.warning("%s: the last line was cut and has been taken out.", journal.path)
            journal.append("resumed", repaired=journal.cut.decode(errors="replace")[:200] or None)
        try:
            yield OpenRun(run, journal, is_resumed=started is not None)
        except BaseException as error:
            with suppress(OSError, InterstellarError):  # the reason counts, not that it has no room
                journal.append("stopped", why=f"{type(error).__name__}: {error}")
            raise


def facts_of(graph: AnyGraph, paths: PathTable) -> dict[str, Any]:
    """Return what a run must find unchanged when it goes on."""
    return {"data": count(graph), "graph_sha256": graph_sha256(graph), "paths_sha256": paths.sha256}


def find_start(run: RunFolder) -> Mapping[str, Any] | None:
    """Return the event with which a run was started, if it was."""
    return next((event for event in run.read_events() if event["event"] == "started"), None)


def refuse_other_data(run: RunFolder, facts: Mapping[str, Any]) -> None:
    """Raise if the data or the paths are not those that the run was begun with."""
    started = find_start(run)
    for key, value in facts.items():
        if started is not None and started.get(key) != value:
            raise SettingsError(
                f"{run.path} was begun with other data: {key} was {started.get(key)} and is now "
                f"{value}. Bring the data back as it was, or choose a new folder as `out`."
            )


def is_longer(now: Experiment, before: Experiment) -> bool:
    """Return whether all that is asked for beyond an earlier experiment is more epochs."""
    n_before, n_now = before.settings.max_epochs, now.settings.max_epochs
    same = replace(now, settings=replace(now.settings, max_epochs=n_before))
    return now.plan is None and n_now > n_before and same == before


def prolong(opened: OpenRun, experiment: Experiment) -> None:
    """Let a run be one of more epochs; it is then not finished until these are done."""
    opened.journal.append("prolonged", epochs=experiment.settings.max_epochs)
    opened.folder.result_file.unlink(missing_ok=True)  # first: it is not the result of the new one
    with replacing_file(opened.folder.experiment_file) as file:
        file.write(experiment_text(experiment).encode())


def first_difference(before: str, now: str) -> str:
    """Return the first line that differs, in words."""
    for old, new in zip(before.splitlines(), now.splitlines(), strict=False):
        if old != new:
            return f"it has `{old}`, and now `{new}` is asked for"
    return "one of them has more lines"


def name_device(device: torch.device) -> str:
    """Return what a run's record calls a device: `cpu`, or the name of the card."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
