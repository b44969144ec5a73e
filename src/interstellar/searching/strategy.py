"""What a search strategy is: it proposes, and learns from what its proposals earned.

A strategy is a function of its seed and of what it was told, in that order: a search that was
killed asks and tells it again from the journal, and it is where it was.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, final, runtime_checkable

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import one_step_form
from interstellar.searching.settings_space import PATH_LENGTH
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.searching.tried_network import Changes


class SearchStrategy(Protocol):
    """Proposes architectures, perhaps with settings, and learns from the scores they earn."""

    def ask(self) -> Proposal | None:
        """Return what to try next; None: nothing before one of those asked for was told.

        Can be asked again before the last was told, so that several are tried at once. Asked
        and told in turn, it returns None only once it has nothing more to try.
        """

    def tell(self, number: int, result: TrialResult) -> None:
        """Learn what came of the proposal of that number, in any order, at each of its rungs."""

    def answer(self) -> Architecture | None:
        """Return what it believes to be the best, tried or not; None where it has no belief."""


@runtime_checkable
class LearnsFromOthers(Protocol):
    """A strategy that can make use of what it did not propose itself."""

    def learn(self, proposal: Proposal, result: TrialResult) -> None:
        """Learn what a proposal in its space earned."""


@final
class FirstRung:
    """Tells a strategy only the first result of each proposal.

    For those that compare scores with each other: all are then of trials equally long.
    """

    def __init__(self, strategy: SearchStrategy) -> None:
        self._strategy = strategy
        self._told: set[int] = set()

    def ask(self) -> Proposal | None:
        return self._strategy.ask()

    def tell(self, number: int, result: TrialResult) -> None:
        if number not in self._told:
            self._told.add(number)
            self._strategy.tell(number, result)

    def learn(self, proposal: Proposal, result: TrialResult) -> None:
        if -1 - proposal.number not in self._told and isinstance(self._strategy, LearnsFromOthers):
            self._told.add(-1 - proposal.number)
            self._strategy.learn(proposal, result)

    def answer(self) -> Architecture | None:
        return self._strategy.answer()


@final
class OneOfEach:
    """Proposes, of architectures that are alike on single triplets, always the first there."""

    def __init__(self, known: Sequence[Architecture], strategy: SearchStrategy) -> None:
        self._first = {one_step_form(architecture): architecture for architecture in known}
        self._strategy = strategy

    def ask(self) -> Proposal | None:
        proposal = self._strategy.ask()
        if proposal is None or proposal.architecture is None or PATH_LENGTH in proposal.changes:
            return proposal
        form = one_step_form(proposal.point)
        return replace(proposal, architecture=self._first.setdefault(form, proposal.point))

    def tell(self, number: int, result: TrialResult) -> None:
        self._strategy.tell(number, result)

    def learn(self, proposal: Proposal, result: TrialResult) -> None:
        if isinstance(self._strategy, LearnsFromOthers):
            self._strategy.learn(proposal, result)

    def answer(self) -> Architecture | None:
        return self._strategy.answer()


@final
class KnownFirst:
    """Proposes some architectures in their order, then what a strategy proposes.

    So no search ends under what everybody has. The strategy counts its own proposals from 0, as
    if it were alone; here they follow the known ones. It is told the scores of those too where it
    can make use of them.
    """

    def __init__(
        self,
        known: Sequence[Architecture],
        strategy: SearchStrategy,
        changes: Sequence[Changes] | None = None,
    ) -> None:
        """Know architectures, with the settings of each that are not the search's."""
        of_each = zip(known, changes or [{} for _ in known], strict=True)
        self._known = [
            Proposal(number=number, architecture=architecture, changes=changed)
            for number, (architecture, changed) in enumerate(of_each)
        ]
        self._strategy = strategy
        self._n_asked = 0

    def ask(self) -> Proposal | None:
        if self._n_asked < len(self._known):
            self._n_asked += 1
            return self._known[self._n_asked - 1]
        proposal = self._strategy.ask()
        if proposal is None:
            return None
        return replace(proposal, number=proposal.number + len(self._known))

    def tell(self, number: int, result: TrialResult) -> None:
        if number >= len(self._known):
            self._strategy.tell(number - len(self._known), result)
        elif isinstance(self._strategy, LearnsFromOthers):
            self._strategy.learn(self._known[number], result)

    def answer(self) -> Architecture | None:
        return self._strategy.answer()
