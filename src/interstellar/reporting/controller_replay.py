"""The controller of a hybrid search, moved again by what the journal says.

The journal holds what the micro part has learnt, not the macro part. But a strategy is a function
of its seed and of what it was told, so it is asked and told here as it was in the search.
"""

from dataclasses import replace
from typing import TypeAlias, final

from interstellar.runs.experiment import Experiment
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.hybrid import HybridSearch
from interstellar.searching.search_journal import Moment
from interstellar.searching.trial import Proposal, TrialResult

Theta: TypeAlias = tuple[tuple[float, ...], ...]
"""Of each choice, the probabilities of its options."""


@final
class ControllerReplay:
    """A hybrid search that is asked and told again."""

    def __init__(self, experiment: Experiment) -> None:
        plan = experiment.plan
        assert plan is not None
        self._strategy = HybridSearch(
            plan.space,
            experiment.seed,
            n_macro_updates=plan.macro_updates or 1,
            n_micro_epochs=plan.micro_epochs or 0,
        )
        self._n_known = len(plan.known)
        self._asked: set[int] = set()
        self._told: set[int] = set()
        self.is_true = True
        """Whether all that the journal proposes is what the strategy does, so far."""

    @classmethod
    def of(cls, experiment: Experiment) -> "ControllerReplay | None":
        """Return the replay of a hybrid search; None for any other."""
        plan = experiment.plan
        is_hybrid = plan is not None and plan.strategy is StrategyName.HYBRID
        return cls(experiment) if is_hybrid else None

    @property
    def theta(self) -> Theta:
        return self._strategy.probabilities

    def take(self, moment: Moment, proposal: Proposal, result: TrialResult | None) -> None:
        """Ask or tell the strategy as it was asked or told then."""
        number = proposal.number - self._n_known
        if number < 0 or not self.is_true:
            return
        if moment is Moment.BEGUN and number not in self._asked:
            self._asked.add(number)
            asked = self._strategy.ask()
            self.is_true = is_alike(asked, replace(proposal, number=number))
        elif moment is Moment.ENDED and number not in self._told and result is not None:
            self._told.add(number)  # later ends are of promotions, which it was not told
            self._strategy.tell(number, result)


def is_alike(asked: Proposal, noted: Proposal) -> bool:
    """Return whether two proposals have one number and are both trials or the same supernet.

    On single triplets a search tries the first of the architectures that are alike there, so the
    architecture may be another.
    """
    return (asked.number, asked.supernet) == (noted.number, noted.supernet)
