"""A search or a tuning as its journal tells it: its trials, and when each became known."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import final

from interstellar.records.run_folder import RunFolder
from interstellar.reporting.controller_replay import ControllerReplay, Theta
from interstellar.reporting.recorded_run import METRICS, RecordedRun, Watched, is_measured
from interstellar.reporting.recorded_training import RecordedTraining, read_training
from interstellar.runs.experiment import Experiment, read_experiment
from interstellar.searching.finalists import (
    Finalist,
    Gain,
    find_gain,
    find_winner,
    list_baselines,
    list_finalists,
)
from interstellar.searching.search_journal import (
    FINAL,
    Moment,
    read_moments,
    refusing_altered,
    tuned_architecture,
)
from interstellar.searching.trial import Proposal, Stop, Trial, TrialResult
from interstellar.searching.trials import Trials

MOST_MOMENTS = 100_000
"""Read of a journal: begins and ends of 50,000 trials. The page says where there is more."""
MOST_SCORES = 2_000_000
"""Kept of the curves of all trials; of further curves the best `MOST_OF_A_CURVE` places are."""
MOST_OF_A_CURVE = 100
MOST_LETTERS = 200
"""Of a reason of failure."""
MOST_CHANGES = 100
"""Settings that one trial can change: there are not so many."""


@dataclass(frozen=True, slots=True)
class Known:
    """The score of a trial, and when it became known."""

    n_trials: int
    """So many had been trained by then."""
    seconds: float | None
    """Spent by then; None: the journal does not say."""
    score: float


@dataclass(frozen=True, slots=True)
class ControllerMoment:
    """What the controller of a search had learnt."""

    n_trials: int
    theta: Theta


@final
@dataclass(frozen=True, kw_only=True)
class RecordedSearch:
    """A search or a tuning, finished or not."""

    run: RecordedRun
    trials: Trials
    known: tuple[Known, ...]
    """Of each trial at each end, in their order; repetitions with other seeds are left out."""
    controllers: tuple[ControllerMoment, ...]
    """Of a hybrid search, whenever it had moved."""
    n_under_way: int
    is_cut_short: bool
    """Whether there was more in the journal than is read."""
    seconds: float | None
    final: RecordedTraining | None
    """The winner, trained."""

    @property
    def metric(self) -> str:
        return str(self.run.experiment.settings.metric)

    @cached_property
    def winner(self) -> Trial | None:
        return find_winner(self.trials)

    @cached_property
    def finalists(self) -> list[Finalist]:
        return list_finalists(self.trials)

    @cached_property
    def baselines(self) -> list[Trial]:
        return list_baselines(self.trials)

    @cached_property
    def gain(self) -> Gain | None:
        return find_gain(self.trials)

    @cached_property
    def best_so_far(self) -> list[Known]:
        """The scores that were higher than all before, and the last once more at the end."""
        found: list[Known] = []
        for known in self.known:
            if not found or known.score > found[-1].score:
                found.append(known)
        if found and self.known[-1] != found[-1]:
            found.append(replace(self.known[-1], score=found[-1].score))
        return found

    @cached_property
    def fates(self) -> Counter[str]:
        """How many trials ended in which way."""
        return Counter(map(_fate, self.trials.ended))


TO_THE_END = "trained to the end"
FATES = {
    TO_THE_END: "all epochs, or until early stopping",
    "stopped at a rung": "not among the best third of those that came as far",
    "pruned": "by the rule of version 0.1",
    "cut off by time": "the score until then counts",
    "known already": "the same network and settings had been tried: nothing was trained",
    "failed": "could not be trained",
}
"""What can become of a trial, and what that means."""


def _fate(trial: Trial) -> str:
    result = trial.result
    if result.reused is not None:
        return "known already"
    if result.failure is not None:
        return "failed"
    by_stop = {Stop.RUNG: "stopped at a rung", Stop.PRUNED: "pruned", Stop.TIME: "cut off by time"}
    return TO_THE_END if result.stopped is None else by_stop[result.stopped]


def read_search(folder: Path, experiment: Experiment, name: str) -> RecordedSearch:
    """Return what the folder of a search or a tuning says."""
    run = RunFolder(folder)
    events, reader = Watched(run), _Reader(ControllerReplay.of(experiment))
    moments = read_moments(events, run.journal_file, tuned_architecture(experiment))
    for moment, proposal, result in islice(moments, MOST_MOMENTS):
        with refusing_altered(events.last, run.journal_file):
            reader.take(moment, proposal, result, events.last.get("elapsed"))
    return RecordedSearch(
        run=events.describe(experiment, name),
        trials=reader.trials,
        known=tuple(reader.known),
        controllers=tuple(reader.controllers if reader.is_replayed else ()),
        n_under_way=len(reader.under_way),
        is_cut_short=next(moments, None) is not None,
        seconds=reader.seconds,
        final=_read_final(folder / FINAL, name),
    )


@final
class _Reader:
    """What has been read of a journal until now."""

    def __init__(self, replay: ControllerReplay | None) -> None:
        self.trials = Trials()
        self.known: list[Known] = []
        self.controllers: list[ControllerMoment] = []
        self.under_way: set[int] = set()
        self.seconds: float | None = None
        self._numbers: set[int] = set()
        self._n_scores = 0
        self._replay = replay

    @property
    def is_replayed(self) -> bool:
        """Whether the controller went the way that the journal says."""
        return self._replay is not None and self._replay.is_true

    def take(
        self,
        moment: Moment,
        proposal: Proposal,
        result: TrialResult | None,
        elapsed: float | None,
    ) -> None:
        if elapsed is not None:
            self.seconds = elapsed
        if len(proposal.changes) > MOST_CHANGES or not is_measured(elapsed or 0.0):
            raise ValueError
        if moment is Moment.BEGUN:
            self.under_way.add(proposal.number)
        else:
            self.under_way.discard(proposal.number)
        is_scored = result is not None and (moment is Moment.ENDED or result.score is not None)
        if proposal.architecture is not None and result is not None and is_scored:
            self._take_trial(Trial.of(proposal, self._lighten(result)), elapsed)
        if self._replay is not None:
            self._replay.take(moment, proposal, result)
            self._note_controller(self._replay.theta)

    def _note_controller(self, theta: Theta) -> None:
        if not self.controllers or self.controllers[-1].theta != theta:
            self.controllers.append(ControllerMoment(len(self._numbers), theta))

    def _take_trial(self, trial: Trial, elapsed: float | None) -> None:
        self.trials.add(trial)
        if trial.number < 0 or trial.result.reused is not None:
            return
        self._numbers.add(trial.number)
        if trial.score is not None:
            self.known.append(Known(len(self._numbers), elapsed, trial.score))

    def _lighten(self, result: TrialResult) -> TrialResult:
        """Return a result that takes little memory, however much the journal says of it."""
        scores = [*result.curve, *result.valid.values(), result.score, result.seconds]
        if not all(value is None or is_measured(value) for value in scores):
            raise ValueError
        self._n_scores += len(result.curve)
        is_short = self._n_scores <= MOST_SCORES or len(result.curve) <= MOST_OF_A_CURVE
        return replace(
            result,
            curve=result.curve if is_short else thin_curve(result.curve, MOST_OF_A_CURVE),
            valid={name: result.valid[name] for name in METRICS if name in result.valid},
            failure=None if result.failure is None else result.failure[:MOST_LETTERS],
        )


def thin_curve(curve: Sequence[float], n: int) -> list[float]:
    """Return the best until each of n places along a curve."""
    best = array("d")
    for score in curve:
        best.append(max(score, best[-1]) if best else score)
    return [best[(i + 1) * len(best) // n - 1] for i in range(n)]


def _read_final(folder: Path, name: str) -> RecordedTraining | None:
    """Return the training of the winner; None: there is none yet."""
    if not folder.is_dir():
        return None
    experiment = read_experiment(RunFolder.open(folder).experiment_file)
    return read_training(folder, experiment, f"{name}/{FINAL}")
