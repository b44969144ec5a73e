"""The set of all architectures, or of a subspace: its choices, its size, a random point of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, combinations, product
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from interstellar.architecture.architecture import (
    ALL_WEIGHTS,
    N_WEIGHTS,
    Activation,
    Architecture,
    Combinator,
    Macro,
    Micro,
    Source,
)
from interstellar.architecture.canonical_form import canonical_form
from interstellar.errors import ArchitectureError

if TYPE_CHECKING:
    import numpy as np

Option: TypeAlias = Combinator | Source | Activation | bool
Point: TypeAlias = tuple[int, ...]
"""Which of its options each choice takes, counted from 0."""

MACRO_FIELDS = ("subject", "relation_source", "relation", "output_source", "output")
ACTIVATION_FIELDS = ("subject_activation", "relation_activation")
N_MACRO = len(MACRO_FIELDS)
N_CHOICES = N_MACRO + len(ACTIVATION_FIELDS) + N_WEIGHTS


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the thirteen choices that make up an architecture.

    The first five are the macro level α₁, the other eight the micro level α₂.
    """

    name: str
    options: tuple[Option, ...]
    """For a matrix: False where it is the identity, True where it is trained."""


def choices(relation_sources: Iterable[Source], output_sources: Iterable[Source]) -> list[Choice]:
    """Return the thirteen choices of a space in which only some sources may be read."""
    return [
        Choice("subject", tuple(Combinator)),
        Choice("relation_source", tuple(relation_sources)),
        Choice("relation", tuple(Combinator)),
        Choice("output_source", tuple(output_sources)),
        Choice("output", tuple(Combinator)),
        *(Choice(name, tuple(Activation)) for name in ACTIVATION_FIELDS),
        *(Choice(f"W_{i}", (False, True)) for i in range(1, N_WEIGHTS + 1)),
    ]


def take(architecture: Architecture) -> tuple[Option, ...]:
    """Return the options that an architecture takes, in the order of the choices."""
    macro, micro = architecture.macro, architecture.micro
    return (
        *(getattr(macro, name) for name in MACRO_FIELDS),
        *(getattr(micro, name) for name in ACTIVATION_FIELDS),
        *(i in micro.trained for i in range(1, N_WEIGHTS + 1)),
    )


def build(taken: Sequence[Option]) -> Architecture:
    """Return the architecture that takes these options."""
    macro: dict[str, Any] = dict(zip(MACRO_FIELDS, taken[:N_MACRO], strict=True))
    act_s, act_r, *is_trained = taken[N_MACRO:]
    micro: dict[str, Any] = dict(zip(ACTIVATION_FIELDS, (act_s, act_r), strict=True))
    trained = frozenset(i for i, bit in enumerate(is_trained, 1) if bit)
    return Architecture(Macro(**macro), Micro(**micro, trained=trained))


class Subspace(StrEnum):
    """A part of the search space that looks only so far along a path (Section 4.2 of the paper)."""

    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"

    @property
    def definition(self) -> str:
        """What belongs to the subspace, in words."""
        return {
            "P1": "single hop: nothing reads h_{t-1} or O_s",
            "P2": "two successive triplets: O_r reads s_t or 0, O_v reads O_s or h_{t-1}",
            "P3": "long paths without the entities in between: "
            "O_r reads h_{t-1}, O_v reads 0 or h_{t-1}",
            "P4": "entities and relations along the path: O_r reads O_s",
        }[self]

    @property
    def relation_sources(self) -> tuple[Source, ...]:
        """What O_r may read."""
        subject_or_zero = (Source.SUBJECT, Source.ZERO)
        return {
            "P1": subject_or_zero,
            "P2": subject_or_zero,
            "P3": (Source.HIDDEN,),
            "P4": (Source.SUBJECT_OUTPUT,),
        }[self]

    @property
    def output_sources(self) -> tuple[Source, ...]:
        """What O_v may read."""
        return {
            "P1": (Source.SUBJECT, Source.ZERO),
            "P2": (Source.HIDDEN, Source.SUBJECT_OUTPUT),
            "P3": (Source.HIDDEN, Source.ZERO),
            "P4": tuple(Source),
        }[self]


def read_subspace(text: str) -> Subspace:
    """Return the subspace called `text`, in any case."""
    try:
        return Subspace(text.strip().upper())
    except ValueError:
        known = "; ".join(f"{subspace} ({subspace.definition})" for subspace in Subspace)
        raise ArchitectureError(
            f"{text!r} is not the name of a subspace. The subspaces are {known}. "
            "Choose one of them, or leave the subspace out to use the whole space."
        ) from None


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """All architectures (Table 2 of the paper), or those of one subspace or of one level.

    Many points are the same network under several names (`canonical_form`); the
    representative of a subspace's point need not lie in the subspace.
    """

    subspace: Subspace | None = None
    is_macro_only: bool = False
    """Whether the micro level is left out: no activation, no trained matrix."""
    is_of_messages: bool = False
    """Whether O_r must pass h_{t-1} on; P1 and P2 are empty then."""

    def __str__(self) -> str:
        whole = "the search space" if self.subspace is None else f"the subspace {self.subspace}"
        return f"the macro level of {whole}" if self.is_macro_only else whole

    @property
    def n_macro(self) -> int:
        """Number of macro points, 4²·4³ = 1024 in the whole space."""
        return prod(len(choice.options) for choice in self.choices()[:N_MACRO])

    @property
    def n_micro(self) -> int:
        """Number of micro points, 3²·2⁶ = 576, or the one without anything."""
        return prod(len(choice.options) for choice in self.choices()[N_MACRO:])

    @property
    def n_total(self) -> int:
        """Number of architectures, counting every name of a network."""
        return self.n_macro * self.n_micro

    def count_distinct(self) -> int:
        """Return the number of different networks. Takes a few seconds in the whole space."""
        if self.is_macro_only:
            return self.count_distinct_macros()
        live = (m for m in self.macros() if m.subject is Combinator.ADD or m.is_subject_output_read)
        points = (Architecture(macro, micro) for macro in live for micro in _live_micros(macro))
        return len({canonical_form(point) for point in points})

    def count_distinct_macros(self) -> int:
        """Return the number of different networks without activations and trained matrices."""
        return len({canonical_form(Architecture(macro)) for macro in self.macros()})

    def macros(self) -> Iterator[Macro]:
        """Yield every macro point."""
        combinators = product(Combinator, Combinator, Combinator)
        for (x_r, x_v), (c_s, c_r, c_v) in product(product(*self._sources), combinators):
            yield Macro(
                subject=c_s, relation=c_r, output=c_v, relation_source=x_r, output_source=x_v
            )

    def micros(self) -> Iterator[Micro]:
        """Yield every micro point."""
        return iter([Micro()]) if self.is_macro_only else _micros(Activation, ALL_WEIGHTS)

    def architectures(self) -> Iterator[Architecture]:
        """Yield every architecture."""
        micros = tuple(self.micros())
        return (Architecture(macro, micro) for macro in self.macros() for micro in micros)

    def sample(self, rng: "np.random.Generator") -> Architecture:
        """Return an architecture drawn uniformly from all points."""
        c_s, c_r, c_v = rng.integers(len(Combinator), size=3)
        micro = (*rng.integers(len(Activation), size=2), *rng.integers(2, size=N_WEIGHTS))
        x_r, x_v = (int(rng.integers(len(sources))) for sources in self._sources)
        if self.is_macro_only:
            micro = (0,) * len(micro)
        return self.at((c_s, x_r, c_r, x_v, c_v, *micro))

    def choices(self) -> list[Choice]:
        """Return the thirteen choices with the options that this space has."""
        every = choices(*self._sources)
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
        macro, (relation_sources, output_sources) = architecture.macro, self._sources
        is_read = macro.relation_source in relation_sources
        is_read &= macro.output_source in output_sources
        return is_read and (architecture.micro == Micro() or not self.is_macro_only)

    @property
    def _sources(self) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
        """What O_r and O_v may read."""
        of_r, of_v = tuple(Source), tuple(Source)
        if self.subspace is not None:
            of_r, of_v = self.subspace.relation_sources, self.subspace.output_sources
        if self.is_of_messages:
            of_r = tuple(x for x in of_r if x in (Source.HIDDEN, Source.SUBJECT_OUTPUT))
        return of_r, of_v


def _live_micros(macro: Macro) -> Iterator[Micro]:
    """Yield the micro points without those that differ only in what `macro` never uses."""
    unused: set[int] = set() if macro.is_subject_output_read else {1, 2}
    unused |= {3} if macro.relation_source is Source.ZERO else set()
    unused |= {5} if macro.output_source is Source.ZERO else set()
    subject_activations = Activation if macro.is_subject_output_read else [Activation.IDENTITY]
    return _micros(subject_activations, ALL_WEIGHTS - unused)


def _micros(subject_activations: Iterable[Activation], weights: frozenset[int]) -> Iterator[Micro]:
    subsets = chain.from_iterable(combinations(sorted(weights), n) for n in range(len(weights) + 1))
    for trained in map(frozenset, subsets):
        for act_s, act_r in product(subject_activations, Activation):
            yield Micro(subject_activation=act_s, relation_activation=act_r, trained=trained)
