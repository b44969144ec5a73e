"""N-Triples and Turtle, parsed by pyoxigraph.

An IRI becomes the name as it stands, unless we made it of a name (`data/iri_names.py`); a blank
node becomes `_:label`. Literals are values, not
entities: triplets with one are left out, and how many is said.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyoxigraph

from interstellar.data.findings import Findings
from interstellar.data.iri_names import iri_to_name
from interstellar.data.reading.files import (
    UNPACKING_ERRORS,
    FileForm,
    is_readable_file,
    open_unpacked,
    record_damage,
)
from interstellar.data.reading.name_table import NameTable, as_names, empty_table


def read_rdf(path: Path, form: FileForm, findings: Findings) -> NameTable:
    """Read the triplets between resources from an N-Triples or Turtle file."""
    if not is_readable_file(path, findings):
        return empty_table(path, 3)
    names: tuple[list[str], list[str], list[str]] = ([], [], [])
    n_literals = 0
    n_faults = len(findings.faults)
    try:
        with open_unpacked(path) as stream:
            for statement in parse(stream, path, form, findings):
                triplet = name_parts(statement)
                if triplet is None:
                    n_literals += 1
                    continue
                for column, name in zip(names, triplet, strict=True):
                    column.append(name)
    except UNPACKING_ERRORS as error:
        record_damage(path, error, findings)
    if n_literals:
        findings.note(f"{path.name}: {n_literals:,} statements with a literal were left out.")
    if not names[0]:
        if len(findings.faults) == n_faults:
            findings.fault(path, None, "holds no triplet between two resources.")
        return empty_table(path, 3)
    columns = tuple(as_names(pa.array(column, pa.string())) for column in names)
    return NameTable(file=path, columns=columns, list_lines=lambda: range(1, len(names[0]) + 1))


def parse(
    stream: IO[bytes], path: Path, form: FileForm, findings: Findings
) -> Iterator[pyoxigraph.Triple]:
    """Yield statements; record the syntax errors.

    N-Triples is parsed line by line, so that all faults are found. Turtle cannot be:
    what follows an error has no certain meaning.
    """
    if form is FileForm.N_TRIPLES:
        for line, text in enumerate(io.BufferedReader(stream), 1):  # type: ignore[type-var]
            yield from parse_piece(text, path, form, findings, line)
    else:
        yield from parse_piece(stream, path, form, findings, None)


def parse_piece(
    piece: bytes | IO[bytes], path: Path, form: FileForm, findings: Findings, line: int | None
) -> Iterator[pyoxigraph.Triple]:
    """Yield the statements of one line or file; record a syntax error as a fault."""
    is_lines = form is FileForm.N_TRIPLES
    format_ = pyoxigraph.RdfFormat.N_TRIPLES if is_lines else pyoxigraph.RdfFormat.TURTLE
    try:
        yield from pyoxigraph.parse(piece, format_)
    except SyntaxError as error:
        what = error.msg.partition(": ")[2] or error.msg
        findings.fault(path, line or error.lineno, f"breaks the rules of {form}: {what}.")


def name_parts(statement: pyoxigraph.Triple) -> tuple[str, str, str] | None:
    """Return the three names of a statement, or None where the object is a literal."""
    subject, object_ = name_term(statement.subject), name_term(statement.object)
    if subject is None or object_ is None:
        return None
    return subject, iri_to_name(statement.predicate.value), object_


def name_term(term: object) -> str | None:
    """Return the name of a resource, or None for a literal or a quoted triple."""
    if isinstance(term, pyoxigraph.NamedNode):
        return iri_to_name(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return f"_:{term.value}"
    return None
