"""One-shot search: all choices at once with shared weights, then the winner from scratch."""

from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.coordinates import N_CHOICES
from interstellar.architecture.search_space import SearchSpace
from interstellar.searching.natural_gradient import ControllerState, mode, uniform
from interstellar.searching.strategy import FromScratch, Outcome, Proposal, WithSharedWeights


@final
class OneShotSearch:
    """The paper's rival ASNG: one supernet holds every architecture, one controller draws them.

    It has two proposals: the shared round, and the controller's mode to be trained from scratch.
    None with nothing in flight: it has finished. Without a seed, since all draws are the judge's.
    """

    def __init__(self, space: SearchSpace, n_epochs: int) -> None:
        self._space = space
        self._n_epochs = n_epochs
        self._learnt: ControllerState | None = None
        self._n_asked = 0

    def ask(self) -> Proposal | None:
        proposal = self._propose()
        if proposal is not None:
            self._n_asked += 1
        return proposal

    def tell(self, number: int, outcome: Outcome) -> None:
        if number == 0:
            assert outcome is None or isinstance(outcome, ControllerState)
            self._learnt = outcome

    def answer(self) -> Architecture | None:
        return None if self._learnt is None else self._space.at(mode(self._learnt))

    def _propose(self) -> Proposal | None:
        if self._n_asked == 0:
            sizes = [len(choice.options) for choice in self._space.choices()]
            controller = uniform(sizes, N_CHOICES)
            return WithSharedWeights(
                number=0, macro=None, controller=controller, n_epochs=self._n_epochs
            )
        answer = self.answer()
        if self._n_asked == 1 and answer is not None:
            return FromScratch(number=1, architecture=answer)
        return None
