"""The loop of a search: ask or promote, try, note down, tell; at last repeat the best.

Everything that happens is in the journal before anything follows from it. To go on after a kill,
the strategy is asked and told again in the order of the journal; what was under way is begun
again first. So a search with one worker ends as it would have without the kill.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, final

from interstellar.engine.engine import Done, Engine
from interstellar.errors import DataError
from interstellar.records.journal import Journal
from interstellar.rivals.notation import AnyModel
from interstellar.runs.search_plan import Budget
from interstellar.searching.finalists import highest_rung
from interstellar.searching.kept_checkpoints import remove_needless
from interstellar.searching.outcomes import Outcomes
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_journal import Event, Moment, chosen_finalists, read_moments
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.trial import Proposal, Stop, Trial, TrialResult
from interstellar.searching.trials import Trials
from interstellar.searching.tried_network import TrialKey

"""Of the time: the rest is for handing the winner over."""
MAX_REPEATS = 200
"""After so many proposals in a row that were all known, the search has nothing new to try."""
LEAST_GRACE, MOST_GRACE, GRACE_EPOCHS = 10.0, 60.0, 5
"""When time is up, trials stop by themselves. A worker is waited for as long as several epochs
take, within these seconds; then it is taken for hung."""

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
        rungs: Rungs,
        known: Mapping[TrialKey, Trial],
        tuned: AnyModel | None = None,
        checkpoints: Path | None = None,
        started: float | None = None,
        on_change: OnChange | None = None,
    ) -> None:
        """Begin, or go on where the journal ends, with the strategy as it was at first.

        `known` are trials of other searches, `tuned` is the architecture of a tuning,
        `checkpoints` the folder where trials leave off, and `started` when time began to count.
        """
        self.trials = Trials()
        self.under_way: dict[int, Proposal] = {}
        self.epochs_by_number: dict[int, tuple[float, int]] = {}
        """Of those under way: epochs done, and epochs at most."""
        self.curve_by_number: dict[int, list[float]] = {}
        """Of those under way: the metric at each validation that was heard of."""
        self.budget = budget
        self.n_shared = 0
        self.failures: list[str] = []
        self._strategy = strategy
        self._journal = journal
        self._rungs = rungs
        self._known = dict(known)
        self._tuned = tuned
        self._checkpoints = checkpoints
        self._on_change = on_change or (lambda _: None)
        self._proposals: dict[int, Proposal] = {}
        self._number_by_key: dict[TrialKey, int] = {}
        self._twins_by_number: dict[int, list[int]] = {}
        self._outcomes = Outcomes()
        self._n_repeats = 0
        self._seconds_before = 0.0
        events = journal.events()
        self._replay(events)
        self._finalists = chosen_finalists(events, journal.path, self.trials)
        self._unfinished, self.under_way = self.under_way, {}
        self._ends_at = budget.seconds
        self._started = time.monotonic() if started is None else started

    @property
    def seconds(self) -> float:
        """Time spent, before a kill and since."""
        return self._seconds_before + time.monotonic() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Time until what is done now must end; None: it has no limit of time."""
        return None if self._ends_at is None else self._ends_at - self.seconds

    @property
    def grace_seconds(self) -> float:
        """How long a worker is waited for when time is up, by the epochs of trials until now."""
        results = [trial.result for trial in self.trials.trained if trial.result.epochs > 0]
        if not results:
            return MOST_GRACE
        epoch_seconds = max(result.seconds_of_epoch for result in results)
        return min(MOST_GRACE, max(LEAST_GRACE, GRACE_EPOCHS * epoch_seconds))

    def run(self, engine: Engine, *, share: float = 1.0) -> None:
        """Go on until the budget, or a share of its time, is spent or there is nothing to try."""
        self._ends_at = None if self.budget.seconds is None else share * self.budget.seconds
        if not self._has_time() or self._finalists is not None:
            return
        self._take_up(engine, self._unfinished)
        while True:
            self._fill(engine)
            if not self.under_way:
                return
            self._take(engine)

    def finish(
        self, engine: Engine, trials: Sequence[Trial], seeds: Sequence[int], *, share: float = 1.0
    ) -> None:
        """Train trials to the highest rung there is time for, and repeat them with other seeds.

        The first goes first. Where the search was killed after others were chosen, it is those.
        """
        self._ends_at = None if self.budget.seconds is None else share * self.budget.seconds
        if not self._has_time() or not trials:
            return
        if self._finalists is None:
            rung = highest_rung(self._rungs, trials[0], self.seconds_left)
            self._finalists = [trial.number for trial in trials], rung
            self._journal.append("finalists", numbers=self._finalists[0], epochs=rung)
        numbers, rung = self._finalists
        trials = [self.trials[number] for number in numbers]
        epochs = None if rung == self._rungs.epochs[-1] else rung
        final = {n: p for n, p in self._unfinished.items() if self._is_final(p)}
        self._take_up(engine, {n: replace(p, epochs=epochs) for n, p in final.items()})
        for seed in seeds:
            for trial in trials:
                if trial.result.epochs < rung:
                    promoted = replace(self._proposals[trial.number], epochs=epochs)
                    self._begin_if_it_fits(promoted, "promoted", engine)
                number = min([0, *self._proposals]) - 1
                repetition = replace(trial.repetition(number, seed), epochs=epochs)
                self._begin_if_it_fits(repetition, "proposed", engine)
        while self.under_way:
            self._take(engine)

    def _take_up(self, engine: Engine, unfinished: Mapping[int, Proposal]) -> None:
        """Begin again what was under way when the search was stopped."""
        self.under_way |= unfinished
        self._unfinished = {n: p for n, p in self._unfinished.items() if n not in unfinished}
        for number in unfinished:
            self._wait_for_room(engine)
            self._begin(number, engine)

    def _is_final(self, proposal: Proposal) -> bool:
        """Return whether a proposal was begun for the finalists."""
        assert self._finalists is not None
        return proposal.number < 0 or proposal.number in self._finalists[0]

    def _begin_if_it_fits(self, proposal: Proposal, event: str, engine: Engine) -> None:
        self._wait_for_room(engine)
        key = proposal.key
        is_busy = any(key == p.key for p in self.under_way.values())
        found, epochs = self.trials.find(key), proposal.epochs or self._rungs.epochs[-1]
        is_over = found is not None and (
            found.result.stopped is None or found.result.epochs >= epochs
        )
        if not is_busy and not is_over and self._fits(proposal):
            self._put_under_way(proposal, event)
            self._begin(proposal.number, engine)

    def _wait_for_room(self, engine: Engine) -> None:
        while engine.n_free == 0:
            self._take(engine)

    def _fits(self, proposal: Proposal) -> bool:
        """Return whether there is time for a trial to be trained to its end, by what it took."""
        if self.seconds_left is None:
            return True
        found = self.trials.find(replace(proposal, seed=None).key)
        assert found is not None
        begun = self.trials.find(proposal.key)
        n_done = 0 if begun is None else begun.result.epochs
        n_more = (proposal.epochs or self._rungs.epochs[-1]) - n_done
        return found.result.seconds_of_epoch * n_more < self.seconds_left

    def _wait(self, engine: Engine) -> list[Done]:
        """Return what has ended, also where a worker hangs that should have stopped by itself."""
        left = self.seconds_left
        deadline = None if left is None else time.monotonic() + left + self.grace_seconds
        return engine.wait(deadline, self._note_progress)

    def _note_progress(
        self, number: int, n_epochs: float, max_epochs: int, score: float | None
    ) -> None:
        self.epochs_by_number[number] = (n_epochs, max_epochs)
        if score is not None:
            self.curve_by_number.setdefault(number, []).append(score)
        self._on_change(self)

    def _fill(self, engine: Engine) -> None:
        while engine.n_free and self._has_time():
            promoted = self._rungs.find_promotion(self.trials, self.under_way, is_last=False)
            proposal = None
            if promoted is None and self._can_begin():
                proposal = self._strategy.ask()
            if promoted is None and proposal is None and not self.under_way:
                promoted = self._rungs.find_promotion(self.trials, (), is_last=True)
            if promoted is not None:
                epochs = self._rungs.after(promoted.result.epochs)
                promotion = replace(self._proposals[promoted.number], epochs=epochs)
                self._put_under_way(promotion, "promoted")
                self._begin(promotion.number, engine)
            elif proposal is not None:
                if proposal.architecture is not None:
                    proposal = replace(proposal, epochs=self._rungs.first)
                self._put_under_way(proposal, "proposed")
                self._begin(proposal.number, engine)
            else:
                return

    def _put_under_way(self, proposal: Proposal, event: str) -> None:
        self._journal.append(event, **proposal.as_plain())
        self.under_way[proposal.number] = self._proposals[proposal.number] = proposal

    def _begin(self, number: int, engine: Engine) -> None:
        """Start on a proposal, unless the same trial is known or under way."""
        proposal = self.under_way[number]
        if proposal.architecture is not None and number not in self.trials:
            key = proposal.key
            found = self.trials.find(key) or self._known.get(key)
            if found is not None:
                source = found.result.reused or f"proposal {found.number}"
                self._end(number, replace(found.result, reused=source))
                return
            twin = self._number_by_key.setdefault(key, number)
            if twin != number:
                self._twins_by_number.setdefault(twin, []).append(number)
                return
        self._start(number, engine)
        self._on_change(self)

    def _start(self, number: int, engine: Engine) -> None:
        plain = self.under_way[number].as_plain()
        engine.start(number, {**plain, "seconds_left": self.seconds_left})

    def _take(self, engine: Engine) -> None:
        """Wait for what ends next, and take note of it; what is no result is tried once more."""
        for piece in self._wait(engine):
            result = self._outcomes.read(piece, self.under_way[piece.number])
            if result is None:
                self._start(piece.number, engine)
            elif piece.is_late or result.stopped is Stop.TIME:
                self._leave(piece.number, None if piece.is_late else result)
            else:
                self._end(piece.number, result)

    def _leave(self, number: int, result: TrialResult | None) -> None:
        """Leave a trial, and those that wait for it, to who resumes: in the journal it goes on."""
        known = {} if result is None else result.as_plain()
        elapsed = round(self.seconds, 3)
        self._journal.append("unfinished", number=number, **known, elapsed=elapsed)
        if result is not None:
            self._note_unfinished(self.under_way[number], result)
        for left in (number, *self._twins_by_number.pop(number, [])):
            del self.under_way[left]
            self.epochs_by_number.pop(left, None)
        self._number_by_key = {
            k: other for k, other in self._number_by_key.items() if other != number
        }

    def _note_unfinished(self, proposal: Proposal, result: TrialResult) -> None:
        """Let what a trial has come to count, though it is not over."""
        if proposal.architecture is not None and result.score is not None:
            self.trials.add(Trial.of(proposal, result))

    def _end(self, number: int, result: TrialResult) -> None:
        elapsed = round(self.seconds, 3)
        event = self._journal.append("ended", number=number, **result.as_plain(), elapsed=elapsed)
        self._note(number, TrialResult.from_plain(event))  # as it will be read after a kill
        if self._checkpoints is not None:
            remove_needless(self._checkpoints, self.trials, self.under_way)
        self._on_change(self)
        for twin in self._twins_by_number.pop(number, []):
            self._end(twin, replace(result, reused=f"proposal {number}"))

    def _note(self, number: int, result: TrialResult) -> None:
        """Take note of an end, and tell the strategy."""
        proposal = self.under_way.pop(number)
        self.epochs_by_number.pop(number, None)
        self.curve_by_number.pop(number, None)
        if proposal.architecture is not None:
            trial = Trial.of(proposal, result)
            self._n_repeats = 0 if result.reused is None else self._n_repeats + 1
            self._number_by_key.pop(trial.key, None)
            self.trials.add(trial)
        elif result.failure is None:
            self.n_shared += 1
        if result.failure is not None:
            self.failures.append(result.failure)
        if number >= 0:
            self._strategy.tell(number, result)

    def _replay(self, events: Sequence[Event]) -> None:
        """Ask and tell the strategy as it was asked and told before."""
        for moment, proposal, result in read_moments(events, self._journal.path, self._tuned):
            match moment:
                case Moment.BEGUN:
                    self._refuse_other(self._expect(proposal), proposal)
                    self.under_way[proposal.number] = proposal
                    self._proposals[proposal.number] = proposal
                case Moment.LEFT:
                    if result is not None:
                        self._note_unfinished(proposal, result)
                case Moment.ENDED:
                    assert result is not None
                    self._note(proposal.number, result)
        self._seconds_before = max((event.get("elapsed", 0.0) for event in events), default=0.0)

    def _expect(self, noted: Proposal) -> Proposal | None:
        """Return what a proposal in the journal must be but for its epochs."""
        if noted.number in self._proposals:
            return replace(self._proposals[noted.number], epochs=None)
        if noted.number >= 0 or noted.architecture is None:
            return self._strategy.ask()
        repeated = replace(noted, seed=None, epochs=None)
        return replace(noted, epochs=None) if self.trials.find(repeated.key) else None

    def _refuse_other(self, asked: Proposal | None, noted: Proposal) -> None:
        if asked != replace(noted, epochs=None):
            now = None if asked is None else asked.as_plain()
            raise DataError(
                f"{self._journal.path}: proposal {noted.number} is {noted.as_plain()}, but the "
                f"strategy now proposes {now}. The journal was altered, or another version wrote "
                "it. Go on with that version, or begin a new search that reuses this one."
            )

    def _has_time(self) -> bool:
        return self.seconds_left is None or self.seconds_left > 0

    def _can_begin(self) -> bool:
        """Return whether a new trial may be begun."""
        n_begun = len(self.trials.trained) + len(self._number_by_key)
        has_trials = self.budget.trials is None or n_begun < self.budget.trials
        return has_trials and self._n_repeats < MAX_REPEATS
