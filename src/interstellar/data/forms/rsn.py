"""Alignment folders in the form of RSN: `triples_1`, `ent_ids_1`, `sup_ent_ids`.

The two graphs share one id space and no id. `sup_ent_ids` holds the seeds; the first
tenth of `ref_ent_ids` is for validation, the rest for the test (paper, Appendix A.4).
"""

from pathlib import Path

import numpy as np

from interstellar.data.findings import Findings
from interstellar.data.forms.dictionary import (
    Dictionary,
    as_vocabulary,
    build_dictionary,
    number_triplets,
)
from interstellar.data.forms.known_pairs import number_pairs, record_overlap
from interstellar.data.forms.numbering import keep_distinct
from interstellar.data.graph import Graph, GraphPair
from interstellar.data.reading.delimited import read_columns
from interstellar.data.reading.files import find_file
from interstellar.data.reading.name_table import NameTable
from interstellar.data.vocabulary import UNKNOWN

VALID_SHARE = 0.1


def is_rsn_folder(folder: Path) -> bool:
    """Return whether a folder holds RSN's triplets of the first graph."""
    return find_file(folder, "triples_1") is not None


def read_rsn_folder(folder: Path, findings: Findings) -> GraphPair:
    """Read two graphs by their ids, the seeds, and the pairs for evaluation."""
    first, first_entities = read_side(folder, 1, findings)
    second, second_entities = read_side(folder, 2, findings)
    record_shared_ids(second_entities, first_entities, findings)
    seed_table = read_file(folder, "sup_ent_ids", 2, findings)
    reference_table = read_file(folder, "ref_ent_ids", 2, findings)
    marks = first_entities.marks, second_entities.marks
    seeds = number_pairs(seed_table, *marks, findings)
    reference = number_pairs(reference_table, *marks, findings)
    record_overlap(reference_table.file, seeds, reference, findings)
    n_valid = round(VALID_SHARE * len(reference))
    return GraphPair(
        name=folder.name,
        first=first,
        second=second,
        seeds=seeds,
        valid=reference[:n_valid],
        test=reference[n_valid:],
    )


def read_side(folder: Path, which: int, findings: Findings) -> tuple[Graph, Dictionary]:
    """Read one of the two graphs, and what its entity ids mean."""
    entities = read_dictionary(folder, f"ent_ids_{which}", findings)
    triplet_table = read_file(folder, f"triples_{which}", 3, findings)
    relations = (
        read_dictionary(folder, f"rel_ids_{which}", findings)
        if find_file(folder, f"rel_ids_{which}")
        else name_by_marks(triplet_table)
    )
    triplets = number_triplets(triplet_table, entities, relations, findings)
    graph = Graph(
        entities=entities.names,
        relations=relations.names,
        triplets=keep_distinct(triplets, f"triples_{which}", findings),
    )
    return graph, entities


def read_dictionary(folder: Path, stem: str, findings: Findings) -> Dictionary:
    """Read a dictionary whose rows are id, then name."""
    table = read_file(folder, stem, 2, findings)
    return build_dictionary(table, mark_column=0, name_column=1, findings=findings)


def read_file(folder: Path, stem: str, n_columns: int, findings: Findings) -> NameTable:
    """Read one of the folder's files."""
    return read_columns(find_file(folder, stem) or folder / stem, n_columns, findings)


def name_by_marks(table: NameTable) -> Dictionary:
    """Return a dictionary in which the ids of the relations are their names."""
    cells = as_vocabulary(table.columns[1])
    marks = type(cells)(cells.array.unique())
    return Dictionary(table.file, marks, marks)


def record_shared_ids(second: Dictionary, first: Dictionary, findings: Findings) -> None:
    """Record that an id means an entity of each graph."""
    shared = np.flatnonzero(first.marks.ids(second.marks.array) != UNKNOWN)
    if len(shared):
        findings.fault(
            second.file,
            None,
            f"uses {len(shared):,} ids of the first graph too, for instance "
            f"{second.marks.name(shared[0])}. The two graphs must not share ids: number one of "
            "them anew.",
        )
