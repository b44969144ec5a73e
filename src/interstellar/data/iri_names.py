"""Names as IRIs, and back: how a graph of plain names is written as RDF.

A name that is no IRI becomes the base followed by its letters, percent-encoded as in addresses
of the web: `two words` is `urn:interstellar:two%20words`. An IRI that begins with our own base
and is encoded in just this way is read as the name it stands for; any other IRI is its own name.
"""

from urllib.parse import quote, unquote

BASE = "urn:interstellar:"


def name_to_iri(name: str, base: str = BASE) -> str:
    """Return the IRI that stands for a name."""
    return base + quote(name, safe="")


def iri_to_name(iri: str) -> str:
    """Return the name that an IRI stands for."""
    if not iri.startswith(BASE):
        return iri
    name = unquote(iri.removeprefix(BASE))
    return name if name and name_to_iri(name) == iri else iri
