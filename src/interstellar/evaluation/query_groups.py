"""Queries that ask the same, put together, so that their logits are computed once.

In WN18RR a tenth of the test queries repeats another with a different true answer, in FB15k-237
nearly half.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interstellar.data.triplets import RELATION, SUBJECT, Triplets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryGroups:
    """An order of queries in which those of equal subject and relation are neighbours."""

    order: npt.NDArray[np.int64]
    """Places of the queries, group after group; groups stand in the order of their first query."""
    starts: npt.NDArray[np.int64]
    """Group i has the places `order[starts[i]:starts[i + 1]]`."""

    @classmethod
    def of(cls, queries: Triplets) -> "QueryGroups":
        """Put equal queries together."""
        if len(queries) == 0:
            return cls.of_one_each(0)
        n_relations = int(queries[:, RELATION].max()) + 1
        keys = queries[:, SUBJECT].astype(np.int64) * n_relations + queries[:, RELATION]
        _, first_places, key_numbers = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first_places[key_numbers], kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        return cls(order=order, starts=np.append(starts, len(queries)))

    @classmethod
    def of_one_each(cls, n: int) -> "QueryGroups":
        """Leave every query on its own."""
        return cls(order=np.arange(n), starts=np.arange(n + 1))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def members(self, groups: slice) -> slice:
        """Return which part of the order some groups are."""
        return slice(int(self.starts[groups.start]), int(self.starts[groups.stop]))

    def rows(self, groups: slice) -> npt.NDArray[np.int64]:
        """Return for each member the number of its group, the first of `groups` being 0."""
        sizes = np.diff(self.starts[groups.start : groups.stop + 1])
        return np.repeat(np.arange(len(sizes)), sizes)
