"""All paths between two entities, up to a length: what the graph itself says of them."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from interstellar.data.triplets import OBJECT, SUBJECT, Triplets, with_inverses

MOST_PATHS = 10_000
"""Paths that are followed at once; of more, those whose triplets stand first are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundPaths:
    """The paths between two entities, the shortest first."""

    paths: tuple[Triplets, ...]
    """Each (length, 3): triplets joined head to tail, inverses among them."""
    is_complete: bool
    """Whether these are all; not where more than `MOST_PATHS` were to be followed."""


@final
class PathSearch:
    """A graph in which paths are looked for; triplets can be followed both ways."""

    def __init__(self, triplets: Triplets, *, n_entities: int, n_relations: int) -> None:
        both_ways = with_inverses(triplets, n_relations)
        self._n_entities = n_entities
        self._n_relations = n_relations
        self._triplets = both_ways[np.argsort(both_ways[:, SUBJECT], kind="stable")]

    def find(
        self, start: int, end: int, *, length: int, without: tuple[int, int, int] | None = None
    ) -> FoundPaths:
        """Return the paths of at most `length` triplets that visit no entity twice.

        No path uses the triplet `without`, neither forwards nor backwards.
        """
        triplets = self._triplets if without is None else self._leave_out(without)
        # So that only what can still arrive is followed.
        distances = _distances(triplets, end, length, self._n_entities)
        partial = np.zeros((1, 0), dtype=np.int64)
        found: list[Triplets] = []
        is_complete = True
        for n_left in reversed(range(length)):
            useful = np.flatnonzero(distances[triplets[:, OBJECT]] <= n_left)
            partial, is_whole = _extend(partial, triplets, useful, start)
            is_complete &= is_whole
            arrives = triplets[partial[:, -1], OBJECT] == end
            found += [triplets[rows] for rows in partial[arrives]]
            partial = partial[~arrives]
        return FoundPaths(tuple(found), is_complete)

    def _leave_out(self, triplet: tuple[int, int, int]) -> Triplets:
        s, r, o = triplet
        inverse = r - self._n_relations if r >= self._n_relations else r + self._n_relations
        is_forwards = (self._triplets == (s, r, o)).all(axis=1)
        is_backwards = (self._triplets == (o, inverse, s)).all(axis=1)
        kept: Triplets = self._triplets[~(is_forwards | is_backwards)]
        return kept


def _distances(triplets: Triplets, end: int, length: int, n_entities: int) -> npt.NDArray[np.int64]:
    """Return the steps from each entity to `end`; `length` where it takes as many or more."""
    distances = np.full(n_entities, length)
    distances[end] = 0
    for n_steps in range(1, length):
        is_next_to = distances[triplets[:, OBJECT]] == n_steps - 1
        reached = triplets[is_next_to, SUBJECT]
        distances[reached] = np.minimum(distances[reached], n_steps)
    return distances


def _extend(
    partial: npt.NDArray[np.int64], triplets: Triplets, useful: npt.NDArray[np.int64], start: int
) -> tuple[npt.NDArray[np.int64], bool]:
    """Return all partial paths one triplet longer, and whether none was left out.

    A path is the rows of `triplets`, which are in the order of their subjects, along it; those that
    may be followed are `useful`, ascending.
    """
    visited = np.column_stack([np.full(len(partial), start), triplets[partial, OBJECT]])
    subjects = triplets[useful, SUBJECT]
    firsts = np.searchsorted(subjects, visited[:, -1], side="left")
    counts = np.searchsorted(subjects, visited[:, -1], side="right") - firsts
    n_longer = int(counts.sum())
    n_followed = min(n_longer, MOST_PATHS)
    old = np.repeat(np.arange(len(partial)), counts)[:n_followed]
    nth = np.arange(n_followed) - (np.cumsum(counts) - counts)[old]
    new = useful[firsts[old] + nth]
    is_simple = (triplets[new, OBJECT][:, None] != visited[old]).all(axis=1)
    longer = np.column_stack([partial[old], new])[is_simple]
    return longer, n_followed == n_longer
