"""The built-in sets geography-S1, -S2 and -S3: where in the world is a country?

The facts in `geography.tsv` are public ones (names, land borders, regions and subregions of
the United Nations), taken from the PyPI package countryinfo 1.0.1, (c) Porimol Chandro, MIT
licence, by `scripts/build_geography.py`.

The sets are made after the recipe of the Countries tasks (Bouchard, Singh and Trouillon
2015, "On approximate reasoning capabilities of low-rank vector spaces"). 24 countries are
held out for validation and 24 for test; of each it is asked (country, locatedin, region).
What train says of them, alike for both groups:

    S1  not the region; the subregion stays:  locatedin ∧ locatedin            ⇒ locatedin
    S2  nor the subregion; neighbours stay:   neighbor ∧ locatedin             ⇒ locatedin
    S3  and their neighbours lose the region: neighbor ∧ locatedin ∧ locatedin ⇒ locatedin

The held-out countries are the first 48 of a shuffled list (the purpose "geography held out"
under seed 0) that can be held out together: each must have a neighbour that is not. That
neighbour keeps its subregion, and the subregion its region, on every level.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import numpy as np

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.triplets import Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError
from interstellar.randomness import spawn

LOCATED_IN, NEIGHBOR = "locatedin", "neighbor"
N_HELD_OUT = 24
"""Countries in validation, and as many in test."""

Fact: TypeAlias = tuple[str, str, str]


class Level(StrEnum):
    """How much of a held-out country is hidden; each level hides more."""

    S1 = "S1"
    S2 = "S2"
    S3 = "S3"


GEOGRAPHY_NAMES = tuple(f"geography-{level}" for level in Level)


def geography_graph(level: Level) -> KnowledgeGraph:
    """Return the built-in set of one level."""
    world = read_world()
    valid_countries, test_countries = choose_held_out(world)
    held_out = frozenset(valid_countries + test_countries)
    names = {name for subject, _, answer in world.facts for name in (subject, answer)}
    entities = Vocabulary(sorted(names))
    relations = Vocabulary([LOCATED_IN, NEIGHBOR])

    def number(facts: Iterable[Fact]) -> Triplets:
        rows = [(entities.id(s), relations.id(r), entities.id(o)) for s, r, o in facts]
        return np.array(rows, dtype=np.int32)

    return KnowledgeGraph(
        name=f"geography-{level}",
        entities=entities,
        relations=relations,
        train=number(_training_facts(world, held_out, level)),
        valid=number((c, LOCATED_IN, world.region_of(c)) for c in valid_countries),
        test=number((c, LOCATED_IN, world.region_of(c)) for c in test_countries),
        answers=np.array([entities.id(region) for region in world.regions], dtype=np.int32),
    )


def parse_geography(text: str) -> KnowledgeGraph:
    """Return the set that `geography-S1`, in any case, names."""
    level = text.strip().upper().removeprefix("GEOGRAPHY-")
    if level not in tuple(Level):
        raise DataError(
            f"{text!r} is no geography set. There are {', '.join(GEOGRAPHY_NAMES)}; choose one."
        )
    return geography_graph(Level(level))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The facts of `geography.tsv`, and what can be looked up in them."""

    facts: tuple[Fact, ...]
    place_of: dict[str, str]
    """The subregion of a country, the region of a subregion."""
    neighbours_of: dict[str, tuple[str, ...]]

    @property
    def countries(self) -> tuple[str, ...]:
        """All countries, sorted."""
        larger = set(self.place_of.values())
        return tuple(sorted(name for name in self.place_of if name not in larger))

    @property
    def regions(self) -> tuple[str, ...]:
        """The five regions, sorted."""
        return tuple(sorted({self.region_of(country) for country in self.countries}))

    def region_of(self, country: str) -> str:
        """Return the region in which the subregion of a country lies."""
        return self.place_of[self.place_of[country]]


@cache
def read_world() -> World:
    """Read the facts that come with this package."""
    text = files("interstellar.data").joinpath("geography.tsv").read_text(encoding="utf-8")
    place_of: dict[str, str] = {}
    neighbours_of: dict[str, tuple[str, ...]] = {}
    facts = []
    for line in text.splitlines():
        subject, relation, answer = line.split("\t")
        facts.append((subject, relation, answer))
        if relation == LOCATED_IN:
            place_of[subject] = answer
        else:
            neighbours_of[subject] = (*neighbours_of.get(subject, ()), answer)
    return World(tuple(facts), place_of, neighbours_of)


def choose_held_out(world: World) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the countries of validation and of test, the same ones on every level."""
    order = spawn(0, "geography held out").permutation(len(world.countries))
    chosen: list[str] = []
    for place in order:
        candidates = {*chosen, world.countries[place]}
        if all(set(world.neighbours_of.get(c, ())) - candidates for c in candidates):
            chosen.append(world.countries[place])
        if len(chosen) == 2 * N_HELD_OUT:
            break
    return tuple(chosen[:N_HELD_OUT]), tuple(chosen[N_HELD_OUT:])


def _training_facts(world: World, held_out: frozenset[str], level: Level) -> list[Fact]:
    """Return what is known on a level: the facts of the file, and the region of countries."""
    without_region = set(held_out)
    if level is Level.S3:
        without_region.update(n for country in held_out for n in world.neighbours_of[country])
    without_subregion = frozenset() if level is Level.S1 else held_out
    known = [(s, r, o) for s, r, o in world.facts if r == NEIGHBOR or s not in without_subregion]
    located = [country for country in world.countries if country not in without_region]
    return known + [(country, LOCATED_IN, world.region_of(country)) for country in located]
