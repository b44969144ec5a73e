"""Random search: draw architectures uniformly, no network twice."""

from typing import final

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.search_space import SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.trial import Proposal, TrialResult

MAX_TRIES = 1000
"""Redraws for one proposal; then the networks that are left are few, and are listed."""


@final
class RandomSearch:
    """Draws points uniformly, again where the network was proposed before; ignores the scores.

    When no new network turns up in `MAX_TRIES` draws, those that are left are proposed one by one,
    and then nothing more.
    """

    def __init__(self, space: SearchSpace, seed: int, *, macro: Macro | None = None) -> None:
        """Draw from a space; with `macro` only the micro level is drawn."""
        self._space = space
        self._macro = macro
        self._rng = spawn(seed, "random search" if macro is None else "random micro search")
        self._proposed: set[Architecture] = set()
        self._left: list[Architecture] | None = None

    def ask(self) -> Proposal | None:
        architecture = self._draw()
        if architecture is None:
            return None
        number = len(self._proposed)
        self._proposed.add(canonical_form(architecture))
        return Proposal(number=number, architecture=architecture)

    def tell(self, number: int, result: TrialResult) -> None:
        pass

    def answer(self) -> Architecture | None:
        return None

    def _draw(self) -> Architecture | None:
        for _ in range(MAX_TRIES if self._left is None else 0):
            architecture = self._space.sample(self._rng)
            if self._macro is not None:
                architecture = Architecture(self._macro, architecture.micro)
            if canonical_form(architecture) not in self._proposed:
                return architecture
        if self._left is None:
            self._left = self._list_left()
        return self._left.pop() if self._left else None

    def _list_left(self) -> list[Architecture]:
        """Return one point of each network that was not proposed, in random order."""
        macros = self._space.macros() if self._macro is None else [self._macro]
        points = (Architecture(macro, micro) for macro in macros for micro in self._space.micros())
        point_by_network = {canonical_form(point): point for point in points}
        left = [p for network, p in point_by_network.items() if network not in self._proposed]
        return [left[i] for i in self._rng.permutation(len(left))]
