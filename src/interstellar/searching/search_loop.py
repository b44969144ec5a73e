"""The loop of a search: ask, try, note down, tell.

Everything that happens is in the journal before anything follows from it. To go on after a kill,
the strategy is asked and told again in the order of the journal; what was under way is begun
again first. So a search with one worker ends as it would have without the kill.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.engine.engine import Done, Engine
from interstellar.errors import DataError
from interstellar.records.journal import Journal
from interstellar.runs.search_plan import Budget
from interstellar.searching.search_journal import Event, read_proposals
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.trial import (
    Proposal,
    Stop,
    Trial,
    TrialResult,
)
from interstellar.searching.trials import Trials, prune_bar

MAX_REPEATS = 200
"""After so many proposals in a row that were all known, the search has nothing new to try."""
LEAST_GRACE, MOST_GRACE, GRACE_EPOCHS = 10.0, 60.0, 5
"""When time is up, trials stop by themselves at the end of an epoch. A worker is waited for as long
as several epochs take, within these seconds; then it is taken for hung."""

OnChange: TypeAlias = Callable[["SearchLoop"], None]
"""Is called whenever a trial begins, goes on or ends."""


@final
class SearchLoop:
    """One search under way."""

    def __init__(
        self,
        strategy: SearchStrategy,
        journal: Journal,
        budget: Budget,
        *,
        prune: bool,
        known: Mapping[Architecture, Trial],
        tuned: Architecture | None = None,
        on_change: OnChange | None = None,
    ) -> None:
        """Begin, or go on where the journal ends, with the strategy as it was at first.

        `known` are trials of other searches by network, `tuned` is the architecture of a tuning.
        """
        self.trials = Trials()
        self.under_way: dict[int, Proposal] = {}
        self.epochs_by_number: dict[int, tuple[int, int]] = {}
        """Of those under way: epochs done, and epochs at most."""
        self.budget = budget
        self.n_shared = 0
        self.failures: list[str] = []
        self._strategy = strategy
        self._journal = journal
        self._prune = prune
        self._known = dict(known)
        self._tuned = tuned
        self._on_change = on_change or (lambda _: None)
        self._number_by_network: dict[Architecture, int] = {}
        self._twins_by_number: dict[int, list[int]] = {}
        self._n_repeats = 0
        self._was_ending = False
        self._seconds_before = 0.0
        self._replay(journal.events())
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time spent, before a kill and since."""
        return self._seconds_before + time.monotonic() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Time until the budget is spent; None: it has no limit of time."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    @property
    def grace_seconds(self) -> float:
        """How long a worker is waited for when time is up, by the epochs of trials until now."""
        results = [trial.result for trial in self.trials.trained if trial.result.epochs > 0]
        if not results:
            return MOST_GRACE
        epoch_seconds = max(result.seconds / result.epochs for result in results)
        return min(MOST_GRACE, max(LEAST_GRACE, GRACE_EPOCHS * epoch_seconds))

    def run(self, engine: Engine) -> None:
        """Go on until the budget is spent or the strategy has nothing more to try."""
        if self.seconds_left is not None and self.seconds_left <= 0:
            return
        for number in list(self.under_way):
            while engine.n_free == 0:
                self._take(self._wait(engine))
            self._begin(number, engine)
        if self.under_way and self._was_ending:
            self._take(self._wait(engine))
        while True:
            self._fill(engine)
            if not self.under_way:
                return
            self._take(self._wait(engine))

    def _wait(self, engine: Engine) -> list[Done]:
        """Return what has ended, also where a worker hangs that should have stopped by itself."""
        left = self.seconds_left
        deadline = None if left is None else time.monotonic() + left + self.grace_seconds
        return engine.wait(deadline, self._note_progress)

    def _note_progress(self, number: int, epoch: int, max_epochs: int) -> None:
        self.epochs_by_number[number] = (epoch, max_epochs)
        self._on_change(self)

    def _fill(self, engine: Engine) -> None:
        while engine.n_free and self._has_budget() and self._n_repeats < MAX_REPEATS:
            proposal = self._strategy.ask()
            if proposal is None:
                return
            if self._prune and proposal.architecture is not None:
                bar = prune_bar(self.trials.complete_curves())
                proposal = replace(proposal, prune_below=bar)
            self._journal.append("proposed", **proposal.as_plain())
            self.under_way[proposal.number] = proposal
            self._begin(proposal.number, engine)

    def _begin(self, number: int, engine: Engine) -> None:
        """Start on a proposal, unless the same network is known or under way."""
        proposal = self.under_way[number]
        if proposal.architecture is not None and not proposal.changes:
            network = canonical_form(proposal.architecture)
            found = self.trials.find(network) or self._known.get(network)
            if found is not None:
                source = found.result.reused or f"proposal {found.number}"
                self._end(number, replace(found.result, reused=source))
                return
            twin = self._number_by_network.setdefault(network, number)
            if twin != number:
                self._twins_by_number.setdefault(twin, []).append(number)
                return
        engine.start(number, {**proposal.as_plain(), "seconds_left": self.seconds_left})
        self._on_change(self)

    def _take(self, done: Iterable[Done]) -> None:
        for piece in done:
            result = TrialResult.from_plain(piece.outcome or {"failure": piece.failure})
            if piece.is_late or result.stopped is Stop.TIME:
                self._leave(piece.number)
            else:
                self._end(piece.number, result)

    def _leave(self, number: int) -> None:
        """Leave a trial, and those that wait for it, to who resumes: in the journal it goes on."""
        self._journal.append("unfinished", number=number, elapsed=round(self.seconds, 3))
        for left in (number, *self._twins_by_number.pop(number, [])):
            del self.under_way[left]
        self._number_by_network = {
            network: other for network, other in self._number_by_network.items() if other != number
        }

    def _end(self, number: int, result: TrialResult) -> None:
        elapsed = round(self.seconds, 3)
        event = self._journal.append("ended", number=number, **result.as_plain(), elapsed=elapsed)
        self._note(number, TrialResult.from_plain(event))  # as it will be read after a kill
        self._on_change(self)
        for twin in self._twins_by_number.pop(number, []):
            self._end(twin, replace(result, reused=f"proposal {number}"))

    def _note(self, number: int, result: TrialResult) -> None:
        """Take note of an end, and tell the strategy."""
        proposal = self.under_way.pop(number)
        self.epochs_by_number.pop(number, None)
        if proposal.architecture is not None:
            trial = Trial.of(proposal, result)
            self._n_repeats = 0 if result.reused is None else self._n_repeats + 1
            self._number_by_network.pop(trial.network, None)
            self.trials.add(trial)
        elif result.failure is None:
            self.n_shared += 1
        if result.failure is not None:
            self.failures.append(result.failure)
        self._strategy.tell(number, result)

    def _replay(self, events: Sequence[Event]) -> None:
        """Ask and tell the strategy as it was asked and told before."""
        proposed = None
        for proposal, result in read_proposals(events, self._journal.path, self._tuned):
            if result is None:
                self._refuse_other(self._strategy.ask(), proposal)
                proposed = proposal.number
                self.under_way[proposed] = proposal
                self._was_ending = False
            else:
                self._note(proposal.number, result)
                # What ended right after it was proposed was known: others were yet to be asked for.
                self._was_ending = proposal.number != proposed or result.reused is None
                proposed = None
        self._seconds_before = max((event.get("elapsed", 0.0) for event in events), default=0.0)

    def _refuse_other(self, asked: Proposal | None, noted: Proposal) -> None:
        if asked != replace(noted, prune_below=None):
            now = None if asked is None else asked.as_plain()
            raise DataError(
                f"{self._journal.path}: proposal {noted.number} is {noted.as_plain()}, but the "
                f"strategy now proposes {now}. The journal was altered, or another version wrote "
                "it. Go on with that version, or begin a new search that reuses this one."
            )

    def _has_budget(self) -> bool:
        n_begun = len(self.trials.trained) + len(self._number_by_network)
        n_begun += sum(bool(proposal.changes) for proposal in self.under_way.values())
        return (self.budget.trials is None or n_begun < self.budget.trials) and (
            self.seconds_left is None or self.seconds_left > 0
        )
