"""Graphs as frames of pandas, polars or Arrow: what `load` takes in, given out again."""

from enum import StrEnum
from importlib import import_module
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.graph import SPLITS, AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import SettingsError

PAIR_SPLITS = ("seeds", "valid", "test")


class FrameLibrary(StrEnum):
    """Whose frame."""

    ARROW = "arrow"
    PANDAS = "pandas"
    POLARS = "polars"


def to_frame(graph: AnyGraph, library: str = FrameLibrary.ARROW) -> Any:
    """Return the triplets of a graph by name.

    Columns are subject, relation, object and split; of two graphs subject, relation, object and
    graph (1 or 2), and their pairs are in `pairs_to_frame`.
    """
    return hand_over(tabulate(graph), library)


def pairs_to_frame(graph: GraphPair, library: str = FrameLibrary.ARROW) -> Any:
    """Return the known pairs of two graphs by name, in columns first, second and split."""
    parts = (graph.seeds, graph.valid, graph.test)
    pairs = np.concatenate(parts)
    columns = {
        "first": take_names(graph.first.entities, pairs[:, 0]),
        "second": take_names(graph.second.entities, pairs[:, 1]),
        "split": repeat_words(PAIR_SPLITS, [len(part) for part in parts]),
    }
    return hand_over(pa.table(columns), library)


def hand_over(table: pa.Table, library: str) -> Any:
    """Return an Arrow table as a frame of another library, which is imported only now."""
    if library not in tuple(FrameLibrary):
        raise SettingsError(f"library {library!r} is unknown. Choose {', '.join(FrameLibrary)}.")
    chosen = FrameLibrary(library)
    match chosen:
        case FrameLibrary.ARROW:
            return table
        case FrameLibrary.PANDAS:
            require(chosen)
            return table.to_pandas()
        case FrameLibrary.POLARS:
            return require(chosen).from_arrow(table)
        case _:
            assert_never(chosen)


def require(library: FrameLibrary) -> Any:
    """Return a library that need not be installed, or say how to install it."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{library} is not installed, but a frame of it is asked for. "
            f"Run `pip install {library}`, or ask for {FrameLibrary.ARROW}."
        ) from error


def tabulate(graph: AnyGraph) -> pa.Table:
    """Return all triplets of a graph by name, with the split or the graph that each belongs to."""
    if isinstance(graph, KnowledgeGraph):
        counts = [len(graph.split(split)) for split in SPLITS]
        triplets = np.concatenate([graph.split(split) for split in SPLITS])
        table = name_triplets(triplets, graph.entities, graph.relations)
        return table.append_column("split", repeat_words(SPLITS, counts))
    sides = [
        tabulate_side(side, number) for number, side in enumerate((graph.first, graph.second), 1)
    ]
    return pa.concat_tables(sides)


def tabulate_side(side: Graph, number: int) -> pa.Table:
    """Return the triplets of one graph of a pair."""
    table = name_triplets(side.triplets, side.entities, side.relations)
    return table.append_column("graph", pa.repeat(pa.scalar(number, pa.int8()), len(table)))


def name_triplets(triplets: Triplets, entities: Vocabulary, relations: Vocabulary) -> pa.Table:
    """Return triplets by name."""
    return pa.table(
        {
            "subject": take_names(entities, triplets[:, SUBJECT]),
            "relation": take_names(relations, triplets[:, RELATION]),
            "object": take_names(entities, triplets[:, OBJECT]),
        }
    )


def take_names(vocabulary: Vocabulary, ids: npt.NDArray[np.int32]) -> pa.Array:
    """Return the names of some ids."""
    return vocabulary.array.take(pa.array(ids))


def repeat_words(words: tuple[str, ...], counts: list[int]) -> pa.Array:
    """Return each word as often as its count says."""
    places = np.repeat(np.arange(len(words)), counts)
    return pa.array(words, pa.string()).take(pa.array(places))
