"""The journal of a search, read: its trials, finished or not. Needs no torch.

| event | holds |
| --- | --- |
| `budget` | trials and seconds that may be spent, each time it begins or goes on |
| `known` | trials of other searches that need not be repeated |
| `proposed` | the proposal; below 0 are numbers of repetitions of trials with other seeds |
| `promoted` | the proposal, with the epochs it is to have now |
| `ended` | the number, and the result: final, or at a rung |
| `unfinished` | the number of a trial that ran out of time, and its result until then |
| `finalists` | the numbers of the trials that are repeated with other seeds, and their epochs |
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import find_propagation
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.propagation import (
    canonical_propagation,
    from_text,
    split_choices,
)
from interstellar.errors import DataError, SettingsError
from interstellar.records.run_folder import RunFolder
from interstellar.rivals.notation import AnyModel, model_text, read_model
from interstellar.runs.experiment import ANY, Experiment, read_experiment
from interstellar.runs.search_plan import Budget
from interstellar.searching.finalists import find_winner
from interstellar.searching.plain_values import is_number
from interstellar.searching.trial import (
    ALTERED,
    Proposal,
    Trial,
    TrialResult,
    read_result,
)
from interstellar.searching.trials import Trials
from interstellar.searching.tried_network import TriedNetwork, network_of, own_choices

Event: TypeAlias = Mapping[str, Any]

FINAL = "final"
RIVAL = "rival"
"""Folder of the trained winner, within that of the search."""


def trials_of(run: RunFolder) -> Trials:
    """Return every trial of a search or a tuning, finished or not, that has ended."""
    experiment = read_experiment(run.experiment_file)
    if experiment.plan is None:
        raise SettingsError(
            f"{run.path} is the run of a training, not of a search. Choose another folder."
        )
    tuned = tuned_architecture(experiment)
    return Trials(list_trials(run.read_events(), run.journal_file, tuned))


def winner_of(run: RunFolder) -> Trial:
    """Return what a search or a tuning, finished or not, found best."""
    best = find_winner(trials_of(run))
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
    return (
        experiment.architecture
        if experiment.plan is None
        else model_text(winner_of(run).architecture)
    )


def read_network(text: str) -> TriedNetwork:
    """Return the canonical form of an architecture as it is written, or of what a run is of."""
    if (written := read_written(text)) == text:
        line = find_propagation(text)
        if split_choices(line)[1]:
            return canonical_propagation(from_text(line))
        return canonical_form(read_architecture(text))
    run = RunFolder.open(Path(text))
    experiment = read_experiment(run.experiment_file)
    if experiment.plan is not None:
        return winner_of(run).network
    return network_of(read_model(written), own_choices(experiment.settings))


def tuned_architecture(experiment: Experiment) -> AnyModel | None:
    """Return the architecture of a tuning."""
    code = experiment.architecture
    return None if code == ANY else read_model(code)


def last_budget(run: RunFolder) -> Budget | None:
    """Return what a search was last allowed to spend; None: version 0.1 did not note it."""
    noted = [event for event in run.read_events() if event["event"] == "budget"]
    if not noted:
        return None
    last: Mapping[str, Any] = noted[-1]
    with refusing_altered(last, run.journal_file):
        return Budget(trials=last["trials"], time=last["seconds"])


def list_trials(
    events: Iterable[Event], journal: Path, tuned: AnyModel | None = None
) -> Iterator[Trial]:
    """Yield every trial in the journal of a search or a tuning, in the order of their ends."""
    for moment, proposal, result in read_moments(events, journal, tuned):
        is_scored = moment is Moment.ENDED or (result is not None and result.score is not None)
        if proposal.architecture is not None and result is not None and is_scored:
            yield Trial.of(proposal, result)


class Moment(StrEnum):
    """What can happen to a proposal."""

    BEGUN = "begun"
    LEFT = "left"
    """Time was over: it is still under way for who resumes."""
    ENDED = "ended"


_MOMENTS = {
    "proposed": Moment.BEGUN,
    "promoted": Moment.BEGUN,
    "unfinished": Moment.LEFT,
    "ended": Moment.ENDED,
}


def read_moments(
    events: Iterable[Event], journal: Path, tuned: AnyModel | None
) -> Iterator[tuple[Moment, Proposal, TrialResult | None]]:
    """Yield what happened to each proposal of a journal, with its result where it had one."""
    under_way: dict[int, Proposal] = {}
    for event in events:
        moment, number, result = _MOMENTS.get(event["event"]), event.get("number"), None
        if moment is None:
            continue
        with refusing_altered(event, journal):
            if not is_number(event.get("elapsed", 0.0)):
                raise ValueError
            if moment is Moment.BEGUN:
                under_way[event["number"]] = Proposal.from_plain(event, tuned)
            elif number not in under_way:
                raise DataError(
                    f"{journal}: proposal {number} {event['event']}, but it is not under way "
                    "there. The journal was altered. Take it from a copy, or begin a new search."
                )
            assert isinstance(number, int)
            proposal = under_way[number]
            if moment is Moment.ENDED or "score" in event:
                result = read_result(event, proposal)
            if moment is Moment.ENDED:
                del under_way[number]
        yield moment, proposal, result


def chosen_finalists(
    events: Iterable[Event], journal: Path, trials: Container[int]
) -> tuple[list[int], int] | None:
    """Return the finalists of a search and the epochs they are to have; None: it has none yet.

    With another budget than it had, it goes on too. They must be among its `trials`.
    """
    chosen, budget = None, None
    for event in events:
        if event["event"] == "budget":
            given = event.get("trials"), event.get("seconds")
            chosen, budget = chosen if given == budget else None, given
        elif event["event"] == "finalists":
            with refusing_altered(event, journal):
                chosen = list(event["numbers"]), int(event["epochs"])
                if not all(number in trials for number in chosen[0]):
                    raise ValueError
    return chosen


def read_known(event: Event, journal: Path) -> list[Trial]:
    """Return the trials of other searches of an event `known`."""
    with refusing_altered(event, journal):
        return [Trial.from_plain(plain) for plain in event["trials"]]


@contextmanager
def refusing_altered(event: Event, journal: Path, kind: str = "search") -> Iterator[None]:
    """Name the event that cannot be read, of a run of some kind."""
    try:
        yield
    except ALTERED:
        raise DataError(
            f"{journal}: an event `{event.get('event')}` of {event.get('time')} is not what "
            f"a {kind} writes. The journal was altered. Take it from a copy, or begin a new {kind}."
        ) from None
