"""A graph written in any of the formats in which it can be read.

What is written reads back to the same graph, or is refused; it is there whole or not at all. What
a format has no place for is said in notes.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from interstellar.data.formats.files import FileFormat, format_of, plain_name
from interstellar.data.formats.numbered_folders import keeps_valid_in_rsn, write_openke, write_rsn
from interstellar.data.formats.one_graph import is_named, write_file, write_splits
from interstellar.data.formats.two_graphs import write_openea
from interstellar.data.graph import SPLITS, AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.tables import tabulate
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.errors import SettingsError
from interstellar.records.safe_files import new_folder


class GraphFormat(StrEnum):
    """How a graph is laid out."""

    TEXT = "text"
    """A folder: train.txt, valid.txt, test.txt; of two graphs OpenEA's."""
    TSV = "tsv"
    CSV = "csv"
    PARQUET = "parquet"
    N_TRIPLES = "nt"
    TURTLE = "ttl"
    OPENKE = "openke"
    RSN = "rsn"
    OPENEA = "openea"


FILE_FORMATS = {
    GraphFormat.TSV: FileFormat.TSV,
    GraphFormat.CSV: FileFormat.CSV,
    GraphFormat.PARQUET: FileFormat.PARQUET,
    GraphFormat.N_TRIPLES: FileFormat.N_TRIPLES,
    GraphFormat.TURTLE: FileFormat.TURTLE,
}
PAIR_FORMATS = (GraphFormat.OPENEA, GraphFormat.RSN)
RDF_FORMATS = (GraphFormat.N_TRIPLES, GraphFormat.TURTLE)


@dataclass(frozen=True, slots=True)
class Written:
    """Where a graph lies now, and what of it is not there."""

    path: Path
    format: GraphFormat
    notes: tuple[str, ...]


def write_text(graph: AnyGraph, folder: Path) -> Path:
    """Write a graph into a new folder of plain text; nothing is left behind if that fails."""
    return write_graph(graph, folder, format=GraphFormat.TEXT).path


def write_graph(
    graph: AnyGraph, path: Path, *, format: str | None = None, base: str | None = None
) -> Written:
    """Write a graph to a new file or folder; nothing is left behind if that fails.

    Args:
        graph: One graph with splits, or two with pairs.
        path: Must not exist. With an ending it is one file, without one a folder.
        format: text, openke, openea or rsn for a folder; tsv, csv, parquet, nt or ttl for a file,
            or for the three files of a folder. Without it the ending decides, or it is text.
        base: What the IRIs begin with that RDF has for plain names (urn:interstellar:).
    """
    chosen = choose_format(graph, path, format)
    if os.path.lexists(path):  # Path.exists raises where a name is too long
        raise SettingsError(f"{path} exists, and nothing is overwritten. Choose a new name.")
    is_file = chosen in FILE_FORMATS and format_of_ending(path) is not None
    if is_file:
        table = tabulate(graph)
        without_splits = table.drop_columns(["split"]) if chosen in RDF_FORMATS else table
        write_file(without_splits, path, FILE_FORMATS[chosen], base)
    else:
        with new_folder(path) as draft:
            write_folder(graph, draft, chosen, base)
    return Written(path, chosen, tuple(list_losses(graph, chosen, is_file=is_file)))


def choose_format(graph: AnyGraph, path: Path, format: str | None) -> GraphFormat:
    """Return the format asked for or promised by the ending; refuse what does not fit."""
    if format is not None and format not in tuple(GraphFormat):
        raise SettingsError(f"format {format!r} is unknown. Choose {', '.join(GraphFormat)}.")
    ending = format_of_ending(path)
    if format is None and ending is None and path.suffix:
        raise SettingsError(
            f"{path.name} ends in {path.suffix!r}, which is no format of a graph. Use one of "
            f"{', '.join(f'.{each}' for each in FILE_FORMATS)}, or give the format of a folder: "
            "text, openke, openea or rsn."
        )
    chosen = GraphFormat(format or ending or GraphFormat.TEXT)
    if ending is not None and chosen is not ending:
        raise SettingsError(
            f"{path.name} has the ending of {ending}, but {chosen} is to be written. "
            "Change one of them, or choose a name without an ending for a folder."
        )
    if isinstance(graph, GraphPair) and chosen is GraphFormat.TEXT:
        chosen = GraphFormat.OPENEA
    if isinstance(graph, GraphPair) != (chosen in PAIR_FORMATS):
        what, fitting = (
            ("two graphs with known pairs", "openea or rsn, into a folder")
            if isinstance(graph, GraphPair)
            else ("one graph", "any format but openea and rsn")
        )
        raise SettingsError(f"{graph.name} is {what}, which {chosen} is not for. Write {fitting}.")
    return chosen


def format_of_ending(path: Path) -> GraphFormat | None:
    """Return the format of a single file that a name promises, or None for that of a folder."""
    if not Path(plain_name(path)).suffix:
        return None
    found = format_of(path)
    return next((mine for mine, each in FILE_FORMATS.items() if each is found), None)


def write_folder(graph: AnyGraph, folder: Path, format: GraphFormat, base: str | None) -> None:
    """Write a graph into an empty folder."""
    if isinstance(graph, GraphPair):
        (write_rsn if format is GraphFormat.RSN else write_openea)(graph, folder)
        return
    if format is GraphFormat.OPENKE:
        write_openke(graph, folder)
    else:
        ending = "txt" if format is GraphFormat.TEXT else format
        write_splits(graph, folder, f".{ending}", FILE_FORMATS.get(format), base)


def list_losses(graph: AnyGraph, format: GraphFormat, *, is_file: bool) -> Iterator[str]:
    """Yield a sentence on everything that a format has no place for."""
    if isinstance(graph, GraphPair):
        if format is GraphFormat.RSN and not keeps_valid_in_rsn(graph):
            yield (
                "RSN's format cuts valid off as the first tenth of the reference pairs, so valid "
                "and test will be others."
            )
        if format is GraphFormat.OPENEA:
            for side in (graph.source, graph.target):
                yield from list_unnamed(side, side.triplets)
        return
    if is_file and format in RDF_FORMATS:
        yield "RDF has no place for splits in one file: whoever reads it splits it anew."
    if graph.answers is not None and (is_file or format is GraphFormat.OPENKE):
        yield "the entities among which test queries choose are not kept in this format."
    if format is not GraphFormat.OPENKE:
        yield from list_unnamed(graph, np.concatenate([graph.split(split) for split in SPLITS]))


def list_unnamed(side: Graph | KnowledgeGraph, triplets: Triplets) -> Iterator[str]:
    """Yield how many entities and relations are in no triplet, and so in no file of triplets."""
    for noun, vocabulary, places in (
        ("entities", side.entities, (SUBJECT, OBJECT)),
        ("relations", side.relations, (RELATION,)),
    ):
        n_unnamed = int((~is_named(triplets, places, len(vocabulary))).sum())
        if n_unnamed:
            yield f"{n_unnamed:,} {noun} that are in no triplet are not in the files."
