"""What a search strategy is: it proposes, and learns from what its proposals earned.

A strategy is a function of its seed and of what it was told, in that order: a search that was
killed asks and tells it again from the journal, and it is where it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.searching.natural_gradient import ControllerState


@dataclass(frozen=True, slots=True, kw_only=True)
class FromScratch:
    """Train this architecture from scratch; tell its score, higher is better, None if it failed."""

    number: int
    """Proposals of a strategy are counted from 0 in the order in which it was asked."""
    architecture: Architecture


@dataclass(frozen=True, slots=True, kw_only=True)
class WithSharedWeights:
    """Train a supernet, sampling from a controller and updating it; tell the controller's state.

    What is fixed is not sampled. One architecture is drawn for each training step; after every
    two steps the two are compared on one mini-batch, and the controller moves (Algorithm 3).
    """

    number: int
    macro: Macro | None
    """The macro level of all that is sampled (hybrid search); None: that is sampled too."""
    controller: ControllerState
    """Over the micro choices, or over all thirteen where `macro` is None."""
    n_epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """Train a supernet that mixes all options by softmax weights (DARTS); tell those weights."""

    number: int
    n_epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WithSettings:
    """Train the architecture of a tuning with other settings; tell its score as in FromScratch."""

    number: int
    changes: Mapping[str, float | int]
    """Fields of `TrainingSettings` with their new values."""


Proposal: TypeAlias = FromScratch | WithSharedWeights | Relaxed | WithSettings

Weights: TypeAlias = tuple[tuple[float, ...], ...]
"""Of each choice, the weights of its options."""

Outcome: TypeAlias = float | ControllerState | Weights | None


class SearchStrategy(Protocol):
    """Proposes architectures and learns from the scores they earn."""

    def ask(self) -> Proposal | None:
        """Return what to try next; None: nothing before one of those asked for was told.

        Can be asked again before the last was told, so that several are tried at once. Asked
        and told in turn, it returns None only once it has nothing more to try.
        """
        ...

    def tell(self, number: int, outcome: Outcome) -> None:
        """Learn what the proposal of that number earned; each is told once, in any order."""
        ...

    def answer(self) -> Architecture | None:
        """Return what it believes to be the best, tried or not; None where it has no belief."""
        ...


@runtime_checkable
class LearnsFromOthers(Protocol):
    """A strategy that can make use of what it did not propose itself."""

    def learn(self, architecture: Architecture, score: float | None) -> None:
        """Learn what an architecture of its space earned; None: it failed."""
        ...
