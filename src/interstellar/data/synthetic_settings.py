"""What a synthetic graph shall look like: its settings, and the rules planted in it."""

import os
from dataclasses import dataclass
from math import ceil
from typing import Any

from interstellar.errors import SettingsError

NEIGHBOURHOOD = 50
"""Entities in a neighbourhood; up to twice as many where the number does not divide evenly."""

RELATIONS_IN_A_FAMILY = 9
"""A 1-, a 2- and a 3-hop rule have 2, 3 and 4 relations."""

_ROUNDING = 2
"""Places by which a run of neighbourhoods may be larger than its share of the entities."""

_BOUNDS: dict[str, tuple[type[int] | type[float], str, float, float]] = {
    "entities": (int, "a whole number", 10, 100_000_000),
    "triplets": (int, "a whole number", 1, 2**31 - 1),
    "seed": (int, "a whole number", 0, 2**63 - 1),
    "noise": (float, "a number", 0.0, 0.5),
    "across": (float, "a number", 0.0, 1.0),
    "held_out": (float, "a number", 0.01, 0.4),
    "overlap": (float, "a number", 0.1, 1.0),
}
"""Of each setting its type, in Python and in words, and the least and the largest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedRule:
    """premise₁(x, ·) ∧ … ∧ premiseₖ(·, z) ⇒ conclusion(x, z), in relation ids."""

    premises: tuple[int, ...]
    conclusion: int

    @property
    def hops(self) -> int:
        """How many premises have to be followed."""
        return len(self.premises)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticSettings:
    """Size, seed and noise of a synthetic graph."""

    entities: int = 1000
    triplets: int | None = None
    """Of all three splits together; None: each rule once for each entity, and the noise."""
    seed: int = 0
    noise: float = 0.1
    """Share of the triplets that no rule has to do with."""
    across: float = 0.1
    """Share of the links that may leave the neighbourhood of their subject."""
    held_out: float = 0.1
    """Share of the conclusions in validation, and as large a share again in test."""
    overlap: float = 0.8
    """Only for a pair: share of a view's triplets that come from the common graph."""

    def __post_init__(self) -> None:
        for key, (kind, word, least, most) in _BOUNDS.items():
            value = getattr(self, key)
            if key == "triplets" and value is None:
                continue
            is_number = isinstance(value, (int, kind)) and not isinstance(value, bool)
            if not is_number or not least <= value <= most:
                raise SettingsError(
                    f"{key}={value} cannot be used for a synthetic graph: {key} must be {word} "
                    f"from {least} to {most}. Change {key}."
                )
        if self.triplets is not None:
            self._check_triplets(self.triplets)

    @property
    def n_triplets(self) -> int:
        """Triplets of all three splits together."""
        if self.triplets is not None:
            return self.triplets
        return round(RELATIONS_IN_A_FAMILY * self.entities / (1 - self.noise))

    @property
    def n_neighbourhoods(self) -> int:
        """How many neighbourhoods the entities form."""
        return max(1, self.entities // NEIGHBOURHOOD)

    @property
    def n_full_families(self) -> int:
        """How many times the three rules are planted for every entity."""
        return self._n_rule_places // self.entities

    @property
    def n_partial_neighbourhoods(self) -> int:
        """In how many neighbourhoods the three rules are planted once more."""
        n_places = self._n_rule_places % self.entities - _ROUNDING
        return max(0, n_places * self.n_neighbourhoods // self.entities)

    @property
    def n_relations(self) -> int:
        """Relations of all rules together."""
        return len(planted_rules(self)) * RELATIONS_IN_A_FAMILY // 3

    @property
    def _n_rule_places(self) -> int:
        """For how many subjects a family can be planted, all families together."""
        n_by_rules = self.n_triplets * (1 - self.noise)
        # Half a triplet more: 9 n / (1 − noise), rounded, must give one whole family back.
        return int(n_by_rules + 0.5) // RELATIONS_IN_A_FAMILY

    def _check_triplets(self, triplets: int) -> None:
        third = ceil(self.n_neighbourhoods / 3)
        if self.n_full_families == 0 and self.n_partial_neighbourhoods < third:
            n_places = ceil(self.entities * third / self.n_neighbourhoods) + _ROUNDING
            n_by_rules = RELATIONS_IN_A_FAMILY * min(n_places, self.entities)
            raise SettingsError(
                f"triplets={triplets} is too few for entities={self.entities}: below "
                f"{ceil(n_by_rules / (1 - self.noise))} there are entities that no rule "
                "speaks of. Ask for more triplets or for fewer entities."
            )
        if triplets > self.entities**2:
            raise SettingsError(
                f"triplets={triplets} is too many for entities={self.entities}: at most "
                f"entities², {self.entities**2}, are made. Ask for fewer triplets or for more "
                "entities."
            )


def planted_rules(settings: SyntheticSettings) -> tuple[PlantedRule, ...]:
    """Return the rules of `synthetic_graph(settings)`: a 1-, a 2- and a 3-hop one in turn."""
    n_families = settings.n_full_families + (settings.n_partial_neighbourhoods > 0)
    rules = []
    for first in range(0, n_families * RELATIONS_IN_A_FAMILY, RELATIONS_IN_A_FAMILY):
        rules += [
            PlantedRule(premises=(first,), conclusion=first + 1),
            PlantedRule(premises=(first + 2, first + 3), conclusion=first + 4),
            PlantedRule(premises=(first + 5, first + 6, first + 7), conclusion=first + 8),
        ]
    return tuple(rules)


def parse_settings(text: str, *, entities: int = SyntheticSettings().entities) -> SyntheticSettings:
    """Read `entities=1000,seed=3`; what is not said is as by default, `entities` as given."""
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in _BOUNDS:
            raise SettingsError(
                f"{part!r} is no setting of a synthetic graph. Settings are written key=value, "
                f"with commas between; the keys are {', '.join(_BOUNDS)}."
            )
        if key in values:
            raise SettingsError(f"{key} is set twice in {text!r}. Keep one of the two.")
        kind, word, _, _ = _BOUNDS[key]
        try:
            values[key] = kind(value)
        except ValueError:
            raise SettingsError(
                f"{part} is not {word}. Write it in digits, as in entities=1000,noise=0.1."
            ) from None
    return SyntheticSettings(**{"entities": entities} | values)


def refuse_too_large(settings: SyntheticSettings, n_bytes: int | None = None) -> None:
    """Raise where the graph alone is larger than the memory of the machine, or `n_bytes`."""
    n_bytes = count_machine_bytes() if n_bytes is None else n_bytes
    n_needed = 5 * settings.n_relations * settings.entities + 12 * settings.n_triplets
    if n_needed > n_bytes:
        raise SettingsError(
            f"a synthetic graph of entities={settings.entities} with {settings.n_triplets:,} "
            f"triplets takes at least {n_needed / 1e9:.1f} GB of memory, and this machine has "
            f"{n_bytes / 1e9:.1f} GB. Ask for fewer entities or triplets."
        )


def count_machine_bytes() -> int:
    """Return the memory of this machine; where that cannot be found out, more than any has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**62
