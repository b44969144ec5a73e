"""One file of triplets or pairs, whatever its form."""

from pathlib import Path
from typing import assert_never

from interstellar.data.findings import Findings
from interstellar.data.reading.columns import PAIR, TRIPLET, Columns
from interstellar.data.reading.delimited import read_text
from interstellar.data.reading.files import FORM_BY_SUFFIX, FileForm, form_of
from interstellar.data.reading.frames import read_parquet
from interstellar.data.reading.name_table import NameTable, empty_table


def read_triplets(path: Path, findings: Findings) -> NameTable:
    """Read subject, relation and object by the form that the file's name promises."""
    form = form_of(path)
    if form in (FileForm.N_TRIPLES, FileForm.TURTLE):
        return read_statements(path, form, findings)
    return read_table(path, TRIPLET, findings)


def read_pairs(path: Path, findings: Findings) -> NameTable:
    """Read pairs of entities; in RDF they are the two ends of statements such as sameAs."""
    form = form_of(path)
    if form in (FileForm.N_TRIPLES, FileForm.TURTLE):
        table = read_statements(path, form, findings)
        ends = (table.columns[0], table.columns[2])
        return NameTable(file=path, columns=ends, list_lines=table.list_lines)
    return read_table(path, PAIR, findings)


def read_statements(path: Path, form: FileForm, findings: Findings) -> NameTable:
    """Read the statements of an RDF file."""
    from interstellar.data.reading.rdf import read_rdf  # noqa: PLC0415 (only RDF needs pyoxigraph)

    return read_rdf(path, form, findings)


def read_table(path: Path, columns: Columns, findings: Findings) -> NameTable:
    """Read the wanted columns of a text or Parquet file."""
    form = form_of(path)
    match form:
        case FileForm.TSV | FileForm.CSV:
            return read_text(path, form, columns, findings)
        case FileForm.PARQUET:
            return read_parquet(path, columns, findings)
        case FileForm.N_TRIPLES | FileForm.TURTLE | None:
            endings = ", ".join(suffix for suffix in FORM_BY_SUFFIX if suffix)
            findings.fault(
                path,
                None,
                f"ends in {path.suffix!r}. Files of triplets and pairs end in one of {endings}, "
                "optionally followed by .gz, .xz or .zst.",
            )
            return empty_table(path, len(columns))
        case _:
            assert_never(form)
