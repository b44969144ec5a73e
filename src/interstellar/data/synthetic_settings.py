"""What a synthetic graph shall look like: its settings, and the rules planted in it."""

from dataclasses import dataclass, fields
from math import ceil
from typing import TypeAlias

from interstellar.errors import SettingsError

NEIGHBOURHOOD = 50
"""Entities in a neighbourhood; up to twice as many where the number does not divide evenly."""

RELATIONS_IN_A_FAMILY = 9
"""A 1-, a 2- and a 3-hop rule have 2, 3 and 4 relations."""

LEAST_ENTITIES = 10
MOST_ENTITIES = 100_000_000
MOST_TRIPLETS = 2**31 - 1

_ROUNDING = 2
"""Places by which a run of neighbourhoods may be larger than its share of the entities."""

Value: TypeAlias = int | float | None


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
        for field in fields(self):
            _check_number(field.name, getattr(self, field.name))
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
        most = self.entities**2
        if triplets > most:
            raise SettingsError(
                f"triplets={triplets} is too many for entities={self.entities}: "
                f"at most entities², {most}, are made. "
                "Ask for fewer triplets or for more entities."
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


def parse_settings(text: str) -> SyntheticSettings:
    """Read `entities=1000,seed=3`; no text gives the defaults."""
    values: dict[str, Value] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in _KEYS:
            raise SettingsError(
                f"{part!r} is no setting of a synthetic graph. "
                f"Settings are written key=value, with commas between; the keys are {_known()}."
            )
        if key in values:
            raise SettingsError(f"{key} is set twice in {text!r}. Keep one of the two.")
        values[key] = _parse_value(key, value)
    return SyntheticSettings(**values)  # type: ignore[arg-type]  # each value is checked there


_WHOLE_NUMBERS = {
    "entities": (LEAST_ENTITIES, MOST_ENTITIES),
    "triplets": (1, MOST_TRIPLETS),
    "seed": (0, 2**63 - 1),
}
_SHARES = {
    "noise": (0.0, 0.5),
    "across": (0.0, 1.0),
    "held_out": (0.01, 0.4),
    "overlap": (0.1, 1.0),
}
_KEYS = (*_WHOLE_NUMBERS, *_SHARES)


def _known() -> str:
    return ", ".join(_KEYS)


def _parse_value(key: str, text: str) -> int | float:
    try:
        return int(text) if key in _WHOLE_NUMBERS else float(text)
    except ValueError:
        kind = "a whole number" if key in _WHOLE_NUMBERS else "a number"
        raise SettingsError(
            f"{key}={text} is not {kind}. Write it in digits, as in entities=1000,noise=0.1."
        ) from None


def _check_number(key: str, value: Value) -> None:
    if key == "triplets" and value is None:
        return
    whole = key in _WHOLE_NUMBERS
    least, most = _WHOLE_NUMBERS[key] if whole else _SHARES[key]
    kind = "a whole number" if whole else "a number"
    of_kind = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if value is None or not of_kind or not least <= value <= most:
        raise SettingsError(
            f"{key}={value} cannot be used for a synthetic graph: {key} must be {kind} "
            f"from {least} to {most}. Change {key}."
        )
