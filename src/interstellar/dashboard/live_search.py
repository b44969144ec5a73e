"""A search or a tuning while it is under way, from the events of its journal.

Of its trials only those are kept that a page shows: the best, the first (the known models are tried
first) and the repetitions of finalists. Of the scores all that were the best so far are kept, and
of the others every n-th.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, final

from interstellar.records.run_folder import RunFolder
from interstellar.reporting.recorded_run import METRICS, Event, RecordedRun
from interstellar.reporting.recorded_search import Known, RecordedSearch
from interstellar.runs.experiment import Experiment
from interstellar.searching.plain_values import is_number
from interstellar.searching.search_journal import tuned_architecture
from interstellar.searching.trial import Proposal, Trial, TrialResult
from interstellar.searching.trials import Trials
from interstellar.searching.tried_network import TrialKey

MOST_BEST, MOST_FIRST, MOST_REPEATS = 48, 32, 128
"""Trials that are kept."""
MOST_UNDER_WAY = 4096
"""More are not begun at once; of a journal that says so the oldest are forgotten."""
MOST_DOTS = 1024
"""Scores that are kept, but for those that were the best so far; of these as many."""
MOST_LETTERS = 200
TRIALS = {"trial", "from scratch", "settings"}
"""Kinds of proposals with a score of their own; the others are supernets."""


@final
class LiveSearch:
    """The trials of a search so far."""

    def __init__(self, experiment: Experiment) -> None:
        self.fates: Counter[str] = Counter()
        """How many were trained, known already, failed; each trial once."""
        self._tuned = tuned_architecture(experiment)
        self._under_way: dict[int, Event] = {}
        self._seconds: float | None = None
        self._kept: dict[TrialKey, Trial] = {}
        self._best: list[tuple[float, int]] = []
        """Scores with numbers of trials, the lowest first."""
        self._known = _KnownScores()

    def take(self, event: Event) -> None:
        """Learn what an event says; one of `ALTERED` for what no search writes."""
        match event["event"]:
            case "proposed" | "promoted":
                self._under_way[int(event["number"])] = event
                if len(self._under_way) > MOST_UNDER_WAY:
                    del self._under_way[next(iter(self._under_way))]
            case "ended" | "unfinished":
                self._take_end(event)

    def _take_end(self, event: Event) -> None:
        elapsed, number = event.get("elapsed"), int(event["number"])
        if is_number(elapsed):
            self._seconds = elapsed
        begun = self._under_way.get(number)
        if event["event"] == "ended":
            self._under_way.pop(number, None)
        if begun is None or begun.get("kind") not in TRIALS:
            return
        is_repeat = number < 0
        if event["event"] == "ended" and begun["event"] == "proposed" and not is_repeat:
            self.fates[_fate(event)] += 1
        score = event.get("score")
        if score is None:
            return
        if not is_number(score):
            raise ValueError
        if event.get("reused") is None and not is_repeat:
            self._known.add(Known(max(1, self.fates["trained"]), self._seconds, score))
        if is_repeat or self._is_kept(number, score):
            self._keep(begun, event)

    def _is_kept(self, number: int, score: float) -> bool:
        is_good = len(self._best) < MOST_BEST or score >= self._best[0][0]
        return is_good or number < MOST_FIRST

    def _keep(self, begun: Event, event: Event) -> None:
        trial = Trial.of(Proposal.from_plain(begun, self._tuned), _read_result(event))
        key, score = trial.key, trial.score
        assert score is not None
        known = self._kept.get(key, trial)
        if known.number != trial.number and (known.score or 0.0) >= score:
            return  # the same was tried before, and what came of it is known
        self._kept[key] = trial
        if trial.number >= 0:
            others = [one for one in self._best if one[1] != trial.number]
            self._best = sorted([*others, (score, trial.number)])[-MOST_BEST:]
        if len(self._kept) > 2 * (MOST_BEST + MOST_FIRST + MOST_REPEATS):
            self._forget()

    def _forget(self) -> None:
        """Keep only the best, the first and the last repetitions."""
        best = {number for _, number in self._best}
        repeats = {one.number for one in self._kept.values() if one.number < 0}
        kept = best | set(range(MOST_FIRST)) | set(sorted(repeats)[:MOST_REPEATS])
        self._kept = {key: one for key, one in self._kept.items() if one.number in kept}

    def finish(self, folder: RunFolder) -> None:
        """Learn what came out: nothing that the trials have not said."""

    @property
    def score(self) -> float | None:
        """The best so far."""
        return self._known.best

    @property
    def progress(self) -> str:
        """How far it has come, in words."""
        trained = f"{self.fates['trained']:,} trials"
        n = len(self._under_way)
        return f"{trained}, {n} under way" if n else trained

    @property
    def formula(self) -> str | None:
        """The network of the best trial."""
        if not self._best:
            return None
        _, number = self._best[-1]
        return next((one.formula for one in self._kept.values() if one.number == number), None)

    def record(self, run: RecordedRun) -> RecordedSearch:
        """Return what a report says of it, as far as that was kept."""
        return RecordedSearch(
            run=run,
            trials=Trials(self._kept.values()),
            known=tuple(self._known),
            controllers=(),
            n_under_way=len(self._under_way),
            is_cut_short=False,
            seconds=self._seconds,
            final=None,
        )


@final
class _KnownScores:
    """Scores in the order of their ends: those that were the best, every n-th of the others."""

    def __init__(self) -> None:
        self.best: float | None = None
        self._n = 0
        self._every = 1
        self._rising: dict[int, Known] = {}
        self._dots: dict[int, Known] = {}

    def add(self, known: Known) -> None:
        if self.best is None or known.score > self.best:
            self.best = known.score
            self._rising[self._n] = known
        if self._n % self._every == 0:
            self._dots[self._n] = known
        self._n += 1
        if len(self._dots) > 2 * MOST_DOTS:
            self._every *= 2
            self._dots = {n: one for n, one in self._dots.items() if n % self._every == 0}
        if len(self._rising) > 2 * MOST_DOTS:
            self._rising = dict(list(self._rising.items())[::2])

    def __iter__(self) -> Iterator[Known]:
        both = self._rising | self._dots
        return (both[n] for n in sorted(both))


def _fate(event: Event) -> str:
    if event.get("reused") is not None:
        return "known already"
    return "trained" if event.get("failure") is None else "failed"


def _read_result(event: Mapping[str, Any]) -> TrialResult:
    """Return a result without what no page shows."""
    light = {key: value for key, value in event.items() if key not in ("controller", "weights")}
    result = TrialResult.from_plain(light)
    return replace(
        result,
        curve=result.curve[-MOST_DOTS:],
        valid={name: result.valid[name] for name in METRICS if name in result.valid},
        failure=None if result.failure is None else result.failure[:MOST_LETTERS],
    )
