"""Any graph as plain text: splits of names, or OpenEA's folder for a pair.

What is written here can be read back by `load`, and by most other libraries.
"""

import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.forms.one_graph import ANSWERS_FILE
from interstellar.data.forms.openea import FOLDS
from interstellar.data.graph import SPLITS, AnyGraph, Graph, GraphPair, KnowledgeGraph
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.vocabulary import Vocabulary
from interstellar.errors import DataError
from interstellar.records.safe_files import new_folder

UNWRITABLE = re.compile(r"[\t\r\n]")


def write_text(graph: AnyGraph, folder: Path) -> Path:
    """Write a graph into a new folder; nothing is left behind if that fails."""
    with new_folder(folder) as draft:
        if isinstance(graph, KnowledgeGraph):
            write_splits(graph, draft)
        else:
            write_pair(graph, draft)
    return folder


def write_splits(graph: KnowledgeGraph, folder: Path) -> None:
    """Write train.txt, valid.txt, test.txt, and the answers of a Countries set."""
    for split in SPLITS:
        write_triplets(graph.split(split), graph.entities, graph.relations, folder / f"{split}.txt")
    if graph.answers is not None:
        write_columns([take(graph.entities, graph.answers)], folder / ANSWERS_FILE)


def write_pair(graph: GraphPair, folder: Path) -> None:
    """Write the two graphs and the links of one fold in OpenEA's layout."""
    for number, side in enumerate((graph.first, graph.second), 1):
        write_triplets(
            side.triplets, side.entities, side.relations, folder / f"rel_triples_{number}"
        )
    fold = folder / FOLDS / "1"
    fold.mkdir(parents=True)
    splits = {"train": graph.seeds, "valid": graph.valid, "test": graph.test}
    for split, pairs in splits.items():
        write_links(pairs, graph.first, graph.second, fold / f"{split}_links")
    write_links(
        np.concatenate(list(splits.values())), graph.first, graph.second, folder / "ent_links"
    )


def write_triplets(
    triplets: Triplets, entities: Vocabulary, relations: Vocabulary, path: Path
) -> None:
    """Write one file of triplets by name."""
    names = (
        take(entities, triplets[:, SUBJECT]),
        take(relations, triplets[:, RELATION]),
        take(entities, triplets[:, OBJECT]),
    )
    write_columns(list(names), path)


def write_links(pairs: npt.NDArray[np.int32], first: Graph, second: Graph, path: Path) -> None:
    """Write one file of pairs by name."""
    write_columns([take(first.entities, pairs[:, 0]), take(second.entities, pairs[:, 1])], path)


def take(vocabulary: Vocabulary, ids: npt.NDArray[np.int32]) -> pa.Array:
    """Return the names of some ids; refuse those that a line of text cannot hold."""
    names = vocabulary.array.take(pa.array(ids))
    unwritable = pc.index(pc.match_substring_regex(names, UNWRITABLE.pattern), value=True).as_py()
    if unwritable >= 0:
        raise DataError(
            f"the name {names[unwritable].as_py()[:80]!r} holds a tab or a line break, which "
            "a line of tab-separated text cannot. Rename it before converting."
        )
    return names


def write_columns(columns: list[pa.Array], path: Path) -> None:
    """Write names side by side, separated by tabs, unquoted, one row a line."""
    lines = pc.binary_join_element_wise(*columns, "\t") if len(columns) > 1 else columns[0]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines.to_pylist())
        file.flush()
        os.fsync(file.fileno())
