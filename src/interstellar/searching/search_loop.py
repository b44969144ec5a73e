"""The loop of a search: ask, try, note down, tell.

Everything that happens is in the journal before anything follows from it. To go on after a kill,
the strategy is asked and told again in the order of the journal; what was under way is begun
again first. So a search with one worker ends as it would have without the kill.

| event | holds |
| --- | --- |
| `known` | trials of other searches that need not be repeated |
| `proposed` | the proposal, and the bar below which its trial is hopeless |
| `ended` | its number and what it came to |
| `unfinished` | the number of a trial that was stopped because the time was over |
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import from_code_text
from interstellar.engine.engine import Done, Engine, Plain
from interstellar.errors import DataError
from interstellar.records.journal import Journal
from interstellar.searching.budget import Budget
from interstellar.searching.hopeless import bars
from interstellar.searching.journal_events import (
    read_elapsed,
    read_ended,
    read_number,
    read_proposed,
)
from interstellar.searching.strategy import FromScratch, Proposal, SearchStrategy, WithSettings
from interstellar.searching.trials import Trial, Trials, build_trial
from interstellar.searching.works import (
    Earned,
    Kind,
    from_plain,
    to_plain,
    told_outcome,
)

MAX_REPEATS = 200
"""After so many proposals in a row that were all known, the search has nothing new to try."""

OnChange: TypeAlias = Callable[["SearchLoop"], None]


@final
class SearchLoop:
    """One search under way."""

    def __init__(
        self,
        strategy: SearchStrategy,
        journal: Journal,
        budget: Budget,
        *,
        is_faithful: bool,
        known: Mapping[Architecture, Trial],
        tuned: Architecture | None = None,
        on_change: OnChange | None = None,
    ) -> None:
        """Begin, or go on where the journal ends.

        Args:
            strategy: As it was when the search began.
            journal: Of this search, with all that happened so far.
            budget: What may be spent in all, before and after a kill.
            is_faithful: Whether hopeless trials are trained to their end too.
            known: Trials of other searches that need not be repeated, by network.
            tuned: The architecture of a tuning.
            on_change: Is called whenever a trial begins or ends.
        """
        self.trials = Trials()
        self.under_way: dict[int, Plain] = {}
        self.budget = budget
        self._strategy = strategy
        self._journal = journal
        self._is_faithful = is_faithful
        self._known = dict(known)
        self._tuned = tuned
        self._on_change = on_change or (lambda _: None)
        self._number_by_network: dict[Architecture, int] = {}
        self._twins_by_number: dict[int, list[int]] = {}
        self._n_repeats = 0
        self._was_ending = False
        self._seconds_before = 0.0
        self._started = time.monotonic()
        self.n_shared = 0
        self.failures: list[str] = []
        self._replay(journal.events())

    @property
    def seconds(self) -> float:
        """Time spent, before a kill and since."""
        return self._seconds_before + time.monotonic() - self._started

    def run(self, engine: Engine) -> None:
        """Go on until the budget is spent or the strategy has nothing more to try."""
        seconds_left = self._seconds_left()
        if seconds_left is not None and seconds_left <= 0:
            return
        for number in list(self.under_way):
            while engine.n_free == 0:
                self._take(engine.wait())
            self._begin(number, engine)
        if self.under_way and self._was_ending:
            self._take(engine.wait())
        while True:
            self._fill(engine)
            if not self.under_way:
                return
            self._take(engine.wait())

    def _fill(self, engine: Engine) -> None:
        while engine.n_free and self._has_budget() and self._n_repeats < MAX_REPEATS:
            proposal = self._strategy.ask()
            if proposal is None:
                return
            work = to_plain(proposal) | {"bar": self._bar(proposal)}
            self._journal.append("proposed", **work)
            self.under_way[proposal.number] = work
            self._begin(proposal.number, engine)

    def _begin(self, number: int, engine: Engine) -> None:
        """Start a piece of work, unless the same network is known or under way."""
        work = self.under_way[number]
        if work["kind"] == Kind.FROM_SCRATCH:
            network = canonical_form(from_code_text(work["code"]))
            found = self.trials.find(network) or self._known.get(network)
            if found is not None:
                self._end(number, {**found.earned.as_plain(), "reused": _describe(found)})
                return
            twin = self._number_by_network.setdefault(network, number)
            if twin != number:
                self._twins_by_number.setdefault(twin, []).append(number)
                return
        engine.start(number, {**work, "seconds_left": self._seconds_left()})
        self._on_change(self)

    def _take(self, done: Iterable[Done]) -> None:
        for piece in done:
            outcome = piece.outcome or Earned(score=None, failure=piece.failure).as_plain()
            if outcome.get("stopped") == "time":
                self._leave(piece.number)
            else:
                self._end(piece.number, outcome)

    def _leave(self, number: int) -> None:
        """Leave a trial, and those that wait for it, to who resumes: in the journal it goes on."""
        self._journal.append("unfinished", number=number, elapsed=self._elapsed())
        for left in (number, *self._twins_by_number.pop(number, [])):
            del self.under_way[left]
        self._number_by_network = {
            network: other for network, other in self._number_by_network.items() if other != number
        }

    def _end(self, number: int, outcome: Plain) -> None:
        event = {"number": number, **outcome, "elapsed": self._elapsed()}
        self._note(self._journal.append("ended", **event))  # as it will be read after a kill
        self._on_change(self)
        for twin in self._twins_by_number.pop(number, []):
            self._end(twin, {**outcome, "reused": f"proposal {number}"})

    def _note(self, event: Mapping[str, Any]) -> None:
        """Take note of an end, and tell the strategy."""
        number: int = event["number"]
        proposal = from_plain(self.under_way.pop(number))
        if isinstance(proposal, FromScratch | WithSettings):
            earned = Earned.from_plain(dict(event))
            reused = event.get("reused")
            trial = build_trial(proposal, earned, tuned=self._tuned, reused=reused)
            self._n_repeats = 0 if trial.reused is None else self._n_repeats + 1
            self._number_by_network.pop(trial.network, None)
            self.trials.add(trial)
        elif event.get("failure") is None:
            self.n_shared += 1
        if event.get("failure") is not None:
            self.failures.append(event["failure"])
        self._strategy.tell(number, told_outcome(proposal, dict(event)))

    def _replay(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Ask and tell the strategy as it was asked and told before."""
        proposed, journal = None, self._journal.path
        for event in events:
            if event["event"] == "proposed":
                read_proposed(event, journal)
                work = {key: event[key] for key in event if key not in ("event", "time")}
                self._refuse_other(self._strategy.ask(), work)
                proposed = work["number"]
                self.under_way[proposed] = work
                self._was_ending = False
            elif event["event"] == "ended":
                number = read_number(event, self.under_way, journal)
                read_ended(event, from_plain(self.under_way[number]), journal)
                self._note(event)
                # What ended right after it was proposed was known: others were yet to be asked for.
                self._was_ending = number != proposed or event.get("reused") is None
                proposed = None
            elapsed = read_elapsed(event, journal)
            self._seconds_before = self._seconds_before if elapsed is None else elapsed
        self._started = time.monotonic()

    def _refuse_other(self, proposal: Proposal | None, work: Plain) -> None:
        asked = None if proposal is None else to_plain(proposal)
        if asked != {key: value for key, value in work.items() if key != "bar"}:
            raise DataError(
                f"{self._journal.path}: proposal {work['number']} is {work}, but the strategy now "
                f"proposes {asked}. The journal was altered, or another version wrote it. "
                "Go on with that version, or begin a new search with --reuse of this one."
            )

    def _has_budget(self) -> bool:
        n_begun = len(self.trials.trained) + len(self._number_by_network)
        n_begun += sum(work["kind"] == Kind.SETTINGS for work in self.under_way.values())
        seconds_left = self._seconds_left()
        return (self.budget.trials is None or n_begun < self.budget.trials) and (
            seconds_left is None or seconds_left > 0
        )

    def _elapsed(self) -> float:
        return round(self.seconds, 3)

    def _seconds_left(self) -> float | None:
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    def _bar(self, proposal: Proposal) -> list[float] | None:
        if self._is_faithful or not isinstance(proposal, FromScratch | WithSettings):
            return None
        return bars(self.trials.complete_curves())


def _describe(trial: Trial) -> str:
    return trial.reused or f"proposal {trial.number}"
