"""One graph: a folder of splits, a single file, a frame, or an iterable of triplets."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_triplets
from interstellar.data.formats.delimited import read_columns
from interstellar.data.formats.files import FileFormat, find_files, packing
from interstellar.data.formats.name_table import (
    TRIPLET,
    Columns,
    NameTable,
    keep_distinct,
    note_titles,
    number_tables,
)
from interstellar.data.graph import SPLITS, KnowledgeGraph
from interstellar.data.splitting import TRIPLET_SPLIT, SplitShares, split_triplets
from interstellar.data.tables import (
    TableFormat,
    name_triplets,
    take_names,
    write_columns,
    write_table,
)
from interstellar.data.triplets import OBJECT, RELATION, SUBJECT, Triplets, has_repeats, pack_keys
from interstellar.data.vocabulary import UNKNOWN, Vocabulary
from interstellar.errors import DataError
from interstellar.printable import printable
from interstellar.records.safe_files import replacing_file

STEMS_BY_SPLIT = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}

TABLE_FORMATS = {
    FileFormat.TSV: TableFormat.TSV,
    FileFormat.CSV: TableFormat.CSV,
    FileFormat.PARQUET: TableFormat.PARQUET,
}
"""The others are RDF."""
ANSWERS_FILE = "regions.txt"
"""Countries sets name the entities among which a query chooses."""


def read_split_folder(
    folder: Path, findings: Findings, columns: Columns = TRIPLET, *, labels: bool = False
) -> KnowledgeGraph:
    """Read train, valid and test, each a file of triplets in any format."""
    tables = {}
    for split, stems in STEMS_BY_SPLIT.items():
        found = [path for stem in stems for path in find_files(folder, stem)]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            findings.fault(
                folder, None, f"holds {names} for {split}. Keep one of them, and move the others."
            )
        path = found[0] if found else folder / f"{split}.txt"
        tables[split] = read_triplets(path, findings, columns, labels=labels)
    graph = build_graph(printable(folder.name), tables, findings)
    answers = folder / ANSWERS_FILE
    return read_answers(answers, graph, findings) if answers.is_file() else graph


def split_table(
    table: NameTable, split: SplitShares | None, seed: int, findings: Findings
) -> KnowledgeGraph:
    """Number one table of triplets, in its own splits or with some of them held out by us."""
    name = table.name
    if table.splits is not None:
        if split is not None:
            findings.fault(name, None, "has splits of its own. Leave the split out.")
        return build_graph(name, separate_splits(table, findings), findings)
    entities, relations, [triplets] = number_tables([table])
    note_titles(table, triplets, findings)
    train, valid, test = hold_out(name, triplets, split or TRIPLET_SPLIT, seed, findings)
    return KnowledgeGraph(
        name=name, entities=entities, relations=relations, train=train, valid=valid, test=test
    )


def hold_out(
    name: str, triplets: Triplets, split: SplitShares, seed: int, findings: Findings
) -> tuple[Triplets, Triplets, Triplets]:
    """Keep each triplet once and hold some out for valid and test; say so."""
    triplets = keep_distinct(triplets, name, findings)
    train, valid, test = split_triplets(triplets, split, seed=seed)
    if len(triplets):
        findings.split = split
        findings.note(
            f"{name} has no splits: {len(triplets):,} triplets were split {split} with seed {seed} "
            f"into {len(train):,} train, {len(valid):,} valid and {len(test):,} test, "
            "so that train names every entity and relation."
        )
        if min(len(valid), len(test)) == 0:
            findings.note(
                f"{name} is too small or too sparse to hold out triplets: "
                "each of them is the only one to name something."
            )
    return train, valid, test


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


def build_graph(name: str, tables: Mapping[str, NameTable], findings: Findings) -> KnowledgeGraph:
    """Number the tables of train, valid and test, and say what is odd about them."""
    entities, relations, parts = number_tables([tables[split] for split in SPLITS])
    return join_splits(name, entities, relations, parts, findings)


def join_splits(
    name: str,
    entities: Vocabulary,
    relations: Vocabulary,
    parts: Iterable[Triplets],
    findings: Findings,
) -> KnowledgeGraph:
    """Keep each triplet of train, valid and test once; say what repeats, and what is unseen."""
    train, valid, test = parts
    sizes = {"n_entities": len(entities), "n_relations": len(relations)}
    keys = [pack_keys(part, **sizes) for part in (train, valid, test)]
    if has_repeats(np.concatenate(keys)):
        train, valid, test = (
            keep_distinct(part, split, findings)
            for part, split in zip((train, valid, test), SPLITS, strict=True)
        )
        for split, part in (("valid", valid), ("test", test)):
            n_repeated = int(np.isin(pack_keys(part, **sizes), keys[0]).sum())
            if n_repeated:
                findings.note(
                    f"{split}: {n_repeated:,} triplets stand in train too, so their answers are "
                    "known."
                )
    graph = KnowledgeGraph(
        name=name, entities=entities, relations=relations, train=train, valid=valid, test=test
    )
    note_unseen(graph, findings)
    return graph


def note_unseen(graph: KnowledgeGraph, findings: Findings) -> None:
    """Say how many held-out triplets name something that training never saw."""
    for split in ("valid", "test"):
        triplets = graph.split(split)
        for noun, places, n in (
            ("an entity", (SUBJECT, OBJECT), len(graph.entities)),
            ("a relation", (RELATION,), len(graph.relations)),
        ):
            is_seen = is_named(graph.train, places, n)[triplets[:, places]].all(axis=1)
            n_unseen = len(triplets) - int(is_seen.sum())
            if n_unseen:
                findings.note(
                    f"{split}: {n_unseen:,} of {len(triplets):,} triplets name {noun} "
                    "that train does not; they are kept and scored like the others."
                )


def is_named(triplets: Triplets, places: tuple[int, ...], n: int) -> npt.NDArray[np.bool_]:
    """Return for each of n ids whether it occurs in some columns of the triplets."""
    marks = np.zeros(n, dtype=bool)
    for place in places:
        marks[triplets[:, place]] = True
    return marks


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


def write_splits(
    graph: KnowledgeGraph, folder: Path, ending: str, format: FileFormat | None, base: str | None
) -> None:
    """Write train, valid and test, and the answers of a Countries set.

    Without a format it is plain text, with a header only where the first row looks like one.
    """
    refuse_empty_splits(graph)
    for split in SPLITS:
        path = folder / f"{split}{ending}"
        if format is None:
            write_triplets(graph.split(split), graph.entities, graph.relations, path)
        else:
            table = name_triplets(graph.split(split), graph.entities, graph.relations)
            write_file(table, path, format, base)
    if graph.answers is not None:
        write_columns([take_names(graph.entities, graph.answers)], folder / ANSWERS_FILE)


def write_file(table: pa.Table, path: Path, format: FileFormat, base: str | None) -> None:
    """Write triplets by name into a file, which may be packed, whole or not at all.

    `base` is what the IRIs begin with that RDF has for plain names.
    """
    with replacing_file(path) as file, packing(file, path) as stream:
        if format in TABLE_FORMATS:
            write_table(table, stream, TABLE_FORMATS[format])
        else:
            from interstellar.data.formats.rdf import write_rdf  # noqa: PLC0415 (pyoxigraph)

            write_rdf(table, stream, format, base)


def refuse_empty_splits(graph: KnowledgeGraph) -> None:
    """Raise where a split has no triplets: an empty file is one that was cut."""
    for split in SPLITS:
        if len(graph.split(split)) == 0:
            raise DataError(
                f"{graph.name} has no triplets for {split}, and in a folder no file may be empty. "
                "Write one file with a column of splits: OUT.tsv, OUT.csv or OUT.parquet."
            )


def write_triplets(
    triplets: Triplets, entities: Vocabulary, relations: Vocabulary, path: Path
) -> None:
    """Write one file of triplets by name.

    There is a header only where the first row would be taken for one.
    """
    columns = [column.combine_chunks() for column in name_triplets(triplets, entities, relations)]
    first = [column[0].as_py() for column in columns]
    write_columns(columns, path, header=TRIPLET.names if TRIPLET.find(first) else ())
