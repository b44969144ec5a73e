"""Strategies that train one supernet, and then what it holds to be the best from scratch."""

from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import N_CHOICES, SearchSpace
from interstellar.errors import DataError
from interstellar.searching.natural_gradient import ControllerState, mode, uniform
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.trial import Proposal, TrialResult, Weights


@final
class DartsSearch:
    """DARTS (Liu et al. 2019): all options mixed, then those that weigh most, from scratch.

    Without a seed, since it draws nothing.
    """

    def __init__(self, space: SearchSpace, n_epochs: int) -> None:
        self._space = space
        self._turns = _TwoTurns(SupernetRound(n_epochs=n_epochs))
        self._weights: Weights | None = None

    def ask(self) -> Proposal | None:
        return self._turns.ask(self.answer())

    def tell(self, number: int, result: TrialResult) -> None:
        if number > 0:
            return
        sizes = [len(choice.options) for choice in self._space.choices()]
        if result.weights is not None and list(map(len, result.weights)) != sizes:
            raise DataError(  # only a journal can hold them
                f"the weights of a supernet are those of another space than {self._space}. The "
                "journal was altered. Take it from a copy, or begin a new search."
            )
        self._weights = result.weights

    def answer(self) -> Architecture | None:
        if self._weights is None:
            return None
        return self._space.at(tuple(options.index(max(options)) for options in self._weights))


@final
class OneShotSearch:
    """The paper's rival ASNG: one supernet holds every architecture, one controller draws them.

    Without a seed, since all draws are the judge's.
    """

    def __init__(self, space: SearchSpace, n_epochs: int) -> None:
        controller = uniform((len(choice.options) for choice in space.choices()), N_CHOICES)
        self._space = space
        self._turns = _TwoTurns(SupernetRound(n_epochs=n_epochs, controller=controller))
        self._learnt: ControllerState | None = None

    def ask(self) -> Proposal | None:
        return self._turns.ask(self.answer())

    def tell(self, number: int, result: TrialResult) -> None:
        if number == 0:
            self._learnt = result.controller

    def answer(self) -> Architecture | None:
        return None if self._learnt is None else self._space.at(mode(self._learnt))


@final
class _TwoTurns:
    """Proposes a supernet, then what was learnt from it, then nothing more."""

    def __init__(self, supernet: SupernetRound) -> None:
        self._supernet = supernet
        self._n_asked = 0

    def ask(self, answer: Architecture | None) -> Proposal | None:
        proposal = None
        if self._n_asked == 0:
            proposal = Proposal(number=0, supernet=self._supernet)
        elif self._n_asked == 1 and answer is not None:
            proposal = Proposal(number=1, architecture=answer)
        self._n_asked += proposal is not None
        return proposal
