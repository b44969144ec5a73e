"""Judges that need no network: what a proposal earns is planted, or follows from a hash."""

import hashlib
from collections.abc import Callable, Sequence

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import N_MACRO, Point, SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.natural_gradient import ControllerState, sample, update
from interstellar.searching.strategy import SearchStrategy
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.trial import Proposal, TrialResult

N_UPDATES = 5
"""What a shared round moves the controller."""

Score = Callable[[Architecture], float]


def score_by_hash(architecture: Architecture) -> float:
    """Return a score in 0..1 that says nothing but is always the same."""
    point = SearchSpace().locate(architecture)
    digest = hashlib.blake2b(repr(point).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32


def plant(space: SearchSpace, seed: int) -> Score:
    """Return the score that counts in how many choices an architecture is the hidden one."""
    hidden = space.locate(space.sample(spawn(seed, "hidden architecture")))
    return lambda architecture: count_equal(space.locate(architecture), hidden) / len(hidden)


def count_equal(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a == b for a, b in zip(first, second, strict=True))


def scored(score: float | None) -> TrialResult:
    """Return the result of a trial; None: it failed."""
    return TrialResult(score=score, failure="it failed" if score is None else None)


FAILED = scored(None)


def judge(space: SearchSpace, proposal: Proposal, score: Score) -> TrialResult:
    """Return what a judge with this score would tell."""
    if proposal.architecture is not None:
        return scored(score(proposal.point))
    assert proposal.supernet is not None
    if proposal.supernet.controller is None:
        return TrialResult(weights=weigh_options(space, score))
    learnt = train_shared(space, proposal.number, proposal.supernet, score)
    return TrialResult(controller=learnt)


def train_shared(
    space: SearchSpace, number: int, supernet: SupernetRound, score: Score
) -> ControllerState:
    """Move the controller as a supernet would whose comparisons are exact."""
    prefix: Point = ()
    if supernet.macro is not None:
        prefix = space.locate(Architecture(supernet.macro))[:N_MACRO]
    rng = spawn(number, "shared round")
    state = supernet.controller
    assert state is not None
    for _ in range(N_UPDATES * supernet.n_epochs):
        points = [sample(state, rng) for _ in range(2)]
        state = update(state, points, [score(space.at(prefix + point)) for point in points])
    return state


def weigh_options(space: SearchSpace, score: Score) -> tuple[tuple[float, ...], ...]:
    """Weigh each option by what the architecture earns that takes it and else the first ones."""
    sizes = [len(choice.options) for choice in space.choices()]
    return tuple(
        tuple(score(space.at(unit_point(len(sizes), i, j))) for j in range(K))
        for i, K in enumerate(sizes)
    )


def unit_point(n_choices: int, i: int, j: int) -> Point:
    return tuple(j if k == i else 0 for k in range(n_choices))


def search(
    space: SearchSpace, strategy: SearchStrategy, score: Score, n_asked: int
) -> list[Proposal]:
    """Ask and tell in turn; return what was proposed."""
    proposals: list[Proposal] = []
    while len(proposals) < n_asked and (proposal := strategy.ask()) is not None:
        proposals.append(proposal)
        strategy.tell(proposal.number, judge(space, proposal, score))
    return proposals


def architectures_of(proposals: Sequence[Proposal]) -> list[Architecture]:
    """Return what was trained from scratch."""
    return [p.point for p in proposals if p.architecture is not None]


def scores_of(proposals: Sequence[Proposal], score: Score) -> list[float]:
    """Return the scores of what was trained from scratch."""
    return list(map(score, architectures_of(proposals)))
