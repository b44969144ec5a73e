"""Folders of one graph: train, valid and test by name, or by id as OpenKE has them."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from interstellar.data.forms.one_graph import ANSWERS_FILE
from interstellar.data.frames import name_triplets, take_names
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.reading.files import FileForm
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT
from interstellar.data.vocabulary import Vocabulary
from interstellar.data.writing.one_file import write_table
from interstellar.data.writing.text_lines import write_columns, write_triplets
from interstellar.errors import DataError


def write_splits(graph: KnowledgeGraph, folder: Path) -> None:
    """Write train.txt, valid.txt, test.txt, and the answers of a Countries set."""
    refuse_empty_splits(graph)
    for split in SPLITS:
        write_triplets(graph.split(split), graph.entities, graph.relations, folder / f"{split}.txt")
    write_answers(graph, folder)


def write_split_files(
    graph: KnowledgeGraph, folder: Path, form: FileForm, suffix: str, base: str
) -> None:
    """Write train, valid and test in another form of file, and the answers of a Countries set."""
    refuse_empty_splits(graph)
    for split in SPLITS:
        table = name_triplets(graph.split(split), graph.entities, graph.relations)
        write_table(table, folder / f"{split}{suffix}", form, base)
    write_answers(graph, folder)


def write_answers(graph: KnowledgeGraph, folder: Path) -> None:
    """Write the entities among which test queries choose, if the set names them."""
    if graph.answers is not None:
        write_columns([take_names(graph.entities, graph.answers)], folder / ANSWERS_FILE)


def write_openke(graph: KnowledgeGraph, folder: Path) -> None:
    """Write two dictionaries, and triplets as subject, object, relation; a count comes first."""
    refuse_empty_splits(graph)
    write_counted(number_names(graph.entities), folder / "entity2id.txt")
    write_counted(number_names(graph.relations), folder / "relation2id.txt")
    for split in SPLITS:
        ids = graph.split(split)[:, [SUBJECT, OBJECT, RELATION]]
        columns = [pa.array(np.ascontiguousarray(column)).cast(pa.string()) for column in ids.T]
        write_counted(columns, folder / f"{split}2id.txt")


def number_names(vocabulary: Vocabulary) -> list[pa.Array]:
    """Return names and their ids."""
    return [vocabulary.array, pa.array(np.arange(len(vocabulary))).cast(pa.string())]


def write_counted(columns: list[pa.Array], path: Path) -> None:
    """Write rows below a line that says how many there are."""
    write_columns(columns, path, header=[str(len(columns[0]))])


def refuse_empty_splits(graph: KnowledgeGraph) -> None:
    """Raise where a split has no triplets: an empty file is one that was cut."""
    for split in SPLITS:
        if len(graph.split(split)) == 0:
            raise DataError(
                f"{graph.name} has no triplets for {split}, and in a folder no file may be empty. "
                "Write one file with a column of splits: OUT.tsv, OUT.csv or OUT.parquet."
            )
