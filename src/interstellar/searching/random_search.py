"""Random search: draw architectures uniformly, no network twice."""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from interstellar.architecture.architecture import Architecture, Macro
from interstellar.architecture.search_space import SearchSpace
from interstellar.randomness import spawn
from interstellar.searching.settings_space import SettingChoice, changes_at
from interstellar.searching.trial import Proposal, TrialResult
from interstellar.searching.tried_network import TrialKey

MAX_TRIES = 1000
"""Redraws for one proposal; then the networks that are left are few, and are listed."""


@final
class RandomSearch:
    """Draws points uniformly, again where the network was proposed before; ignores the scores.

    When no new network turns up in `MAX_TRIES` draws, those that are left are proposed one by one,
    each with settings drawn once more, and then nothing more.
    """

    def __init__(
        self,
        space: SearchSpace,
        seed: int,
        *,
        macro: Macro | None = None,
        settings: Sequence[SettingChoice] = (),
    ) -> None:
        """Draw from a space, and from settings; with `macro` only the micro level is drawn."""
        self._space = space
        self._macro = macro
        self._settings = settings
        self._rng = spawn(seed, "random search" if macro is None else "random micro search")
        self._proposed: set[TrialKey] = set()
        self._left: list[Proposal] | None = None

    def ask(self) -> Proposal | None:
        proposal = self._draw()
        if proposal is None:
            return None
        proposal = replace(proposal, number=len(self._proposed))
        self._proposed.add(proposal.key)
        return proposal

    def tell(self, number: int, result: TrialResult) -> None:
        pass

    def answer(self) -> Architecture | None:
        return None

    def _draw(self) -> Proposal | None:
        for _ in range(MAX_TRIES if self._left is None else 0):
            architecture = self._space.sample(self._rng)
            if self._macro is not None:
                architecture = Architecture(self._macro, architecture.micro)
            proposal = self._propose(architecture)
            if proposal.key not in self._proposed:
                return proposal
        if self._left is None:
            self._left = self._list_left()
        return self._left.pop() if self._left else None

    def _propose(self, architecture: Architecture) -> Proposal:
        sizes = [len(choice.options) for choice in self._settings]
        point = tuple(int(self._rng.integers(n)) if n > 1 else 0 for n in sizes)
        changes = changes_at(self._settings, point)
        return Proposal(number=0, architecture=architecture, changes=changes)

    def _list_left(self) -> list[Proposal]:
        """Return one point of each network that was not proposed, in random order."""
        macros = self._space.macros() if self._macro is None else [self._macro]
        points = (Architecture(macro, micro) for macro in macros for micro in self._space.micros())
        proposals = map(self._propose, points)
        by_key = {proposal.key: proposal for proposal in proposals}
        left = [proposal for key, proposal in by_key.items() if key not in self._proposed]
        return [left[i] for i in self._rng.permutation(len(left))]
