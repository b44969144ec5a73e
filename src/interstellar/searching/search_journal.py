"""The journal of a search, read: its trials, finished or not. Needs no torch.

| event | holds |
| --- | --- |
| `budget` | trials and seconds that may be spent, each time it begins or goes on |
| `known` | trials of other searches that need not be repeated |
| `proposed` | the proposal |
| `ended` | its number and its result |
| `unfinished` | the number of a trial that was stopped because the time was over |
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.notation import read_architecture
from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import ANY, Experiment, read_experiment
from interstellar.runs.search_plan import Budget
from interstellar.searching.trial import (
    ALTERED,
    Proposal,
    Trial,
    TrialResult,
    is_number,
    read_result,
)
from interstellar.searching.trials import Trials

Event: TypeAlias = Mapping[str, Any]


def trials_of(run: RunFolder) -> Trials:
    """Return every trial of a search or a tuning, finished or not, that has ended."""
    experiment = read_experiment(run.experiment_file)
    if experiment.plan is None:
        raise SettingsError(
            f"{run.path} is the run of a training, not of a search. Choose another folder."
        )
    tuned = tuned_architecture(experiment)
    return Trials(list_trials(run.read_events(), run.journal_file, tuned))


def best_trial(run: RunFolder) -> Trial:
    """Return the best trial of a search or a tuning, finished or not."""
    best = trials_of(run).best
    if best is None:
        raise SettingsError(
            f"{run.path} has no trial with a score yet. Resume the search, with more time."
        )
    return best


def read_written(text: str) -> str:
    """Return an architecture as it is written, or the code of the one that a run is of."""
    if not os.path.isfile(Path(text) / "experiment.toml"):  # noqa: PTH113 (a JSON text is no path)
        return text
    run = RunFolder.open(Path(text))
    experiment = read_experiment(run.experiment_file)
    return experiment.architecture if experiment.plan is None else str(best_trial(run).code)


def tuned_architecture(experiment: Experiment) -> Architecture | None:
    """Return the architecture of a tuning."""
    code = experiment.architecture
    return None if code == ANY else read_architecture(code)


def last_budget(run: RunFolder) -> Budget | None:
    """Return what a search was last allowed to spend; None: version 0.1 did not note it."""
    noted = [event for event in run.read_events() if event["event"] == "budget"]
    if not noted:
        return None
    last: Mapping[str, Any] = noted[-1]
    with refusing_altered(last, run.journal_file):
        return Budget(trials=last["trials"], time=last["seconds"])


def list_trials(
    events: Iterable[Event], journal: Path, tuned: Architecture | None = None
) -> Iterator[Trial]:
    """Yield every trial in the journal of a search or a tuning, in the order of their ends."""
    for proposal, result in read_proposals(events, journal, tuned):
        if proposal.architecture is not None and result is not None:
            yield Trial.of(proposal, result)


def read_proposals(
    events: Iterable[Event], journal: Path, tuned: Architecture | None
) -> Iterator[tuple[Proposal, TrialResult | None]]:
    """Yield each proposal of a journal when it is made, without a result, and when it ends."""
    under_way: dict[int, Proposal] = {}
    for event in events:
        result, number = None, event.get("number")
        with refusing_altered(event, journal):
            if not is_number(event.get("elapsed", 0.0)):
                raise ValueError
            if event["event"] == "proposed":
                proposal = Proposal.from_plain(event, tuned)
                under_way[proposal.number] = proposal
            elif event["event"] != "ended":
                continue
            elif number in under_way:
                proposal = under_way.pop(number)
                result = read_result(event, proposal)
            else:
                raise DataError(
                    f"{journal}: proposal {number} ended, but it is not under way there. "
                    "The journal was altered. Take it from a copy, or begin a new search."
                )
        yield proposal, result


def read_known(event: Event, journal: Path) -> list[Trial]:
    """Return the trials of other searches of an event `known`."""
    with refusing_altered(event, journal):
        return [Trial.from_plain(plain) for plain in event["trials"]]


@contextmanager
def refusing_altered(event: Event, journal: Path) -> Iterator[None]:
    """Name the event that cannot be read."""
    try:
        yield
    except ALTERED:
        raise DataError(
            f"{journal}: an event `{event.get('event')}` of {event.get('time')} is not what a "
            "search writes. The journal was altered. Take it from a copy, or begin a new search."
        ) from None
