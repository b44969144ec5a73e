"""The set of all architectures, or of a subspace: its size, its points, a random one of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np

from interstellar.architecture.architecture import ALL_WEIGHTS, Architecture, Macro, Micro
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.choices import Activation, Combinator, Source
from interstellar.architecture.coordinates import N_MACRO, Choice, Point, build, choices, take
from interstellar.architecture.subspaces import ALL_SOURCES, Subspace

COMBINATORS = tuple(Combinator)
ACTIVATIONS = tuple(Activation)
DEFAULT_ACTIVATION = (Activation.IDENTITY,)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """All architectures (Table 2 of the paper), or those of one subspace or of one level.

    Many points are the same network under several names (`canonical_form`); the
    representative of a subspace's point need not lie in the subspace.
    """

    subspace: Subspace | None = None
    is_macro_only: bool = False
    """Whether the micro level is left out: no activation, no trained matrix."""

    def __str__(self) -> str:
        whole = "the search space" if self.subspace is None else f"the subspace {self.subspace}"
        return f"the macro level of {whole}" if self.is_macro_only else whole

    @property
    def n_macro(self) -> int:
        """Number of macro points, 4²·4³ = 1024 in the whole space."""
        n_sources = len(self._relation_sources) * len(self._output_sources)
        return int(n_sources * len(COMBINATORS) ** 3)

    @property
    def n_micro(self) -> int:
        """Number of micro points, 3²·2⁶ = 576, or the one without anything."""
        if self.is_macro_only:
            return 1
        return int(len(ACTIVATIONS) ** 2 * 2 ** len(ALL_WEIGHTS))

    @property
    def n_total(self) -> int:
        """Number of architectures, counting every name of a network."""
        return self.n_macro * self.n_micro

    def count_distinct(self) -> int:
        """Return the number of different networks. Takes a few seconds in the whole space."""
        if self.is_macro_only:
            return self.count_distinct_macros()
        return len(
            {
                canonical_form(Architecture(macro, micro))
                for macro in self._live_macros()
                for micro in _live_micros(macro)
            }
        )

    def count_distinct_macros(self) -> int:
        """Return the number of different networks without activations and trained matrices."""
        return len({canonical_form(Architecture(macro)) for macro in self.macros()})

    def macros(self) -> Iterator[Macro]:
        """Yield every macro point."""
        sources = product(self._relation_sources, self._output_sources)
        for (x_r, x_v), (c_s, c_r, c_v) in product(sources, product(COMBINATORS, repeat=3)):
            yield Macro(
                subject=c_s, relation=c_r, output=c_v, relation_source=x_r, output_source=x_v
            )

    def micros(self) -> Iterator[Micro]:
        """Yield every micro point."""
        if self.is_macro_only:
            yield Micro()
        else:
            yield from _micros(ACTIVATIONS, ALL_WEIGHTS)

    def architectures(self) -> Iterator[Architecture]:
        """Yield every architecture."""
        micros = tuple(self.micros())
        for macro in self.macros():
            for micro in micros:
                yield Architecture(macro, micro)

    def sample(self, rng: np.random.Generator) -> Architecture:
        """Return an architecture drawn uniformly from all points."""
        c_s, c_r, c_v = (COMBINATORS[i] for i in rng.integers(len(COMBINATORS), size=3))
        act_s, act_r = (ACTIVATIONS[i] for i in rng.integers(len(ACTIVATIONS), size=2))
        is_trained = rng.integers(2, size=len(ALL_WEIGHTS))
        macro = Macro(
            subject=c_s,
            relation=c_r,
            output=c_v,
            relation_source=_draw(self._relation_sources, rng),
            output_source=_draw(self._output_sources, rng),
        )
        trained = frozenset(i for i, bit in enumerate(is_trained, 1) if bit)
        micro = Micro(subject_activation=act_s, relation_activation=act_r, trained=trained)
        return Architecture(macro, Micro() if self.is_macro_only else micro)

    def choices(self) -> list[Choice]:
        """Return the thirteen choices with the options that this space has."""
        every = choices(self._relation_sources, self._output_sources)
        if not self.is_macro_only:
            return every
        identities = [Choice(c.name, c.options[:1]) for c in every[N_MACRO:]]  # first of each
        return every[:N_MACRO] + identities

    def at(self, point: Point) -> Architecture:
        """Return the architecture at a point."""
        return build([c.options[i] for c, i in zip(self.choices(), point, strict=True)])

    def locate(self, architecture: Architecture) -> Point:
        """Return the point of an architecture that lies in this space."""
        taken = take(architecture)
        return tuple(c.options.index(o) for c, o in zip(self.choices(), taken, strict=True))

    def __contains__(self, architecture: Architecture) -> bool:
        macro = architecture.macro
        return (
            macro.relation_source in self._relation_sources
            and macro.output_source in self._output_sources
            and (architecture.micro == Micro() or not self.is_macro_only)
        )

    @property
    def _relation_sources(self) -> tuple[Source, ...]:
        return ALL_SOURCES if self.subspace is None else self.subspace.relation_sources

    @property
    def _output_sources(self) -> tuple[Source, ...]:
        return ALL_SOURCES if self.subspace is None else self.subspace.output_sources

    def _live_macros(self) -> Iterator[Macro]:
        """Yield the macro points without those that differ only in an O_s nobody reads."""
        for macro in self.macros():
            if macro.subject is Combinator.ADD or macro.is_subject_output_read:
                yield macro


def _live_micros(macro: Macro) -> Iterator[Micro]:
    """Yield the micro points without those that differ only in what `macro` never uses."""
    dead: set[int] = set()
    if not macro.is_subject_output_read:
        dead |= {1, 2}
    if macro.relation_source is Source.ZERO:
        dead |= {3}
    if macro.output_source is Source.ZERO:
        dead |= {5}
    subject_activations = ACTIVATIONS if macro.is_subject_output_read else DEFAULT_ACTIVATION
    return _micros(subject_activations, ALL_WEIGHTS - dead)


def _micros(
    subject_activations: tuple[Activation, ...], weights: frozenset[int]
) -> Iterator[Micro]:
    subsets = chain.from_iterable(combinations(sorted(weights), n) for n in range(len(weights) + 1))
    for trained in map(frozenset, subsets):
        for act_s, act_r in product(subject_activations, ACTIVATIONS):
            yield Micro(subject_activation=act_s, relation_activation=act_r, trained=trained)


def _draw(sources: tuple[Source, ...], rng: np.random.Generator) -> Source:
    return sources[rng.integers(len(sources))]
