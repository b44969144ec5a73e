"""The four subspaces of the paper's Countries study (Section 4.2), told apart by what is read."""

from enum import StrEnum
from typing import assert_never

from interstellar.architecture.choices import Source
from interstellar.errors import ArchitectureError

ALL_SOURCES = tuple(Source)


class Subspace(StrEnum):
    """A part of the search space that looks only so far along a path."""

    P1 = "P1"
    """Single hop: nothing reads h_{t-1} or O_s."""
    P2 = "P2"
    """Two successive triplets: O_r reads s_t or 0, O_v reads O_s or h_{t-1}."""
    P3 = "P3"
    """Long paths without the entities in between: O_r reads h_{t-1}, O_v reads 0 or h_{t-1}."""
    P4 = "P4"
    """Entities and relations along the path: O_r reads O_s."""

    @property
    def definition(self) -> str:
        """What belongs to the subspace, in words."""
        match self:
            case Subspace.P1:
                return "single hop: nothing reads h_{t-1} or O_s"
            case Subspace.P2:
                return "two successive triplets: O_r reads s_t or 0, O_v reads O_s or h_{t-1}"
            case Subspace.P3:
                return (
                    "long paths without the entities in between: "
                    "O_r reads h_{t-1}, O_v reads 0 or h_{t-1}"
                )
            case Subspace.P4:
                return "entities and relations along the path: O_r reads O_s"
            case _:
                assert_never(self)

    @property
    def relation_sources(self) -> tuple[Source, ...]:
        """What O_r may read."""
        match self:
            case Subspace.P1 | Subspace.P2:
                return (Source.SUBJECT, Source.ZERO)
            case Subspace.P3:
                return (Source.HIDDEN,)
            case Subspace.P4:
                return (Source.SUBJECT_OUTPUT,)
            case _:
                assert_never(self)

    @property
    def output_sources(self) -> tuple[Source, ...]:
        """What O_v may read."""
        match self:
            case Subspace.P1:
                return (Source.SUBJECT, Source.ZERO)
            case Subspace.P2:
                return (Source.HIDDEN, Source.SUBJECT_OUTPUT)
            case Subspace.P3:
                return (Source.HIDDEN, Source.ZERO)
            case Subspace.P4:
                return ALL_SOURCES
            case _:
                assert_never(self)


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
