"""DARTS (Liu et al. 2019): mix all options, learn the mixture, then the winner from scratch."""

from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import SearchSpace
from interstellar.errors import DataError
from interstellar.searching.strategy import FromScratch, Outcome, Proposal, Relaxed, Weights


@final
class DartsSearch:
    """Has two proposals: the relaxed supernet, and the options that weigh most, from scratch.

    None with nothing in flight: it has finished. Without a seed, since it draws nothing.
    """

    def __init__(self, space: SearchSpace, n_epochs: int) -> None:
        self._space = space
        self._n_epochs = n_epochs
        self._weights: Weights | None = None
        self._n_asked = 0

    def ask(self) -> Proposal | None:
        proposal = self._propose()
        if proposal is not None:
            self._n_asked += 1
        return proposal

    def tell(self, number: int, outcome: Outcome) -> None:
        if number == 0:
            assert outcome is None or isinstance(outcome, tuple)
            self._refuse_others(outcome)
            self._weights = outcome

    def answer(self) -> Architecture | None:
        if self._weights is None:
            return None
        return self._space.at(tuple(options.index(max(options)) for options in self._weights))

    def _refuse_others(self, weights: Weights | None) -> None:
        """Raise for weights that are not of this space; only a journal can hold them."""
        sizes = [len(choice.options) for choice in self._space.choices()]
        if weights is not None and [len(options) for options in weights] != sizes:
            raise DataError(
                f"the weights of a supernet are those of another space than {self._space}. The "
                "journal was altered. Take it from a copy, or begin a new search."
            )

    def _propose(self) -> Proposal | None:
        if self._n_asked == 0:
            return Relaxed(number=0, n_epochs=self._n_epochs)
        answer = self.answer()
        if self._n_asked == 1 and answer is not None:
            return FromScratch(number=1, architecture=answer)
        return None
