"""OpenKE's id files: `entity2id.txt`, `relation2id.txt`, `train2id.txt` and its kin.

Each file begins with the number of its rows; triplets are written subject, object,
relation, separated by spaces or tabs.
"""

from pathlib import Path

from interstellar.data.findings import Findings
from interstellar.data.forms.dictionary import Dictionary, build_dictionary, number_triplets
from interstellar.data.forms.one_graph import tidy_splits
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.reading.delimited import iterate_rows, read_columns
from interstellar.data.reading.files import (
    UNPACKING_ERRORS,
    find_file,
    is_readable_file,
    record_damage,
)
from interstellar.data.reading.name_table import NameTable, empty_table

OBJECT_SECOND = (0, 2, 1)


def is_openke_folder(folder: Path) -> bool:
    """Return whether a folder holds OpenKE's file of training triplets."""
    return find_file(folder, "train2id") is not None


def read_openke_folder(folder: Path, findings: Findings) -> KnowledgeGraph:
    """Read the two dictionaries and the three files of triplets."""
    entities = read_names(folder, "entity2id", findings)
    relations = read_names(folder, "relation2id", findings)
    train, valid, test = (
        number_triplets(
            read_counted(folder, f"{split}2id", 3, findings),
            entities,
            relations,
            findings,
            order=OBJECT_SECOND,
        )
        for split in SPLITS
    )
    graph = KnowledgeGraph(
        name=folder.name,
        entities=entities.names,
        relations=relations.names,
        train=train,
        valid=valid,
        test=test,
    )
    return tidy_splits(graph, findings)


def read_names(folder: Path, stem: str, findings: Findings) -> Dictionary:
    """Read a dictionary whose rows are name, then id."""
    table = read_counted(folder, stem, 2, findings)
    return build_dictionary(table, mark_column=1, name_column=0, findings=findings)


def read_counted(folder: Path, stem: str, n_columns: int, findings: Findings) -> NameTable:
    """Read a file whose first line says how many rows follow."""
    path = find_file(folder, stem) or folder / f"{stem}.txt"
    if not is_readable_file(path, findings):
        return empty_table(path, n_columns)
    try:
        rows = iterate_rows(path, "\n")
        count = next(rows)[1][0].strip()
        delimiter = "\t" if "\t" in next(rows, (2, [""]))[1][0] else " "
    except UNPACKING_ERRORS as error:
        record_damage(path, error, findings)
        return empty_table(path, n_columns)
    if not count.isdecimal():
        findings.fault(
            path,
            1,
            f"holds {count[:40]!r}. The first line of an OpenKE file is the number of rows.",
        )
        return empty_table(path, n_columns)
    table = read_columns(path, n_columns, findings, delimiter=delimiter, n_skipped=1)
    if len(table) != int(count):
        findings.fault(
            path, 1, f"promises {count} rows, but {len(table):,} good ones follow. Mend the count."
        )
    return table
