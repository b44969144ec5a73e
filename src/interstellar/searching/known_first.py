"""Known architectures before a strategy's own: so no search ends under what everybody has."""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.searching.strategy import (
    FromScratch,
    LearnsFromOthers,
    Outcome,
    Proposal,
    SearchStrategy,
)


@final
class KnownFirst:
    """Proposes some architectures in their order, then what a strategy proposes.

    The strategy counts its own proposals from 0, as if it were alone; here they follow the known
    ones. It is told the scores of those too where it can make use of them.
    """

    def __init__(self, known: Sequence[Architecture], strategy: SearchStrategy) -> None:
        self._known = tuple(known)
        self._strategy = strategy
        self._n_asked = 0

    def ask(self) -> Proposal | None:
        if self._n_asked < len(self._known):
            architecture = self._known[self._n_asked]
            self._n_asked += 1
            return FromScratch(number=self._n_asked - 1, architecture=architecture)
        proposal = self._strategy.ask()
        if proposal is None:
            return None
        return replace(proposal, number=proposal.number + len(self._known))

    def tell(self, number: int, outcome: Outcome) -> None:
        if number >= len(self._known):
            self._strategy.tell(number - len(self._known), outcome)
        elif isinstance(self._strategy, LearnsFromOthers):
            assert outcome is None or isinstance(outcome, float | int)
            self._strategy.learn(self._known[number], outcome)

    def answer(self) -> Architecture | None:
        return self._strategy.answer()
