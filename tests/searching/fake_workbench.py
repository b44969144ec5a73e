"""A workbench without networks, strategies without learning, and a search loop of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.choices import Combinator
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.engine.engine import Plain
from interstellar.engine.this_process import ThisProcess
from interstellar.records.journal import Event, Journal, read_events
from interstellar.searching.budget import Budget
from interstellar.searching.hopeless import is_hopeless
from interstellar.searching.natural_gradient import ControllerState
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.strategy import (
    FromScratch,
    Outcome,
    Proposal,
    SearchStrategy,
    WithSettings,
)
from interstellar.searching.trials import Trial
from interstellar.searching.works import Earned, from_plain
from tests.searching.fake_judge import judge, score_by_hash

N_VALIDATIONS = 4

TRANS_E = read_architecture("TransE")
ALSO_TRANS_E = replace(TRANS_E, macro=replace(TRANS_E.macro, subject=Combinator.MULTIPLY))
"""The same network: nobody reads what differs."""
COMPL_EX = read_architecture("ComplEx")
P_TRANS_E = read_architecture("PTransE-add")


@dataclass
class FakeWorkbench:
    """Scores follow from the network's hash; some trials fail, and hopeless ones are stopped."""

    space: SearchSpace = field(default_factory=SearchSpace)
    n_failing: int = 0
    """So many of 100 networks cannot be trained."""
    is_late: Callable[[int], bool] = lambda _: False
    """Whether a proposal is out of time."""
    done: list[int] = field(default_factory=list)
    """The numbers of what was done."""

    def __call__(self, works: Sequence[Plain]) -> list[Plain]:
        return [self._do(work) for work in works]

    def _do(self, work: Plain) -> Plain:
        self.done.append(work["number"])
        proposal = from_plain(work)
        match proposal:
            case FromScratch():
                return self._train(score_network(proposal.architecture), work)
            case WithSettings():
                return self._train(float(proposal.changes["dropout"]), work)
            case _:
                outcome = judge(self.space, proposal, score_network)
        if isinstance(outcome, ControllerState):
            return {"controller": outcome.as_dict(), "seconds": 0.0}
        assert isinstance(outcome, tuple)
        return {"weights": [list(options) for options in outcome], "seconds": 0.0}

    def _train(self, score: float, work: Plain) -> Plain:
        if self.is_late(work["number"]):
            return Earned(score=None, stopped="time").as_plain()
        if score * 100 < self.n_failing:
            return Earned(score=None, failure="the loss was not a finite number").as_plain()
        curve: list[float] = []
        while len(curve) < N_VALIDATIONS and not is_hopeless(curve, work["bar"]):
            curve.append(score * (1 - 0.5 ** (len(curve) + 1)))
        is_whole = len(curve) == N_VALIDATIONS
        stopped = None if is_whole else "hopeless"
        return Earned(
            score=curve[-1], valid={"mrr": curve[-1]}, curve=curve, stopped=stopped
        ).as_plain()


def score_network(architecture: Architecture) -> float:
    """Return a score that is the same under all names of a network."""
    return score_by_hash(canonical_form(architecture))


class Listed:
    """Proposes what it was given, in that order, and remembers what it was told."""

    def __init__(self, architectures: Sequence[Architecture], *, is_endless: bool = False) -> None:
        self._architectures = architectures
        self._is_endless = is_endless
        self._n_asked = 0
        self.told: dict[int, Outcome] = {}

    def ask(self) -> Proposal | None:
        number = self._n_asked
        if number >= len(self._architectures) and not self._is_endless:
            return None
        self._n_asked += 1
        architecture = self._architectures[number % len(self._architectures)]
        return FromScratch(number=number, architecture=architecture)

    def tell(self, number: int, outcome: Outcome) -> None:
        assert number not in self.told
        self.told[number] = outcome

    def answer(self) -> Architecture | None:
        return None


def draw(n: int, seed: int = 0) -> list[Architecture]:
    """Return so many architectures that are all different networks."""
    rng, found = np.random.default_rng(seed), dict[Architecture, Architecture]()
    while len(found) < n:
        architecture = SearchSpace().sample(rng)
        found.setdefault(canonical_form(architecture), architecture)
    return list(found.values())


def run_loop(
    path: Path,
    strategy: SearchStrategy,
    workbench: Callable[[Sequence[Plain]], Sequence[Plain]],
    budget: Budget | None = None,
    *,
    n_together: int = 1,
    is_faithful: bool = False,
    known: Mapping[Architecture, Trial] | None = None,
    tuned: Architecture | None = None,
) -> SearchLoop:
    """Begin a search in a journal, or go on with it, to its end."""
    with Journal.open(path) as journal:
        loop = SearchLoop(
            strategy,
            journal,
            budget or Budget(trials=100),
            is_faithful=is_faithful,
            known=known or {},
            tuned=tuned,
        )
        loop.run(ThisProcess(workbench, n_together))
    return loop


def events_of(path: Path, kind: str) -> list[Event]:
    return [event for event in read_events(path) if event["event"] == kind]


def lasting(path: Path) -> list[Event]:
    """Return the ends in a journal without what depends on time."""
    passing = {"time", "seconds", "elapsed"}
    return [
        {key: value for key, value in event.items() if key not in passing}
        for event in events_of(path, "ended")
    ]
