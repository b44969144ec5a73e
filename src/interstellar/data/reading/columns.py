"""Which columns of a table hold subject, relation and object, or the two of a pair."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are looked for, and what each is called in the wild, lower case."""

    names: tuple[str, ...]
    words: tuple[frozenset[str], ...]
    has_split: bool = False
    """Whether a column called `split` may stand beside them."""

    def __len__(self) -> int:
        """Return how many columns there are."""
        return len(self.names)

    def find(self, header: Sequence[str]) -> tuple[int, ...] | None:
        """Return the places of the columns, or None if this is no header.

        A row is a header when each column is named exactly once by a usual word; other
        columns may stand beside them.
        """
        cells = [cell.strip().lower() for cell in header]
        places = [[i for i, cell in enumerate(cells) if cell in words] for words in self.words]
        if any(len(found) != 1 for found in places):
            return None
        return tuple(found[0] for found in places)

    def find_split(self, header: Sequence[str]) -> int | None:
        """Return the place of the column that says to which split a row belongs, if any."""
        cells = [cell.strip().lower() for cell in header]
        return cells.index(SPLIT) if self.has_split and cells.count(SPLIT) == 1 else None


SPLIT = "split"

TRIPLET = Columns(
    ("subject", "relation", "object"),
    (
        frozenset({"subject", "head", "source", "from", "s", "h", "subj"}),
        frozenset({"relation", "predicate", "property", "relationship", "edge", "r", "p", "rel"}),
        frozenset({"object", "tail", "target", "to", "o", "t", "obj"}),
    ),
    has_split=True,
)

PAIR = Columns(
    ("first", "second"),
    (
        frozenset({"first", "left", "source", "entity1", "entity_1", "e1", "graph1", "from"}),
        frozenset({"second", "right", "target", "entity2", "entity_2", "e2", "graph2", "to"}),
    ),
)
