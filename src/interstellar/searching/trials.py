"""The trials of a search so far, and which of them is the best."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import code_text, from_code_text, to_formula
from interstellar.engine.engine import Plain
from interstellar.searching.strategy import FromScratch, WithSettings
from interstellar.searching.works import Earned


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One architecture, or one choice of settings, with what it earned."""

    number: int
    architecture: Architecture
    changes: dict[str, float | int] = field(default_factory=dict)
    """Settings that differ from the search's; of a tuning."""
    earned: Earned
    reused: str | None = None
    """Where the score was known from, if nothing was trained."""

    @property
    def network(self) -> Architecture:
        """The canonical form: what networks are told apart by."""
        return canonical_form(self.architecture)

    @property
    def formula(self) -> str:
        """The network in one line."""
        return to_formula(self.network)

    @property
    def score(self) -> float | None:
        """The best value of the selection metric on the validation split; None: there is none."""
        return self.earned.score

    @property
    def is_complete(self) -> bool:
        """Whether it was trained to its end, so that its score can be used again."""
        return self.earned.failure is None and self.earned.stopped is None


def build_trial(
    proposal: FromScratch | WithSettings,
    earned: Earned,
    *,
    tuned: Architecture | None,
    reused: str | None,
) -> Trial:
    """Return the trial of a proposal that has ended; `tuned` is the architecture of a tuning."""
    if isinstance(proposal, FromScratch):
        architecture, changes = proposal.architecture, {}
    else:
        assert tuned is not None
        architecture, changes = tuned, dict(proposal.changes)
    return Trial(
        number=proposal.number,
        architecture=architecture,
        changes=changes,
        earned=earned,
        reused=reused,
    )


@final
class Trials:
    """Every trial that has ended, in the order of their ends."""

    def __init__(self) -> None:
        self.ended: list[Trial] = []
        self._by_network: dict[Architecture, Trial] = {}

    def add(self, trial: Trial) -> None:
        """Take note of a trial."""
        self.ended.append(trial)
        if not trial.changes:
            self._by_network.setdefault(trial.network, trial)

    def find(self, architecture: Architecture) -> Trial | None:
        """Return the trial of the same network, whatever its name was there."""
        return self._by_network.get(canonical_form(architecture))

    @property
    def trained(self) -> list[Trial]:
        """Those that cost something."""
        return [trial for trial in self.ended if trial.reused is None]

    @property
    def best(self) -> Trial | None:
        """The highest score; of equal ones the first."""
        scored = [t for t in self.ended if t.earned.score is not None]
        return max(scored, key=_score, default=None)

    def complete_curves(self) -> list[list[float]]:
        """Return the scores at each validation of those that were trained to their end."""
        return [t.earned.curve for t in self.trained if t.is_complete and t.earned.curve]


def _score(trial: Trial) -> float:
    assert trial.earned.score is not None
    return trial.earned.score


def known_scores(trials: Iterable[Trial], source: str) -> dict[Architecture, Trial]:
    """Return the complete ones among trials of another search, by network, with their source."""
    return {
        trial.network: replace(trial, reused=f"proposal {trial.number} of {source}")
        for trial in trials
        if trial.is_complete
    }


def trial_to_plain(trial: Trial) -> Plain:
    """Return a trial of an architecture, as it was in another search, as plain values."""
    return {
        "number": trial.number,
        "code": code_text(trial.architecture),
        "reused": trial.reused,
        "earned": trial.earned.as_plain(),
    }


def trial_from_plain(plain: Mapping[str, Any]) -> Trial:
    """Return the trial that `trial_to_plain` wrote."""
    return Trial(
        number=plain["number"],
        architecture=from_code_text(plain["code"]),
        reused=plain["reused"],
        earned=Earned.from_plain(dict(plain["earned"])),
    )
