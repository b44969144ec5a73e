"""Names become numbers: vocabularies and triplets out of tables of names."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.reading.name_table import NameTable
from interstellar.data.triplets import Triplets, distinct_triplets
from interstellar.data.vocabulary import Vocabulary


def number_tables(tables: Sequence[NameTable]) -> tuple[Vocabulary, Vocabulary, list[Triplets]]:
    """Number entities and relations by first appearance, table after table.

    Training comes first, so what is unseen in training has the highest numbers.
    """
    entity_columns = [table.columns[place] for table in tables for place in (0, 2)]
    relation_columns = [table.columns[1] for table in tables]
    with ThreadPoolExecutor(2) as pool:  # Arrow lets go of the interpreter while it hashes
        numbered = pool.map(number_columns, (entity_columns, relation_columns))
    (entities, entity_ids), (relations, relation_ids) = numbered
    triplets = [
        np.stack([entity_ids[2 * i], relation_ids[i], entity_ids[2 * i + 1]], axis=1)
        for i in range(len(tables))
    ]
    return entities, relations, triplets


def number_columns(
    columns: Sequence[pa.ChunkedArray],
) -> tuple[Vocabulary, list[npt.NDArray[np.int32]]]:
    """Return one vocabulary for all columns, and each column as ids."""
    chunks = [chunk for column in columns for chunk in column.chunks if len(chunk)]
    if not chunks:
        return Vocabulary([]), [np.empty(0, np.int32) for _ in columns]
    unified = pa.chunked_array(chunks).dictionary_encode().unify_dictionaries()
    ids = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])
    ends = np.cumsum([len(column) for column in columns])
    vocabulary = Vocabulary(unified.chunk(0).dictionary)
    return vocabulary, np.split(ids.astype(np.int32, copy=False), ends[:-1])


def keep_distinct(triplets: Triplets, place: str, findings: Findings) -> Triplets:
    """Return each triplet once, and say how many were dropped."""
    kept = distinct_triplets(triplets)
    n_dropped = len(triplets) - len(kept)
    if n_dropped:
        noun = "triplet was" if n_dropped == 1 else "triplets were"
        findings.note(f"{place}: {n_dropped:,} duplicate {noun} dropped (each is kept once).")
    return kept
