"""Triplets (subject, relation, object) as rows of an integer array.

Every function here takes and returns arrays of shape (n, 3) and dtype int32.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Triplets: TypeAlias = npt.NDArray[np.int32]
"""Shape (n, 3): subject id, relation id, object id."""

SUBJECT, RELATION, OBJECT = 0, 1, 2


def no_triplets() -> Triplets:
    """Return an array of no rows."""
    return np.empty((0, 3), dtype=np.int32)


def distinct_triplets(triplets: Triplets) -> Triplets:
    """Return each triplet once, where it first stood."""
    keys = triplet_keys(triplets)
    if len(keys) == 0 or not has_repeats(keys):
        return triplets
    _, first_rows = np.unique(keys, return_index=True)
    return triplets[np.sort(first_rows)]


def triplet_keys(triplets: Triplets) -> npt.NDArray[np.int64]:
    """Return one integer per row; rows with equal integers are equal.

    The largest key must fit 63 bits: 10 million entities with 90,000 relations do.
    """
    if len(triplets) == 0:
        return np.empty(0, dtype=np.int64)
    n_entities = 1 + int(max(triplets[:, SUBJECT].max(), triplets[:, OBJECT].max()))
    n_relations = 1 + int(triplets[:, RELATION].max())
    return pack_keys(triplets, n_entities=n_entities, n_relations=n_relations)


def pack_keys(triplets: Triplets, *, n_entities: int, n_relations: int) -> npt.NDArray[np.int64]:
    """Return (s · n_relations + r) · n_entities + o, which sorts as the triplets do."""
    assert n_entities**2 * n_relations < 2**63, "the graph is too large for 64-bit keys"
    keys = triplets[:, SUBJECT].astype(np.int64)
    keys *= n_relations
    keys += triplets[:, RELATION]
    keys *= n_entities
    keys += triplets[:, OBJECT]
    return keys


def has_repeats(keys: npt.NDArray[np.int64]) -> bool:
    """Return whether any key occurs twice.

    Equal keys fall into the same slot of a hash table, which remembers the last of its keys.
    A key that is not the last of its slot repeats either the last one or another that is not
    the last; there are few of them, so only they are compared and sorted.
    """
    n_bits = max(1, (2 * len(keys)).bit_length())
    slots = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    slots >>= np.uint64(64 - n_bits)
    rows = np.arange(len(keys), dtype=np.int32)
    last_rows = np.empty(2**n_bits, dtype=np.int32)
    last_rows[slots.view(np.int64)] = rows
    last = last_rows[slots.view(np.int64)]
    others = np.flatnonzero(last != rows)
    if (keys[others] == keys[last[others]]).any():
        return True
    ordered = np.sort(keys[others])
    return bool((ordered[1:] == ordered[:-1]).any())


def with_inverses(triplets: Triplets, n_relations: int) -> Triplets:
    """Append (o, r + n_relations, s) for every (s, r, o), so that all walks can go back."""
    inverse = triplets[:, [OBJECT, RELATION, SUBJECT]]
    inverse[:, RELATION] += n_relations
    return np.concatenate([triplets, inverse])
