"""What a search strategy is: it proposes, and learns from what its proposals earned.

A strategy is a function of its seed and of what it was told, in that order: a search that was
killed asks and tells it again from the journal, and it is where it was.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, final, runtime_checkable

from interstellar.architecture.architecture import Architecture
from interstellar.searching.trial import Proposal, TrialResult


class SearchStrategy(Protocol):
    """Proposes architectures and learns from the scores they earn."""

    def ask(self) -> Proposal | None:
        """Return what to try next; None: nothing before one of those asked for was told.

        Can be asked again before the last was told, so that several are tried at once. Asked
        and told in turn, it returns None only once it has nothing more to try.
        """

    def tell(self, number: int, result: TrialResult) -> None:
        """Learn what came of the proposal of that number; each is told once, in any order."""

    def answer(self) -> Architecture | None:
        """Return what it believes to be the best, tried or not; None where it has no belief."""


@runtime_checkable
class LearnsFromOthers(Protocol):
    """A strategy that can make use of what it did not propose itself."""

    def learn(self, architecture: Architecture, score: float | None) -> None:
        """Learn what an architecture of its space earned; None: it failed."""


@final
class KnownFirst:
    """Proposes some architectures in their order, then what a strategy proposes.

    So no search ends under what everybody has. The strategy counts its own proposals from 0, as
    if it were alone; here they follow the known ones. It is told the scores of those too where it
    can make use of them.
    """

    def __init__(self, known: Sequence[Architecture], strategy: SearchStrategy) -> None:
        self._known = tuple(known)
        self._strategy = strategy
        self._n_asked = 0

    def ask(self) -> Proposal | None:
        if self._n_asked < len(self._known):
            architecture = self._known[self._n_asked]
            self._n_asked += 1
            return Proposal(number=self._n_asked - 1, architecture=architecture)
        proposal = self._strategy.ask()
        if proposal is None:
            return None
        return replace(proposal, number=proposal.number + len(self._known))

    def tell(self, number: int, result: TrialResult) -> None:
        if number >= len(self._known):
            self._strategy.tell(number - len(self._known), result)
        elif isinstance(self._strategy, LearnsFromOthers):
            self._strategy.learn(self._known[number], result.score)

    def answer(self) -> Architecture | None:
        return self._strategy.answer()
