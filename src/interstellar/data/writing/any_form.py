"""A graph in any of the forms in which it can be read."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import assert_never

import numpy as np

from interstellar.data.forms.one_graph import is_named
from interstellar.data.frames import tabulate
from interstellar.data.graph import SPLITS, AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.iri_names import BASE
from interstellar.data.reading.files import FileForm, form_of, plain_name
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.writing.one_file import write_table
from interstellar.data.writing.one_graph import write_openke, write_split_files, write_splits
from interstellar.data.writing.two_graphs import keeps_valid_in_rsn, write_openea, write_rsn
from interstellar.errors import SettingsError
from interstellar.records.safe_files import new_folder


class GraphForm(StrEnum):
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


FILE_FORMS = {
    GraphForm.TSV: FileForm.TSV,
    GraphForm.CSV: FileForm.CSV,
    GraphForm.PARQUET: FileForm.PARQUET,
    GraphForm.N_TRIPLES: FileForm.N_TRIPLES,
    GraphForm.TURTLE: FileForm.TURTLE,
}
PAIR_FORMS = (GraphForm.OPENEA, GraphForm.RSN)


@dataclass(frozen=True, slots=True)
class Written:
    """Where a graph lies now, and what of it is not there."""

    path: Path
    form: GraphForm
    notes: tuple[str, ...]


def write_text(graph: AnyGraph, folder: Path) -> Path:
    """Write a graph into a new folder of plain text; nothing is left behind if that fails."""
    return write_graph(graph, folder, form=GraphForm.TEXT).path


def write_graph(
    graph: AnyGraph, path: Path, *, form: str | None = None, base: str = BASE
) -> Written:
    """Write a graph to a new file or folder; nothing is left behind if that fails.

    Args:
        graph: One graph with splits, or two with pairs.
        path: Must not exist. By its ending one file; without one a folder.
        form: text, openke, openea or rsn for a folder; tsv, csv, parquet, nt or ttl for a file, or
            for the three files of a folder. Unless said by the ending, or text.
        base: What the IRIs begin with that RDF has for plain names.
    """
    chosen = choose_form(graph, path, form)
    if path.exists():
        raise SettingsError(f"{path} exists, and nothing is overwritten. Choose a new name.")
    is_file = chosen in FILE_FORMS and form_of_ending(path) is not None
    if is_file:
        table = tabulate(graph)
        is_rdf = chosen in (GraphForm.N_TRIPLES, GraphForm.TURTLE)
        write_table(table.drop(["split"]) if is_rdf else table, path, FILE_FORMS[chosen], base)
    else:
        with new_folder(path) as draft:
            write_folder(graph, draft, chosen, base)
    return Written(path, chosen, tuple(list_losses(graph, chosen, is_file=is_file)))


def choose_form(graph: AnyGraph, path: Path, form: str | None) -> GraphForm:
    """Return the form that is asked for or that the ending promises; refuse what does not fit."""
    if form is not None and form not in tuple(GraphForm):
        raise SettingsError(f"form {form!r} is unknown. Choose {', '.join(GraphForm)}.")
    ending = form_of_ending(path)
    if form is None and ending is None and path.suffix:
        raise SettingsError(
            f"{path.name} ends in {path.suffix!r}, which is no form of a graph. Use one of "
            f"{', '.join(f'.{each}' for each in FILE_FORMS)}, or say the form of a folder: text, "
            "openke, openea or rsn."
        )
    chosen = GraphForm(form or ending or GraphForm.TEXT)
    if ending is not None and chosen is not ending:
        raise SettingsError(
            f"{path.name} has the ending of {ending}, but {chosen} is to be written. "
            "Change one of them, or choose a name without an ending for a folder."
        )
    if isinstance(graph, GraphPair) and chosen is GraphForm.TEXT:
        chosen = GraphForm.OPENEA
    if isinstance(graph, GraphPair) != (chosen in PAIR_FORMS):
        what, fitting = (
            ("two graphs with known pairs", "openea or rsn, into a folder")
            if isinstance(graph, GraphPair)
            else ("one graph", "any form but openea and rsn")
        )
        raise SettingsError(f"{graph.name} is {what}, which {chosen} is not for. Write {fitting}.")
    return chosen


def form_of_ending(path: Path) -> GraphForm | None:
    """Return the form of a single file that a name promises, or None for that of a folder."""
    if not Path(plain_name(path)).suffix:
        return None
    found = form_of(path)
    return next((form for form, file_form in FILE_FORMS.items() if file_form is found), None)


def write_folder(graph: AnyGraph, folder: Path, form: GraphForm, base: str) -> None:
    """Write a graph into an empty folder."""
    if isinstance(graph, GraphPair):
        (write_rsn if form is GraphForm.RSN else write_openea)(graph, folder)
        return
    match form:
        case GraphForm.TEXT:
            write_splits(graph, folder)
        case GraphForm.OPENKE:
            write_openke(graph, folder)
        case (
            GraphForm.TSV
            | GraphForm.CSV
            | GraphForm.PARQUET
            | GraphForm.N_TRIPLES
            | GraphForm.TURTLE
        ):
            write_split_files(graph, folder, FILE_FORMS[form], f".{form}", base)
        case GraphForm.OPENEA | GraphForm.RSN:
            raise AssertionError("choose_form refuses these for one graph")
        case _:
            assert_never(form)


def list_losses(graph: AnyGraph, form: GraphForm, *, is_file: bool) -> Iterator[str]:
    """Yield a sentence on everything that a form has no place for."""
    if isinstance(graph, GraphPair):
        if form is GraphForm.RSN and not keeps_valid_in_rsn(graph):
            yield (
                "RSN's form cuts valid off as the first tenth of the reference pairs, so valid and "
                "test will be others."
            )
        if form is GraphForm.OPENEA:
            for side in (graph.first, graph.second):
                yield from list_unnamed(side, side.triplets)
        return
    if is_file and form in (GraphForm.N_TRIPLES, GraphForm.TURTLE):
        yield "RDF has no place for splits in one file: whoever reads it splits it anew."
    if graph.answers is not None and (is_file or form is GraphForm.OPENKE):
        yield "the entities among which test queries choose are not kept in this form."
    if form is not GraphForm.OPENKE:
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
