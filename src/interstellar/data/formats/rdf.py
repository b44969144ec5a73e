"""N-Triples and Turtle, read and written by pyoxigraph.

An IRI is the name as it stands; a blank node is `_:label`. A name that is no IRI is written as the
base followed by its letters, percent-encoded as in addresses of the web: `two words` becomes
`urn:interstellar:two%20words`, and an IRI that begins with our own base and is encoded in just
this way is read as the name it stands for. Literals are values, not entities: statements with one
are left out, and so are statements about statements (RDF-star); how many is said.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import quote, unquote

import pyarrow as pa
import pyoxigraph
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from interstellar.data.findings import Findings
from interstellar.data.formats.files import FileFormat, open_unpacked
from interstellar.data.formats.name_table import TRIPLET, NameTable, build_table, empty_table
from interstellar.errors import SettingsError

RDF_FORMATS = {FileFormat.N_TRIPLES: RdfFormat.N_TRIPLES, FileFormat.TURTLE: RdfFormat.TURTLE}
BASE = "urn:interstellar:"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
BLANK_NODE = re.compile(r"_:([A-Za-z0-9]+)")


def name_to_iri(name: str, base: str = BASE) -> str:
    """Return the IRI that stands for a name."""
    return base + quote(name, safe="")


def iri_to_name(iri: str) -> str:
    """Return the name that an IRI stands for."""
    if not iri.startswith(BASE):
        return iri
    name = unquote(iri.removeprefix(BASE))
    return name if name and name_to_iri(name) == iri else iri


@dataclass(slots=True)
class Statements:
    """What the statements of a file come to."""

    subjects: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    n_literals: int = 0
    n_quoted: int = 0
    """Statements about statements (RDF-star)."""
    labels: dict[str, str] = field(default_factory=dict)

    def add(self, statement: Triple, *, with_labels: bool) -> None:
        """Take one statement: a triplet, a label, or something to be counted."""
        subject, object_ = statement.subject, statement.object
        if isinstance(subject, Triple) or isinstance(object_, Triple):
            self.n_quoted += 1
        elif not isinstance(object_, Literal):
            self.subjects.append(name_resource(subject))
            self.relations.append(iri_to_name(statement.predicate.value))
            self.objects.append(name_resource(object_))
        elif with_labels and statement.predicate.value == LABEL:
            name = name_resource(subject)
            # An English label or one without a language, else the first.
            if name not in self.labels or object_.language in (None, "en"):
                self.labels[name] = object_.value
        else:
            self.n_literals += 1


def read_rdf(
    path: Path, format: FileFormat, findings: Findings, *, labels: bool = False
) -> NameTable:
    """Read the triplets between resources from an N-Triples or Turtle file.

    With `labels`, `rdfs:label` says what entities are called; otherwise it is a literal.
    """
    found = Statements()
    n_faults = len(findings.faults)
    with open_unpacked(path) as stream:
        for statement in parse(stream, path, format, findings):
            found.add(statement, with_labels=labels)
    for n, what in ((found.n_literals, "with a literal"), (found.n_quoted, "about statements")):
        if n:
            findings.note(f"{path.name}: {n:,} statements {what} were left out.")
    if not found.subjects:
        if len(findings.faults) == n_faults:
            findings.fault(path, None, "holds no triplet between two resources.")
        return empty_table(path, 3)
    names = (found.subjects, found.relations, found.objects)
    return build_table(path, names, range(1, len(found.subjects) + 1), found.labels)


def parse(
    stream: IO[bytes], path: Path, format: FileFormat, findings: Findings
) -> Iterator[Triple]:
    """Yield statements; record the syntax errors.

    N-Triples is parsed line by line, so that all faults are found. Turtle cannot be:
    what follows an error has no certain meaning.
    """
    pieces: Iterable[tuple[int | None, bytes | IO[bytes]]] = [(None, stream)]
    if format is FileFormat.N_TRIPLES:
        pieces = enumerate(io.BufferedReader(stream), 1)  # type: ignore[type-var]
    for line, piece in pieces:
        try:
            yield from pyoxigraph.parse(piece, RDF_FORMATS[format])
        except SyntaxError as error:
            what = error.msg.partition(": ")[2] or error.msg
            findings.fault(path, line or error.lineno, f"breaks the rules of {format}: {what}.")


def name_resource(term: NamedNode | BlankNode) -> str:
    """Return the name of a resource."""
    return iri_to_name(term.value) if isinstance(term, NamedNode) else f"_:{term.value}"


def write_rdf(
    table: pa.Table, file: IO[bytes], format: FileFormat, base: str | None = None
) -> None:
    """Write a table of subjects, relations and objects as statements."""
    base = BASE if base is None else base
    try:
        NamedNode(name_to_iri("name", base))
    except ValueError as error:
        raise SettingsError(
            f"base {base!r} is no beginning of an IRI ({error}). Give one such as {BASE} or "
            "https://example.org/."
        ) from None
    pyoxigraph.serialize(iterate_statements(table, base), file, RDF_FORMATS[format])


def iterate_statements(table: pa.Table, base: str) -> Iterator[Triple]:
    """Yield the rows of a table as statements; each name is turned into a term once."""
    columns = [table[name].combine_chunks().dictionary_encode() for name in TRIPLET.names]
    subjects, relations, objects = (column.dictionary.to_pylist() for column in columns)
    s_terms = [make_term(name, base) for name in subjects]
    r_terms = [name_iri(name, base) for name in relations]
    o_terms = [make_term(name, base) for name in objects]
    for s, r, o in zip(*(column.indices.to_pylist() for column in columns), strict=True):
        yield Triple(s_terms[s], r_terms[r], o_terms[o])


def make_term(name: str, base: str) -> NamedNode | BlankNode:
    """Return the resource that a name stands for."""
    blank = BLANK_NODE.fullmatch(name)
    return BlankNode(blank[1]) if blank else name_iri(name, base)


def name_iri(name: str, base: str) -> NamedNode:
    """Return the IRI that a name is, or that stands for it."""
    if not name.startswith((base, BASE)):
        try:
            return NamedNode(name)
        except ValueError:
            pass
    return NamedNode(name_to_iri(name, base))
