"""A workbench without networks, strategies without learning, and a search loop of both."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from interstellar.architecture.architecture import Architecture, Combinator
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import read_architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.engine.engine import (
    Done,
    Engine,
    OnProgress,
    Plain,
    ThisProcess,
    Workbench,
    ignore,
)
from interstellar.records.journal import Event, Journal, read_events
from interstellar.runs.search_plan import Budget
from interstellar.searching.finalists import choose_finalists
from interstellar.searching.rungs import Rungs
from interstellar.searching.search_loop import OnChange, SearchLoop
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.trial import Proposal, Stop, Trial, TrialResult
from interstellar.searching.tried_network import TrialKey
from tests.searching.fake_judge import judge, score_by_hash

N_EPOCHS = 9
WHOLE = Rungs((N_EPOCHS,), 1)
"""Every trial is trained to its end."""
RUNGS = Rungs((1, 3, N_EPOCHS), 1)

TRANS_E = read_architecture("TransE")
ALSO_TRANS_E = replace(TRANS_E, macro=replace(TRANS_E.macro, subject=Combinator.MULTIPLY))
"""The same network: nobody reads what differs."""
COMPL_EX = read_architecture("ComplEx")
P_TRANS_E = read_architecture("PTransE-add")


@dataclass
class FakeWorkbench:
    """Scores follow from the network's hash and rise with each epoch; some trials fail."""

    space: SearchSpace = field(default_factory=SearchSpace)
    n_failing: int = 0
    """So many of 100 networks cannot be trained."""
    is_late: Callable[[int], bool] = lambda _: False
    """Whether a proposal is out of time."""
    n_late_epochs: int = 0
    """What those that are out of time have had."""
    done: list[int] = field(default_factory=list)
    """The numbers of what was done."""

    def __call__(self, work: Plain, on_progress: OnProgress = ignore) -> Plain:
        del on_progress
        return self._do(Proposal.from_plain(work)).as_plain()

    def _do(self, proposal: Proposal) -> TrialResult:
        self.done.append(proposal.number)
        if proposal.architecture is None:
            return judge(self.space, proposal, score_network)
        if proposal.changes:
            return self._train(proposal, float(proposal.changes["dropout"]))
        return self._train(proposal, score_network(proposal.point, proposal.seed))

    def _train(self, proposal: Proposal, score: float) -> TrialResult:
        if self.is_late(proposal.number):
            return trained(score, self.n_late_epochs, Stop.TIME)
        if score * 100 < self.n_failing:
            return TrialResult(failure="the loss was not a finite number")
        if proposal.epochs is None:
            return trained(score, N_EPOCHS)
        return trained(score, proposal.epochs, Stop.RUNG)


def trained(score: float, n_epochs: int, stopped: Stop | None = None) -> TrialResult:
    """Return the result of a trial after so many epochs."""
    curve = [score * (1 - 0.5 ** (epoch + 1)) for epoch in range(n_epochs)]
    if not curve:
        return TrialResult(stopped=stopped)
    return TrialResult(
        score=curve[-1],
        valid={"mrr": curve[-1]},
        curve=curve,
        best_epoch=n_epochs,
        epochs=n_epochs,
        stopped=stopped,
    )


def score_network(architecture: Architecture, seed: int | None = None) -> float:
    """Return a score that is the same under all names of a network."""
    score = score_by_hash(canonical_form(architecture))
    if seed is None:
        return score
    digest = hashlib.blake2b(f"{score} {seed}".encode(), digest_size=1).digest()
    return score * (0.9 + 0.1 * digest[0] / 255)


class FirstInFirstOut:
    """An engine with several workers that are ready in the order in which they were begun."""

    def __init__(self, workbench: Workbench, n_workers: int) -> None:
        self._workbench = workbench
        self._n_workers = n_workers
        self._started: list[tuple[int, Plain]] = []

    @property
    def n_free(self) -> int:
        return self._n_workers - len(self._started)

    def start(self, number: int, work: Plain) -> None:
        self._started.append((number, work))

    def wait(self, deadline: float | None = None, on_progress: OnProgress = ignore) -> list[Done]:
        del deadline
        number, work = self._started.pop(0)
        return [Done(number, self._workbench(work, on_progress))]

    def close(self) -> None:
        self._started = []


class Listed:
    """Proposes what it was given, in that order, and remembers what it was told."""

    def __init__(self, architectures: Sequence[Architecture], *, is_endless: bool = False) -> None:
        self._architectures = architectures
        self._is_endless = is_endless
        self._n_asked = 0
        self.told: dict[int, TrialResult] = {}
        """The last result of each."""
        self.heard: list[tuple[int, int]] = []
        """Number and epochs of all results."""

    def ask(self) -> Proposal | None:
        number = self._n_asked
        if number >= len(self._architectures) and not self._is_endless:
            return None
        self._n_asked += 1
        architecture = self._architectures[number % len(self._architectures)]
        return Proposal(number=number, architecture=architecture)

    def tell(self, number: int, result: TrialResult) -> None:
        self.told[number] = result
        self.heard.append((number, result.epochs))

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
    rungs: Rungs = WHOLE,
    known: Mapping[TrialKey, Trial] | None = None,
    checkpoints: Path | None = None,
    on_change: OnChange | None = None,
) -> SearchLoop:
    """Begin a search in a journal, or be where it ends."""
    return SearchLoop(
        strategy,
        journal,
        budget or Budget(trials=100),
        rungs=rungs,
        known=known or {},
        checkpoints=checkpoints,
        on_change=on_change,
    )


def run_loop(
    path: Path,
    strategy: SearchStrategy,
    workbench: Workbench,
    budget: Budget | None = None,
    *,
    n_workers: int = 1,
    rungs: Rungs = WHOLE,
    known: Mapping[TrialKey, Trial] | None = None,
    n_finalists: int = 1,
) -> SearchLoop:
    """Begin a search in a journal, or go on with it, to its end."""
    several = FirstInFirstOut(workbench, n_workers)
    engine: Engine = ThisProcess(workbench) if n_workers == 1 else several
    with Journal.open(path) as journal:
        loop = open_loop(journal, strategy, budget, rungs=rungs, known=known)
        loop.run(engine, share=1.0 if n_finalists == 1 else 0.8)
        if n_finalists > 1:
            finalists = choose_finalists(loop.trials, n_finalists)
            loop.finish(engine, finalists, seeds=(1, 2))
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
