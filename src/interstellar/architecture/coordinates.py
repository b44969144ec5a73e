"""An architecture as thirteen choices, each from a short list: what searches draw and count.

The first five are the macro level α₁, the other eight the micro level α₂. A *point* says for
each choice which of its options is taken, counted from 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from interstellar.architecture.architecture import N_WEIGHTS, Architecture, Macro, Micro
from interstellar.architecture.choices import Activation, Combinator, Source

Option: TypeAlias = Combinator | Source | Activation | bool
Point: TypeAlias = tuple[int, ...]

N_MACRO = 5
N_CHOICES = 13


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the thirteen choices."""

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
        Choice("subject_activation", tuple(Activation)),
        Choice("relation_activation", tuple(Activation)),
        *(Choice(f"W_{i}", (False, True)) for i in range(1, N_WEIGHTS + 1)),
    ]


def take(architecture: Architecture) -> tuple[Option, ...]:
    """Return the options that an architecture takes, in the order of the choices."""
    macro, micro = architecture.macro, architecture.micro
    return (
        macro.subject,
        macro.relation_source,
        macro.relation,
        macro.output_source,
        macro.output,
        micro.subject_activation,
        micro.relation_activation,
        *(i in micro.trained for i in range(1, N_WEIGHTS + 1)),
    )


def build(taken: Sequence[Option]) -> Architecture:
    """Return the architecture that takes these options."""
    subject, relation_source, relation, output_source, output, act_s, act_r, *is_trained = taken
    assert isinstance(subject, Combinator)
    assert isinstance(relation, Combinator)
    assert isinstance(output, Combinator)
    assert isinstance(relation_source, Source)
    assert isinstance(output_source, Source)
    assert isinstance(act_s, Activation)
    assert isinstance(act_r, Activation)
    macro = Macro(
        subject=subject,
        relation=relation,
        output=output,
        relation_source=relation_source,
        output_source=output_source,
    )
    trained = frozenset(i for i, bit in enumerate(is_trained, 1) if bit)
    return Architecture(
        macro, Micro(subject_activation=act_s, relation_activation=act_r, trained=trained)
    )
