"""Triplets in one file: tab- or comma-separated text, Parquet, N-Triples or Turtle.

Text and Parquet have columns subject, relation, object and, where splits are to be kept, split.
RDF has no place for splits. The file's name may end in .gz, .xz or .zst.
"""

import io
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, assert_never

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from interstellar.data.reading.files import FileForm
from interstellar.data.writing.text_lines import write_lines
from interstellar.records.safe_files import replacing_file

PACKING_BY_SUFFIX = {".gz": "gzip", ".zst": "zstd"}


def write_table(table: pa.Table, path: Path, form: FileForm, base: str) -> None:
    """Write triplets by name into a file, whole or not at all.

    Args:
        table: Columns subject, relation, object and perhaps split.
        path: The file to write.
        form: How to write it.
        base: What the IRIs begin with that RDF has for plain names.
    """
    with replacing_file(path) as file, packing(file, path) as stream:
        match form:
            case FileForm.TSV:
                columns = [column.combine_chunks() for column in table.columns]
                write_lines(columns, stream, header=table.column_names)
            case FileForm.CSV:
                pyarrow.csv.write_csv(table, stream)
            case FileForm.PARQUET:
                pyarrow.parquet.write_table(table, stream)
            case FileForm.N_TRIPLES | FileForm.TURTLE:
                from interstellar.data.writing.rdf import write_rdf  # noqa: PLC0415 (pyoxigraph)

                write_rdf(table, stream, form, base)
            case _:
                assert_never(form)


@contextmanager
def packing(file: BinaryIO, path: Path) -> Iterator[IO[bytes]]:
    """Give a stream that packs what is written, as the file's name promises."""
    suffix = path.suffix.lower()
    if suffix == ".xz":
        with lzma.open(file, "wb") as stream:
            yield stream
    elif suffix in PACKING_BY_SUFFIX:
        own = io.FileIO(os.dup(file.fileno()), "wb")  # Arrow closes what it writes to
        with pa.CompressedOutputStream(own, PACKING_BY_SUFFIX[suffix]) as stream:
            yield stream
    else:
        yield file
