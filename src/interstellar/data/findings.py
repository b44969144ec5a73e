"""What reading a data set brought to light: faults, and notes for the reader."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import final

from interstellar.data.graph import AnyGraph, GraphPair, list_sides
from interstellar.data.spelling import find_lookalikes, quote_apart
from interstellar.data.splitting import SplitShares
from interstellar.errors import DataError, Fault
from interstellar.printable import printable

SHOWN_ALIKE = 3
"""Faults of one kind that are listed; the others are counted."""
FEW_RELATIONS = 10
"""Of so few, any number is nothing unusual."""
_DIFFERS = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d,]*")
"""What may differ between faults of one kind: names in quotes, and numbers."""


@final
class Findings:
    """Collects every fault and note while a set is read, so that none hides another."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.notes: list[str] = []
        self.split: SplitShares | None = None
        """The shares by which the reader split the data, where it had no splits of its own."""

    def fault(self, file: Path | str, line: int | None, what: str) -> None:
        """Record that something is wrong at a place."""
        self.faults.append(Fault(printable(str(file)), line, printable(what)))

    def note(self, sentence: str) -> None:
        """Record something that was dealt with and should be said."""
        self.notes.append(printable(sentence))

    def raise_faults(self) -> None:
        """Raise a `DataError` if any fault was recorded."""
        if self.faults:
            raise DataError.from_faults(tuple(self.faults))


def fold_faults(faults: Sequence[Fault]) -> list[str]:
    """Return faults as lines: of those alike in one file the first few, and how many there are."""
    kinds: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.file, _DIFFERS.sub("", fault.fault)), []).append(fault)
    lines: list[str] = []
    for alike in kinds.values():
        n_shown = len(alike) if len(alike) == SHOWN_ALIKE + 1 else SHOWN_ALIKE
        lines += map(str, alike[:n_shown])
        if len(alike) > n_shown:
            lines.append(f"{alike[0].file}: and {len(alike) - n_shown:,} more like it")
    return lines


def note_lookalikes(graph: AnyGraph, findings: Findings) -> None:
    """Say how many names of a graph differ from another of theirs by case or Unicode form only."""
    is_pair = isinstance(graph, GraphPair)
    for number, side in enumerate(list_sides(graph), 1):
        where = f"graph {number}: " if is_pair else ""
        for noun, vocabulary in (("entities", side.entities), ("relations", side.relations)):
            alike = find_lookalikes(vocabulary)
            if len(alike):
                first, second = (vocabulary.name(place) for place in alike[:2])
                name, other = quote_apart(first, (second,))
                findings.note(
                    f"{where}{len(alike):,} {noun} have names that differ from another's by case "
                    f"or Unicode form only, for instance {name} and {other}; each is kept as "
                    "one of its own."
                )


def note_many_relations(graph: AnyGraph, findings: Findings) -> None:
    """Say so where relations outnumber entities, as they do when columns are swapped."""
    for side in list_sides(graph):
        n_entities, n_relations = len(side.entities), len(side.relations)
        if n_relations > max(n_entities, FEW_RELATIONS):
            findings.note(
                f"{n_entities:,} entities, {n_relations:,} relations: relations are usually far "
                "fewer than entities, so the columns may be swapped. Each row must hold subject, "
                "relation and object; `columns` says which column is which."
            )
