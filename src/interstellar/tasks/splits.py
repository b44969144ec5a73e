"""The splits that networks are measured on."""

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from interstellar.data.graph import AnyGraph
from interstellar.errors import SettingsError
from interstellar.randomness import spawn


class Split(StrEnum):
    """A part of the data that training never sees."""

    VALID = "valid"
    TEST = "test"


def held_out(graph: AnyGraph, split: Split, at_most: int | None = None) -> npt.NDArray[np.int32]:
    """Return the triplets or pairs of a split, or so many of them, drawn always alike."""
    rows = {Split.VALID: graph.valid, Split.TEST: graph.test}[split]
    if at_most is None or len(rows) <= at_most:
        return rows
    chosen = spawn(0, f"measured part of {split}").choice(len(rows), at_most, replace=False)
    return rows[np.sort(chosen)]


def require_validation(graph: AnyGraph) -> None:
    """Raise where nothing is held out by which the best epoch could be chosen."""
    if len(graph.valid) == 0:
        raise SettingsError(
            f"{graph.name} holds nothing out for validation, by which the best epoch and the best "
            "architecture are chosen. Give more data, or a `split` such as 90/10/0."
        )
