"""The splits that networks are measured on."""

from enum import StrEnum

from interstellar.data.graph import AnyGraph
from interstellar.errors import SettingsError


class Split(StrEnum):
    """A part of the data that training never sees."""

    VALID = "valid"
    TEST = "test"


def count_held_out(graph: AnyGraph, split: Split) -> int:
    """Return the triplets or pairs of a split; 0 where nothing was held out for it."""
    return len({Split.VALID: graph.valid, Split.TEST: graph.test}[split])


def require_validation(graph: AnyGraph) -> None:
    """Raise where nothing is held out by which the best epoch could be chosen."""
    if count_held_out(graph, Split.VALID) == 0:
        raise SettingsError(
            f"{graph.name} holds nothing out for validation, by which the best epoch and the best "
            "architecture are chosen. Give more data, or shares such as --split 90/10/0."
        )
