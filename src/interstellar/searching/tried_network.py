"""The network that is tried: an architecture along walks, or one that is propagated.

What is tried is an architecture with changes of the search's settings. Those of a propagation say
all its choices, also where they are the search's own: so each trial says which network it is.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.notation import to_formula
from interstellar.architecture.propagation import (
    CHOICES,
    CLAUSES,
    Propagation,
    canonical_propagation,
    to_text,
)
from interstellar.training.settings import TrainingSettings
from interstellar.words import choose

Value: TypeAlias = float | int | str
Changes: TypeAlias = Mapping[str, Value]
"""Fields of `TrainingSettings` with their values, words as they are written."""
TriedNetwork: TypeAlias = Architecture | Propagation
TrialKey: TypeAlias = tuple[TriedNetwork, frozenset[tuple[str, Value]], int | None]
"""The network, the changes that are no choices of it, and the seed."""


def own_choices(settings: TrainingSettings) -> dict[str, Value]:
    """Return how a search propagates what is tried, all said; nothing where it walks."""
    own = settings.propagation
    if own is None:
        return {}
    return {name: str(getattr(own, name)) for name in CHOICES} | {"depth": own.depth}


def network_of(architecture: Architecture, changes: Changes) -> TriedNetwork:
    """Return the canonical form of what is tried.

    Raises:
        KeyError: Some but not all choices of a propagation are said.
    """
    said: dict[str, Any] = {name: v for name, v in changes.items() if name in CLAUSES}
    if not said:
        return canonical_form(architecture)
    chosen: dict[str, Any] = {
        name: choose(name, said[name], kind) for name, kind in CHOICES.items()
    }
    return canonical_propagation(Propagation(cell=architecture, depth=said["depth"], **chosen))


def identify(architecture: Architecture, changes: Changes, seed: int | None) -> TrialKey:
    """Return what tells a trial from others."""
    others = ((name, value) for name, value in changes.items() if name not in CLAUSES)
    return network_of(architecture, changes), frozenset(others), seed


def cell_of(network: TriedNetwork) -> Architecture:
    """Return the architecture that is unrolled or propagated."""
    return network if isinstance(network, Architecture) else network.cell


def formula_of(network: TriedNetwork) -> str:
    """Return a network in one line."""
    return to_formula(network) if isinstance(network, Architecture) else to_text(network)
