"""Random search: draw architectures uniformly, no network twice."""

from typing import final

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.search_space import SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.strategy import FromScratch, Outcome

MAX_TRIES = 1000
"""Redraws for one proposal; only where nearly all networks of a subspace are used are they many."""


@final
class RandomSearch:
    """Draws points uniformly, again where the network was proposed before; ignores the scores.

    When no new network turns up in `MAX_TRIES` draws, an old one is proposed again.
    """

    def __init__(self, space: SearchSpace, seed: int, *, macro: Macro | None = None) -> None:
        """Draw from a space; with `macro` only the micro level is drawn."""
        self._space = space
        self._macro = macro
        self._rng = spawn(seed, "random search" if macro is None else "random micro search")
        self._proposed: set[Architecture] = set()
        self._n_asked = 0

    def ask(self) -> FromScratch:
        proposal = FromScratch(number=self._n_asked, architecture=self._draw())
        self._n_asked += 1
        self._proposed.add(canonical_form(proposal.architecture))
        return proposal

    def tell(self, number: int, outcome: Outcome) -> None:
        pass

    def answer(self) -> Architecture | None:
        return None

    def _draw(self) -> Architecture:
        for _ in range(MAX_TRIES):
            architecture = self._space.sample(self._rng)
            if self._macro is not None:
                architecture = Architecture(self._macro, architecture.micro)
            if canonical_form(architecture) not in self._proposed:
                break
        return architecture
