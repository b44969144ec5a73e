"""N-Triples and Turtle, written by pyoxigraph.

An IRI is written as it stands, and so is a blank node; any other name becomes an IRI, as
`data/iri_names.py` says.
"""

import re
from collections.abc import Iterable, Iterator
from typing import IO

import pyarrow as pa
import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple

from interstellar.data.iri_names import BASE, name_to_iri
from interstellar.data.reading.files import FileForm
from interstellar.errors import SettingsError

BLANK_NODE = re.compile(r"_:([A-Za-z0-9]+)")


def write_rdf(table: pa.Table, file: IO[bytes], form: FileForm, base: str) -> None:
    """Write a table of subjects, relations and objects as statements."""
    refuse_base(base)
    is_lines = form is FileForm.N_TRIPLES
    kind = RdfFormat.N_TRIPLES if is_lines else RdfFormat.TURTLE
    pyoxigraph.serialize(iterate_statements(table, base), file, kind)


def iterate_statements(table: pa.Table, base: str) -> Iterator[Triple]:
    """Yield the rows of a table as statements; each name is turned into a term once."""
    columns = [table[name].combine_chunks().dictionary_encode() for name in TERMS]
    subjects, relations, objects = (column.dictionary.to_pylist() for column in columns)
    s_terms = list(name_resources(subjects, base))
    r_terms = [name_iri(name, base) for name in relations]
    o_terms = list(name_resources(objects, base))
    for s, r, o in zip(*(column.indices.to_pylist() for column in columns), strict=True):
        yield Triple(s_terms[s], r_terms[r], o_terms[o])


TERMS = ("subject", "relation", "object")


def name_resources(names: Iterable[str], base: str) -> Iterator[NamedNode | BlankNode]:
    """Yield the resource that each name stands for."""
    for name in names:
        blank = BLANK_NODE.fullmatch(name)
        yield BlankNode(blank[1]) if blank else name_iri(name, base)


def name_iri(name: str, base: str) -> NamedNode:
    """Return the IRI that a name is, or that stands for it."""
    if not name.startswith((base, BASE)):
        try:
            return NamedNode(name)
        except ValueError:
            pass
    return NamedNode(name_to_iri(name, base))


def refuse_base(base: str) -> None:
    """Raise where no IRI can begin with a base."""
    try:
        NamedNode(name_to_iri("name", base))
    except ValueError as error:
        raise SettingsError(
            f"base {base!r} is no beginning of an IRI ({error}). Give one such as {BASE} or "
            "https://example.org/."
        ) from None
