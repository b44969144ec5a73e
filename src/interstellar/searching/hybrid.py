"""Hybrid search: macro level by training from scratch, micro level with shared weights.

Algorithm 1 of the paper, endlessly: draw a micro level α₂; k₁ times draw two macro levels, train
both with α₂ from scratch and move the macro part of the controller; draw a macro level α₁ and
move the micro part with shared weights for k₂ epochs.

The controller lives through the whole search and has two parts, each with its own step size; the
authors' program starts the micro part anew each round. The paper samples one α₁ an update
(Algorithm 2) but two points an update in its appendix; two it is.
"""

from dataclasses import dataclass, field
from typing import final

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.search_space import N_CHOICES, N_MACRO, Point, SearchSpace
from interstellar.errors import SettingsError
from interstellar.randomness import spawn
from interstellar.searching.natural_gradient import mode, sample, uniform, update
from interstellar.searching.supernet_round import SupernetRound
from interstellar.searching.trial import Proposal, TrialResult


@dataclass(slots=True)
class _Pair:
    """Two macro points that are compared under one micro point."""

    macros: tuple[Point, Point]
    micro: Point
    score_by_member: dict[int, float | None] = field(default_factory=dict)


@final
class HybridSearch:
    """The paper's search. What it proposes follows a fixed timetable and never waits.

    Asked and told in turn it is Algorithm 1. With several in flight a point is drawn from the
    controller as it is when asked, and moves the controller as it is when told; of two shared
    rounds in flight the one told last decides what the micro part is.
    """

    def __init__(
        self, space: SearchSpace, seed: int, *, n_macro_updates: int = 1, n_micro_epochs: int = 1
    ) -> None:
        """Start with nothing learnt; `n_macro_updates` is k₁, `n_micro_epochs` is k₂ (0: never).

        In a space without a micro level there are no shared rounds.
        """
        if n_macro_updates < 1 or n_micro_epochs < 0:
            raise SettingsError(
                f"n_macro_updates={n_macro_updates} and n_micro_epochs={n_micro_epochs}, but a "
                "round has at least 1 macro update and 0 or more micro epochs. Raise them."
            )
        sizes = [len(choice.options) for choice in space.choices()]
        self._space = space
        self._seed = seed
        self._n_macro_trials = 2 * n_macro_updates
        self._n_micro_epochs = 0 if space.is_macro_only else n_micro_epochs
        self._macro = uniform(sizes[:N_MACRO], N_CHOICES)
        self._micro = uniform(sizes[N_MACRO:], N_CHOICES)
        self._micro_point: Point = ()
        self._pair_by_number: dict[int, _Pair] = {}
        self._n_asked = 0

    @property
    def probabilities(self) -> tuple[tuple[float, ...], ...]:
        """θ of the controller: of each choice of the space, the probabilities of its options."""
        return self._macro.theta + self._micro.theta

    def ask(self) -> Proposal:
        number = self._n_asked
        self._n_asked += 1
        round_number, place = self._locate(number)
        if place == self._n_macro_trials:
            return self._propose_shared(number, round_number)
        if place == 0:
            self._micro_point = sample(self._micro, spawn(self._seed, f"micro {round_number}"))
        pair_number, member = divmod(round_number * self._n_macro_trials + place, 2)
        if member == 0:
            self._draw_pair(number, pair_number)
        pair = self._pair_by_number[number]
        architecture = self._space.at(pair.macros[member] + pair.micro)
        return Proposal(number=number, architecture=architecture)

    def tell(self, number: int, result: TrialResult) -> None:
        _, place = self._locate(number)
        if place == self._n_macro_trials:
            self._micro = result.controller or self._micro
            return
        pair = self._pair_by_number.pop(number)
        pair.score_by_member[place % 2] = result.score
        if len(pair.score_by_member) == 2:
            scores = [pair.score_by_member[member] for member in (0, 1)]
            self._macro = update(self._macro, pair.macros, scores)

    def answer(self) -> Architecture:
        return self._space.at(mode(self._macro) + mode(self._micro))

    def _locate(self, number: int) -> tuple[int, int]:
        """Return in which round a proposal is, and at which place of it; shared is the last."""
        has_shared = self._n_micro_epochs > 0
        return divmod(number, self._n_macro_trials + has_shared)

    def _draw_pair(self, number: int, pair_number: int) -> None:
        rng = spawn(self._seed, f"macro pair {pair_number}")
        macros = (sample(self._macro, rng), sample(self._macro, rng))
        pair = _Pair(macros, self._micro_point)
        self._pair_by_number |= {number: pair, number + 1: pair}

    def _propose_shared(self, number: int, round_number: int) -> Proposal:
        point = sample(self._macro, spawn(self._seed, f"shared macro {round_number}"))
        macro, n_epochs = self._space.at(point + self._micro_point).macro, self._n_micro_epochs
        supernet = SupernetRound(n_epochs=n_epochs, controller=self._micro, macro=macro)
        return Proposal(number=number, supernet=supernet)
