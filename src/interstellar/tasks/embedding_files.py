"""The three forms in which embeddings are written.

| form | a row |
| --- | --- |
| Parquet | columns kind, name, table, graph, is_inverse, vector (a list of dim float32) |
| TSV | a header; name, kind, table, graph, is_inverse, then dim numbers v1, v2 … |
| word2vec | first `n dim`; then the name as one word and dim numbers, separated by spaces |

Numbers are the shortest that read back to the same float32. Names in text are escaped as
`data/escaping.py` says. In a word-vector file, where a word stands once, `%graph1` or `%graph2`
follows a name that both graphs use, `%subject`, `%object` or `%relation` every name where several
tables are written, and `%inverse` an inverse.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import BinaryIO, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from interstellar.data.escaping import escape_lines, escape_words
from interstellar.tasks.embedding_tables import NamedVectors, Table

NUMBERS_AT_ONCE, ROWS_AT_ONCE = 2**20, 2**13
"""The most of one block: as text a number takes about twelve bytes, and names may be long."""


class EmbeddingForm(StrEnum):
    """How embeddings are written."""

    PARQUET = "parquet"
    TSV = "tsv"
    WORD2VEC = "word2vec"


def write_vectors(
    parts: list[NamedVectors], file: BinaryIO, form: EmbeddingForm, *, dim: int
) -> None:
    """Write tables one after the other, a block of rows at a time."""
    n_at_once = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // dim))
    blocks = (block for part in parts for block in part.iterate_blocks(n_at_once))
    match form:
        case EmbeddingForm.PARQUET:
            write_parquet(blocks, file, dim)
        case EmbeddingForm.TSV:
            write_tsv(blocks, file, dim)
        case EmbeddingForm.WORD2VEC:
            file.write(f"{sum(map(len, parts))} {dim}\n".encode())
            write_words(blocks, file, is_mixed=len({part.table for part in parts}) > 1)
        case _:
            assert_never(form)


def write_parquet(blocks: Iterable[NamedVectors], file: BinaryIO, dim: int) -> None:
    """Write the columns of Parquet, a block a row group."""
    schema = pa.schema(
        [
            ("kind", pa.string()),
            ("name", pa.string()),
            ("table", pa.string()),
            ("graph", pa.int8()),
            ("is_inverse", pa.bool_()),
            ("vector", pa.list_(pa.float32(), dim)),
        ]
    )
    with pq.ParquetWriter(file, schema) as writer:
        for block in blocks:
            constants = (block.table, block.graph, block.is_inverse)
            columns = [
                pa.repeat(pa.scalar(kind_of(block), pa.string()), len(block)),
                block.names,
                *(
                    pa.repeat(pa.scalar(value, schema.field(place + 2).type), len(block))
                    for place, value in enumerate(constants)
                ),
                pa.FixedSizeListArray.from_arrays(flat_numbers(block), dim),
            ]
            writer.write_batch(pa.record_batch(columns, schema))


def write_tsv(blocks: Iterable[NamedVectors], file: BinaryIO, dim: int) -> None:
    """Write a header and a line a row."""
    header = ["name", "kind", "table", "graph", "is_inverse"]
    header += [f"v{place}" for place in range(1, dim + 1)]
    file.write(("\t".join(header) + "\n").encode())
    for block in blocks:
        facts = (kind_of(block), block.table, block.graph, block.is_inverse)
        middle = "\t".join(str(fact).lower() for fact in facts)
        names, numbers = escape_lines(block.names), join_numbers(block, "\t")
        write_lines(pc.binary_join_element_wise(names, middle, numbers, "\t"), file)


def write_words(blocks: Iterable[NamedVectors], file: BinaryIO, *, is_mixed: bool) -> None:
    """Write a line a row: a word, then numbers."""
    for block in blocks:
        words = mark_words(block, is_mixed=is_mixed)
        write_lines(pc.binary_join_element_wise(words, join_numbers(block, " "), " "), file)


def mark_words(block: NamedVectors, *, is_mixed: bool) -> pa.Array:
    """Return the names as words, each with the marks that it needs to be the only one."""
    words = escape_words(block.names)
    of_graph = pc.binary_join_element_wise(words, f"%graph{block.graph}", "")
    words = pc.if_else(block.is_shared, of_graph, words)
    marks = f"%{block.table.removesuffix('s')}" if is_mixed else ""
    marks += "%inverse" if block.is_inverse else ""
    return pc.binary_join_element_wise(words, marks, "")


def kind_of(block: NamedVectors) -> str:
    """Return what the rows stand for."""
    return "relation" if block.table is Table.RELATIONS else "entity"


def flat_numbers(block: NamedVectors) -> pa.Array:
    """Return the numbers of all rows, one after the other."""
    return pa.array(block.vectors.cpu().numpy().astype(np.float32, copy=False).ravel())


def join_numbers(block: NamedVectors, separator: str) -> pa.Array:
    """Return the numbers of each row as one piece of text."""
    texts = flat_numbers(block).cast(pa.string())
    n_rows, dim = block.vectors.shape
    bounds = pa.array(np.arange(0, (n_rows + 1) * dim, dim, dtype=np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(bounds, texts), separator)


def write_lines(lines: pa.Array, file: BinaryIO) -> None:
    """Write each text on a line of its own."""
    ended = pc.binary_join_element_wise(lines, "\n", "")
    file.write(ended.buffers()[2].slice(0, int(pc.sum(pc.binary_length(ended)).as_py())))
