"""The trials of a search: which were tried, and which is the best."""

from collections.abc import Iterable
from dataclasses import replace
from typing import final

from interstellar.searching.trial import Stop, Trial
from interstellar.searching.tried_network import TrialKey


@final
class Trials:
    """Every trial that has ended, or waits at a rung, in the order of their first ends."""

    def __init__(self, ended: Iterable[Trial] = ()) -> None:
        self._by_number: dict[int, Trial] = {}
        self._by_key: dict[TrialKey, Trial] = {}
        for trial in ended:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Take note of a trial, or of how far one has come since."""
        self._by_number[trial.number] = trial
        if trial.result.reused is None or trial.key not in self._by_key:
            self._by_key[trial.key] = trial

    def find(self, key: TrialKey) -> Trial | None:
        """Return the trial of the same network, settings and seed, whatever its name was there."""
        return self._by_key.get(key)

    def __getitem__(self, number: int) -> Trial:
        return self._by_number[number]

    def __contains__(self, number: object) -> bool:
        return number in self._by_number

    @property
    def ended(self) -> list[Trial]:
        """All but repetitions with other seeds."""
        return [trial for trial in self._by_number.values() if trial.seed is None]

    @property
    def repeats(self) -> list[Trial]:
        """Repetitions of trials with other seeds."""
        return [trial for trial in self._by_number.values() if trial.seed is not None]

    @property
    def trained(self) -> list[Trial]:
        """Those that cost something."""
        return [trial for trial in self.ended if trial.result.reused is None]

    @property
    def ranked(self) -> list[Trial]:
        """Those with a score, the best first, each once; of equal ones the first tried."""
        scored = [trial for trial in self.ended if trial.score is not None]
        found: dict[TrialKey, Trial] = {}
        for trial in sorted(scored, key=lambda trial: -(trial.score or 0.0)):
            found.setdefault(trial.key, trial)
        return list(found.values())

    @property
    def best(self) -> Trial | None:
        """The highest score; of equal ones the first."""
        scored = [trial for trial in self.ended if trial.score is not None]
        return max(scored, key=lambda trial: trial.score or 0.0, default=None)

    @property
    def waiting(self) -> list[Trial]:
        """Those that wait at a rung."""
        return [trial for trial in self.trained if trial.result.stopped is Stop.RUNG]


def known_trials(trials: Iterable[Trial], source: str) -> dict[TrialKey, Trial]:
    """Return the complete ones among trials of another search, with their source."""
    known = {}
    for trial in trials:
        if trial.result.is_complete:
            result = replace(trial.result, reused=f"proposal {trial.number} of {source}")
            known[trial.key] = replace(trial, result=result)
    return known
