"""A workbench without networks, strategies without learning, and a search loop of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from interstellar.architecture.architecture import Architecture, Combinator
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.engine.engine import OnProgress, Plain, ThisProcess, Workbench, ignore
from interstellar.records.journal import Event, Journal, read_events
from interstellar.runs.search_plan import Budget
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.trial import Proposal, Stop, Trial, TrialResult
from interstellar.searching.trials import should_prune
from tests.searching.fake_judge import judge, score_by_hash

N_VALIDATIONS = 4

TRANS_E = read_architecture("TransE")
ALSO_TRANS_E = replace(TRANS_E, macro=replace(TRANS_E.macro, subject=Combinator.MULTIPLY))
"""The same network: nobody reads what differs."""
COMPL_EX = read_architecture("ComplEx")
P_TRANS_E = read_architecture("PTransE-add")


@dataclass
class FakeWorkbench:
    """Scores follow from the network's hash; some trials fail, and some are pruned."""

    space: SearchSpace = field(default_factory=SearchSpace)
    n_failing: int = 0
    """So many of 100 networks cannot be trained."""
    is_late: Callable[[int], bool] = lambda _: False
    """Whether a proposal is out of time."""
    done: list[int] = field(default_factory=list)
    """The numbers of what was done."""

    def __call__(self, works: Sequence[Plain], on_progress: OnProgress = ignore) -> list[Plain]:
        del on_progress
        return [self._do(Proposal.from_plain(work)).as_plain() for work in works]

    def _do(self, proposal: Proposal) -> TrialResult:
        self.done.append(proposal.number)
        if proposal.architecture is None:
            return judge(self.space, proposal, score_network)
        if proposal.changes:
            return self._train(proposal, float(proposal.changes["dropout"]))
        return self._train(proposal, score_network(proposal.architecture))

    def _train(self, proposal: Proposal, score: float) -> TrialResult:
        if self.is_late(proposal.number):
            return TrialResult(stopped=Stop.TIME)
        if score * 100 < self.n_failing:
            return TrialResult(failure="the loss was not a finite number")
        curve: list[float] = []
        while len(curve) < N_VALIDATIONS and not should_prune(curve, proposal.prune_below):
            curve.append(score * (1 - 0.5 ** (len(curve) + 1)))
        stopped = None if len(curve) == N_VALIDATIONS else Stop.PRUNED
        valid = {"mrr": curve[-1]}
        return TrialResult(score=curve[-1], valid=valid, curve=curve, stopped=stopped)


def score_network(architecture: Architecture) -> float:
    """Return a score that is the same under all names of a network."""
    return score_by_hash(canonical_form(architecture))


class Listed:
    """Proposes what it was given, in that order, and remembers what it was told."""

    def __init__(self, architectures: Sequence[Architecture], *, is_endless: bool = False) -> None:
        self._architectures = architectures
        self._is_endless = is_endless
        self._n_asked = 0
        self.told: dict[int, TrialResult] = {}

    def ask(self) -> Proposal | None:
        number = self._n_asked
        if number >= len(self._architectures) and not self._is_endless:
            return None
        self._n_asked += 1
        architecture = self._architectures[number % len(self._architectures)]
        return Proposal(number=number, architecture=architecture)

    def tell(self, number: int, result: TrialResult) -> None:
        assert number not in self.told
        self.told[number] = result

    def answer(self) -> Architecture | None:
        return None


def draw(n: int, seed: int = 0) -> list[Architecture]:
    """Return so many architectures that are all different networks."""
    rng, found = np.random.default_rng(seed), dict[Architecture, Architecture]()
    while len(found) < n:
        architecture = SearchSpace().sample(rng)
        found.setdefault(canonical_form(architecture), architecture)
    return list(found.values())


def open_loop(
    journal: Journal,
    strategy: SearchStrategy,
    budget: Budget | None = None,
    *,
    prune: bool = True,
    known: Mapping[Architecture, Trial] | None = None,
    on_change: OnChange | None = None,
) -> SearchLoop:
    """Begin a search in a journal, or be where it ends."""
    return SearchLoop(
        strategy,
        journal,
        budget or Budget(trials=100),
        prune=prune,
        known=known or {},
        on_change=on_change,
    )


def run_loop(
    path: Path,
    strategy: SearchStrategy,
    workbench: Workbench,
    budget: Budget | None = None,
    *,
    n_together: int = 1,
    prune: bool = True,
    known: Mapping[Architecture, Trial] | None = None,
) -> SearchLoop:
    """Begin a search in a journal, or go on with it, to its end."""
    with Journal.open(path) as journal:
        loop = open_loop(journal, strategy, budget, prune=prune, known=known)
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
