"""The network that is tried: an architecture along walks, or one that is propagated, or a rival.

What is tried is an architecture with changes of the search's settings. Those of a propagation say
all its choices, also where they are the search's own: so each trial says which network it is.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.literature import name_of
from interstellar.architecture.notation import to_code, to_formula
from interstellar.architecture.propagation import (
    CHOICES,
    CLAUSES,
    Propagation,
    canonical_propagation,
    to_text,
)
from interstellar.rivals.catalogue import Rival
from interstellar.rivals.notation import AnyModel
from interstellar.training.settings import TrainingSettings
from interstellar.words import choose

Value: TypeAlias = float | int | str
Changes: TypeAlias = Mapping[str, Value]
"""Fields of `TrainingSettings` with their values, words as they are written."""
SearchedNetwork: TypeAlias = Architecture | Propagation
TriedNetwork: TypeAlias = SearchedNetwork | Rival
"""A search tries what it may find, a tuning also a rival."""
TrialKey: TypeAlias = tuple[TriedNetwork, frozenset[tuple[str, Value]], int | None]
"""The network, the changes that are no choices of it, and the seed."""


def own_choices(settings: TrainingSettings) -> dict[str, Value]:
    """Return how a search propagates what is tried, all said; nothing where it walks."""
    own = settings.propagation
    if own is None:
        return {}
    return {name: str(getattr(own, name)) for name in CHOICES} | {"depth": own.depth}


def network_of(tried: AnyModel, changes: Changes) -> TriedNetwork:
    """Return the canonical form of what is tried."""
    return tried if isinstance(tried, Rival) else searched_network(tried, changes)


def searched_network(architecture: Architecture, changes: Changes) -> SearchedNetwork:
    """Return the canonical form of a point of the space with the choices of a propagation.

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


def identify(architecture: AnyModel, changes: Changes, seed: int | None) -> TrialKey:
    """Return what tells a trial from others."""
    others = ((name, value) for name, value in changes.items() if name not in CLAUSES)
    return network_of(architecture, changes), frozenset(others), seed


def cell_of(network: SearchedNetwork) -> Architecture:
    """Return the architecture that is unrolled or propagated."""
    return network if isinstance(network, Architecture) else network.cell


def code_of(network: TriedNetwork) -> list[int] | None:
    """Return the architecture that is unrolled or propagated as 11 numbers; a rival has none."""
    return None if isinstance(network, Rival) else list(to_code(cell_of(network)))


def published_name(network: TriedNetwork) -> str | None:
    """Return the name under which a network was published, or None."""
    return network.value if isinstance(network, Rival) else name_of(network)


def formula_of(network: TriedNetwork) -> str:
    """Return a network in one line; a rival by its name."""
    if isinstance(network, Rival):
        return network.value
    return to_formula(network) if isinstance(network, Architecture) else to_text(network)
