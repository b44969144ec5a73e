"""One graph: a folder of splits, a single file, a frame, or an iterable of triplets."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.findings import Findings
from interstellar.data.forms.column_titles import note_titles
from interstellar.data.forms.numbering import keep_distinct, number_tables
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.reading.any_file import read_triplets
from interstellar.data.reading.delimited import read_columns
from interstellar.data.reading.files import find_file
from interstellar.data.reading.name_table import NameTable
from interstellar.data.splitting import TRIPLET_SPLIT, Split, split_triplets
from interstellar.data.triplets import (
    OBJECT,
    RELATION,
    SUBJECT,
    Triplets,
    has_repeats,
    pack_keys,
    triplet_keys,
)
from interstellar.data.vocabulary import UNKNOWN

STEMS_BY_SPLIT = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}
ANSWERS_FILE = "regions.txt"
"""Countries sets name the entities among which a query chooses."""


def is_split_folder(folder: Path) -> bool:
    """Return whether a folder holds a file of training triplets."""
    return find_file(folder, "train") is not None


def read_split_folder(folder: Path, findings: Findings) -> KnowledgeGraph:
    """Read train, valid and test, each a file of triplets in any form."""
    tables = {}
    for split, stems in STEMS_BY_SPLIT.items():
        found = (find_file(folder, stem) for stem in stems)
        path = next((path for path in found if path), None)
        tables[split] = read_triplets(path or folder / f"{split}.txt", findings)
    graph = build_graph(folder.name, tables, findings)
    answers = folder / ANSWERS_FILE
    return read_answers(answers, graph, findings) if answers.is_file() else graph


def split_table(
    table: NameTable, split: Split | None, seed: int, findings: Findings
) -> KnowledgeGraph:
    """Number one table of triplets, in its own splits or with some of them held out by us."""
    name = table.file.name if isinstance(table.file, Path) else table.file.strip("<>")
    if table.splits is not None:
        if split is not None:
            findings.fault(name, None, "has splits of its own. Leave the split out.")
        return build_graph(name, separate_splits(table, findings), findings)
    split = split or TRIPLET_SPLIT
    entities, relations, [triplets] = number_tables([table])
    note_titles(table, triplets, findings)
    triplets = keep_distinct(triplets, name, findings)
    train, valid, test = split_triplets(triplets, split, seed=seed)
    if len(triplets):
        note_split(name, (train, valid, test), split, seed, findings)
    return KnowledgeGraph(
        name=name, entities=entities, relations=relations, train=train, valid=valid, test=test
    )


def separate_splits(table: NameTable, findings: Findings) -> dict[str, NameTable]:
    """Return the rows of each split, as the table's own column says."""
    words = pc.utf8_lower(pc.utf8_trim_whitespace(table.splits))
    known = pa.array([word for stems in STEMS_BY_SPLIT.values() for word in stems])
    table.record_faults(
        np.asarray(pc.invert(pc.is_in(words, value_set=known))),
        lambda row: (
            f"is of split {str(words[row])[:80]!r}. It must be train, valid or test; a column "
            "that means something else must not be called split."
        ),
        findings,
    )
    tables = {}
    for split, stems in STEMS_BY_SPLIT.items():
        rows = pc.is_in(words, value_set=pa.array(stems))
        columns = tuple(column.filter(rows) for column in table.columns)
        tables[split] = NameTable(file=table.file, columns=columns, list_lines=table.list_lines)
    if len(tables["train"]) == 0:
        findings.fault(table.file, None, "has no triplet of split train. Training needs some.")
    return tables


def note_split(
    name: str,
    parts: tuple[Triplets, Triplets, Triplets],
    split: Split,
    seed: int,
    findings: Findings,
) -> None:
    """Say how a file without splits was split."""
    train, valid, test = parts
    n_triplets = sum(map(len, parts))
    findings.note(
        f"{name} has no splits: {n_triplets:,} triplets were split {split} with seed {seed} "
        f"into {len(train):,} train, {len(valid):,} valid and {len(test):,} test, "
        "so that train names every entity and relation."
    )
    if min(len(valid), len(test)) == 0:
        findings.note(
            f"{name} is too small or too sparse to hold out triplets: "
            "each of them is the only one to name something."
        )


def build_graph(name: str, tables: Mapping[str, NameTable], findings: Findings) -> KnowledgeGraph:
    """Number the tables of train, valid and test, and say what is odd about them."""
    entities, relations, arrays = number_tables([tables[split] for split in SPLITS])
    train, valid, test = arrays
    graph = KnowledgeGraph(
        name=name, entities=entities, relations=relations, train=train, valid=valid, test=test
    )
    return tidy_splits(graph, findings)


def tidy_splits(graph: KnowledgeGraph, findings: Findings) -> KnowledgeGraph:
    """Keep each triplet of a split once; say what is repeated, and what train never saw."""
    sizes = {"n_entities": len(graph.entities), "n_relations": len(graph.relations)}
    keys = [pack_keys(graph.split(split), **sizes) for split in SPLITS]
    if has_repeats(np.concatenate(keys)):
        train, valid, test = (
            keep_distinct(graph.split(split), split, findings) for split in SPLITS
        )
        graph = replace(graph, train=train, valid=valid, test=test)
        for split in ("valid", "test"):
            note_repeated(graph, split, findings)
    note_unseen(graph, findings)
    return graph


def note_unseen(graph: KnowledgeGraph, findings: Findings) -> None:
    """Say how many held-out triplets name something that training never saw."""
    if len(graph.valid) + len(graph.test) == 0:
        return
    is_seen_entity = is_named(graph.train, (SUBJECT, OBJECT), len(graph.entities))
    is_seen_relation = is_named(graph.train, (RELATION,), len(graph.relations))
    for split in ("valid", "test"):
        triplets = graph.split(split)
        for kind, is_seen, places in (
            ("an entity", is_seen_entity, [SUBJECT, OBJECT]),
            ("a relation", is_seen_relation, [RELATION]),
        ):
            n_unseen = len(triplets) - int(is_seen[triplets[:, places]].all(axis=1).sum())
            if n_unseen:
                findings.note(
                    f"{split}: {n_unseen:,} of {len(triplets):,} triplets name {kind} "
                    "that train does not; they are kept and scored like the others."
                )


def is_named(triplets: Triplets, places: tuple[int, ...], n: int) -> npt.NDArray[np.bool_]:
    """Return for each of n ids whether it occurs in some columns of the triplets."""
    marks = np.zeros(n, dtype=bool)
    for place in places:
        marks[triplets[:, place]] = True
    return marks


def note_repeated(graph: KnowledgeGraph, split: str, findings: Findings) -> None:
    """Say how many triplets of a split stand in train too (each split repeats none)."""
    both = triplet_keys(np.concatenate([graph.train, graph.split(split)]))
    n_repeated = len(both) - len(np.unique(both))
    if n_repeated:
        findings.note(
            f"{split}: {n_repeated:,} triplets stand in train too, so their answers are known."
        )


def read_answers(path: Path, graph: KnowledgeGraph, findings: Findings) -> KnowledgeGraph:
    """Read the entities among which the queries of a Countries set choose."""
    table = read_columns(path, 1, findings)
    answers = graph.entities.ids(table.columns[0])
    table.record_faults(
        answers == UNKNOWN,
        lambda row: f"names {table.cell(row, 0)!r}, which no triplet does. Mend the name.",
        findings,
    )
    return replace(graph, answers=answers)
