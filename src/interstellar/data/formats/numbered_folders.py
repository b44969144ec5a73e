"""Folders whose triplets are numbers, with dictionaries of names beside them: OpenKE's and RSN's.

OpenKE (one graph): `entity2id.txt`, `relation2id.txt`, `train2id.txt` and its kin. Each file begins
with the number of its rows; triplets are subject, object, relation, separated by spaces or tabs.

RSN (two graphs): `triples_1`, `ent_ids_1`, `sup_ent_ids`, `ref_ent_ids`. The graphs share one id
space and no id. `sup_ent_ids` holds the training pairs; the first tenth of `ref_ent_ids` is for
validation, the rest for the test (paper, Appendix A.4).

The numbers of a file need not be consecutive; ours are: the order of its lines.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.formats.delimited import iterate_rows, read_columns
from interstellar.data.formats.files import find_file, is_readable_file, locate, recording_damage
from interstellar.data.formats.name_table import NameTable, empty_table, keep_distinct
from interstellar.data.formats.one_graph import join_splits, refuse_empty_splits
from interstellar.data.formats.two_graphs import number_pairs, record_overlap, refuse_no_pairs
from interstellar.data.graph import SPLITS, Graph, GraphPair, KnowledgeGraph
from interstellar.data.tables import write_columns
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets
from interstellar.data.vocabulary import UNKNOWN, Vocabulary

VALID_SHARE = 0.1
"""Of RSN's reference pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Names, and the marks (ids as written in the files) that stand for them."""

    file: Path | str
    names: Vocabulary
    marks: Vocabulary


def read_openke_folder(folder: Path, findings: Findings) -> KnowledgeGraph:
    """Read the two dictionaries and the three files of triplets."""
    entities, relations = (
        build_dictionary(read_counted(folder, stem, 2, findings), 1, findings)
        for stem in ("entity2id", "relation2id")
    )
    tables = [read_counted(folder, f"{split}2id", 3, findings) for split in SPLITS]
    object_second = (0, 2, 1)
    parts = [
        number_triplets(table, entities, relations, findings, order=object_second)
        for table in tables
    ]
    return join_splits(folder.name, entities.names, relations.names, parts, findings)


def read_counted(folder: Path, stem: str, n_columns: int, findings: Findings) -> NameTable:
    """Read a file whose first line says how many rows follow."""
    path = locate(folder, stem, ".txt")
    if is_readable_file(path, findings):
        with recording_damage(path, findings):
            return _read_below_count(path, n_columns, findings)
    return empty_table(path, n_columns)


def _read_below_count(path: Path, n_columns: int, findings: Findings) -> NameTable:
    rows = iterate_rows(path, "\n")
    (_, [count]), (_, [second]) = next(rows, (1, [""])), next(rows, (2, [""]))
    if not count.strip().isdecimal():
        findings.fault(
            path,
            1,
            f"holds {count[:40]!r}. The first line of an OpenKE file is the number of rows.",
        )
        return empty_table(path, n_columns)
    delimiter = "\t" if "\t" in second else " "
    table = read_columns(path, n_columns, findings, delimiter=delimiter, n_skipped=1)
    if len(table) != int(count):
        findings.fault(
            path,
            1,
            f"promises {count.strip()} rows, but {len(table):,} good ones follow. Mend the count.",
        )
    return table


def read_rsn_folder(folder: Path, findings: Findings) -> GraphPair:
    """Read two graphs by their ids, the training pairs, and the pairs for evaluation."""
    source, source_entities = read_side(folder, 1, findings)
    target, target_entities = read_side(folder, 2, findings)
    record_shared_ids(target_entities, source_entities, findings)
    marks = source_entities.marks, target_entities.marks
    known = read_columns(locate(folder, "sup_ent_ids"), 2, findings)
    asked = read_columns(locate(folder, "ref_ent_ids"), 2, findings)
    train, reference = (number_pairs(table, *marks, findings) for table in (known, asked))
    record_overlap(asked.file, train, reference, findings)
    n_valid = round(VALID_SHARE * len(reference))
    return GraphPair(
        name=folder.name,
        source=source,
        target=target,
        train=train,
        valid=reference[:n_valid],
        test=reference[n_valid:],
    )


def read_side(folder: Path, which: int, findings: Findings) -> tuple[Graph, Dictionary]:
    """Read one of the two graphs, and what its entity ids mean; relations may lack names."""
    entities = read_dictionary(locate(folder, f"ent_ids_{which}"), findings)
    table = read_columns(locate(folder, f"triples_{which}"), 3, findings)
    relation_file = find_file(folder, f"rel_ids_{which}")
    if relation_file:
        relations = read_dictionary(relation_file, findings)
    else:
        marks = Vocabulary(as_array(table.columns[1].unique()))
        relations = Dictionary(table.file, marks, marks)
    triplets = number_triplets(table, entities, relations, findings)
    graph = Graph(
        entities=entities.names,
        relations=relations.names,
        triplets=keep_distinct(triplets, f"triples_{which}", findings),
    )
    return graph, entities


def read_dictionary(path: Path, findings: Findings) -> Dictionary:
    """Read a dictionary whose rows are id, then name."""
    return build_dictionary(read_columns(path, 2, findings), 0, findings)


def record_shared_ids(target: Dictionary, source: Dictionary, findings: Findings) -> None:
    """Record that an id means an entity of each graph."""
    shared = np.flatnonzero(source.marks.ids(target.marks.array) != UNKNOWN)
    if len(shared):
        findings.fault(
            target.file,
            None,
            f"uses {len(shared):,} ids of the first graph too, for instance "
            f"{target.marks.name(shared[0])}. The two graphs must not share ids: number one of "
            "them anew.",
        )


def build_dictionary(table: NameTable, mark_column: int, findings: Findings) -> Dictionary:
    """Take a table of marks and names as a dictionary; record what stands twice."""

    def take(column: int, noun: str) -> Vocabulary:
        cells = Vocabulary(as_array(table.columns[column]))
        table.record_faults(
            cells.ids(cells.array) != np.arange(len(cells)),
            lambda row: (
                f"gives the {noun} {table.cell(row, column)!r} a second time. Each must stand once."
            ),
            findings,
        )
        return cells

    marks = take(mark_column, "id")
    return Dictionary(table.file, take(1 - mark_column, "name"), marks)


def as_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def number_triplets(
    table: NameTable,
    entities: Dictionary,
    relations: Dictionary,
    findings: Findings,
    *,
    order: tuple[int, int, int] = (0, 1, 2),
) -> Triplets:
    """Turn marks into our ids; record those that their dictionary lacks, drop their rows.

    `order` says where subject, relation and object stand (OpenKE writes the object second).
    """
    columns = [
        look_up(table, place, dictionary, findings)
        for place, dictionary in zip(order, (entities, relations, entities), strict=True)
    ]
    triplets: Triplets = np.stack(columns, axis=1)
    return np.compress((triplets != UNKNOWN).all(axis=1), triplets, axis=0)


def look_up(
    table: NameTable, column: int, dictionary: Dictionary, findings: Findings
) -> npt.NDArray[np.int32]:
    """Return the ids of one column of marks; record the marks that are unknown."""
    ids = dictionary.marks.ids(table.columns[column])
    table.record_faults(
        ids == UNKNOWN,
        lambda row: (
            f"names the id {table.cell(row, column)!r}, which {Path(dictionary.file).name} does "
            "not hold. Add it there or drop the line."
        ),
        findings,
    )
    return ids


def write_openke(graph: KnowledgeGraph, folder: Path) -> None:
    """Write two dictionaries, and triplets as subject, object, relation; a count comes first."""
    refuse_empty_splits(graph)
    columns = {}
    for kind, names in (("entity", graph.entities), ("relation", graph.relations)):
        columns[kind] = [names.array, *as_text(np.arange(len(names)))]
    for split in SPLITS:
        columns[split] = as_text(*graph.split(split)[:, [SUBJECT, OBJECT, RELATION]].T)
    for stem, each in columns.items():
        write_columns(each, folder / f"{stem}2id.txt", header=[str(len(each[0]))])


def write_rsn(graph: GraphPair, folder: Path) -> None:
    """Write dictionaries, triplets and pairs in one id space: the second graph counts on."""
    reference = np.concatenate([graph.valid, graph.test])
    refuse_no_pairs(graph, "train", graph.train)
    refuse_no_pairs(graph, "valid and test", reference)
    first_entity = first_relation = 0
    for number, side in enumerate((graph.source, graph.target), 1):
        for stem, names, first in (
            ("ent_ids", side.entities, first_entity),
            ("rel_ids", side.relations, first_relation),
        ):
            ids = as_text(np.arange(first, first + len(names)))
            write_columns([*ids, names.array], folder / f"{stem}_{number}")
        triplets = side.triplets + np.array([first_entity, first_relation, first_entity])
        write_columns(as_text(*triplets.T), folder / f"triples_{number}")
        first_entity, first_relation = len(side.entities), len(side.relations)
    write_columns(as_text(*graph.joint_pairs(graph.train).T), folder / "sup_ent_ids")
    write_columns(as_text(*graph.joint_pairs(reference).T), folder / "ref_ent_ids")


def keeps_valid_in_rsn(graph: GraphPair) -> bool:
    """Return whether valid is the share of the reference pairs that RSN's format cuts off."""
    return len(graph.valid) == round(VALID_SHARE * (len(graph.valid) + len(graph.test)))


def as_text(*columns: npt.NDArray[np.integer]) -> list[pa.Array]:
    """Return columns of ids as columns of digits."""
    return [pa.array(np.ascontiguousarray(column)).cast(pa.string()) for column in columns]
