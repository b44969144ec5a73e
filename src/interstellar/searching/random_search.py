"""Random search: draw architectures uniformly, no network twice."""

from typing import final

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.search_space import SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.strategy import FromScratch, Outcome

MAX_TRIES = 1000
"""Redraws for one proposal; only where nearly all networks of a space are used are they many."""


@final
class RandomSearch:
    """Draws points uniformly, again where the network was proposed before; ignores the scores.

    When no new network turns up in `MAX_TRIES` draws, there is nothing more to try.
    """

    def __init__(self, space: SearchSpace, seed: int, *, macro: Macro | None = None) -> None:
        """Draw from a space; with `macro` only the micro level is drawn."""
        self._space = space
        self._macro = macro
        self._rng = spawn(seed, "random search" if macro is None else "random micro search")
        self._proposed: set[Architecture] = set()

    def ask(self) -> FromScratch | None:
        architecture = self._draw()
        if architecture is None:
            return None
        number = len(self._proposed)
        self._proposed.add(canonical_form(architecture))
        return FromScratch(number=number, architecture=architecture)

    def tell(self, number: int, outcome: Outcome) -> None:
        pass

    def answer(self) -> Architecture | None:
        return None

    def _draw(self) -> Architecture | None:
        for _ in range(MAX_TRIES):
            architecture = self._space.sample(self._rng)
            if self._macro is not None:
                architecture = Architecture(self._macro, architecture.micro)
            if canonical_form(architecture) not in self._proposed:
                return architecture
        return None
