"""Two graphs by name, and the pairs known between them: single files, or a folder of OpenEA.

An OpenEA folder holds `rel_triples_1`, `rel_triples_2` and `ent_links`, or folds `721_5fold/N` of
`train_links`, `valid_links` and `test_links`; the folder itself stands for its first fold.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_pairs, read_triplets
from interstellar.data.formats.delimited import read_columns
from interstellar.data.formats.files import locate
from interstellar.data.formats.name_table import (
    NameTable,
    keep_distinct,
    note_titles,
    number_tables,
)
from interstellar.data.formats.one_graph import is_named, write_triplets
from interstellar.data.graph import SPLITS, Graph, GraphPair, Pairs
from interstellar.data.spelling import quote
from interstellar.data.splitting import SplitShares, split_pairs
from interstellar.data.tables import take_names, write_columns
from interstellar.data.triplets import OBJECT, SUBJECT
from interstellar.data.vocabulary import UNKNOWN, Vocabulary
from interstellar.errors import DataError

FOLDS = "721_5fold"


def pair_tables(
    tables: tuple[NameTable, NameTable],
    pairs: Path,
    split: SplitShares,
    seed: int,
    findings: Findings,
) -> GraphPair:
    """Number two tables of triplets and hold out some of the known pairs."""
    source, target = (number_graph(table, findings) for table in tables)
    known = number_pairs(read_pairs(pairs, findings), source.entities, target.entities, findings)
    name = "+".join(table.name for table in tables)
    return pair_graphs(name, source, target, split_links(known, split, seed, findings), findings)


def number_graph(table: NameTable, findings: Findings) -> Graph:
    """Number a table of triplets as one side of a pair."""
    entities, relations, [triplets] = number_tables([table])
    note_titles(table, triplets, findings)
    distinct = keep_distinct(triplets, table.name, findings)
    return Graph(entities=entities, relations=relations, triplets=distinct)


def split_links(links: Pairs, split: SplitShares, seed: int, findings: Findings) -> list[Pairs]:
    """Hold out some of the known pairs, and say so."""
    train, valid, test = split_pairs(links, split, seed=seed)
    findings.split = split
    findings.note(
        f"{len(links):,} known pairs were split {split} with seed {seed} into {len(train):,} "
        f"train, {len(valid):,} valid and {len(test):,} test."
    )
    return [train, valid, test]


def pair_graphs(
    name: str, source: Graph, target: Graph, pairs: list[Pairs], findings: Findings
) -> GraphPair:
    """Put two graphs and their pairs together; say how many names stand in both."""
    n_shared = int((target.entities.ids(source.entities.array) != UNKNOWN).sum())
    if n_shared:
        findings.note(
            f"{n_shared:,} names occur in both graphs; each graph keeps its own entity for them."
        )
    train, valid, test = pairs
    return GraphPair(name=name, source=source, target=target, train=train, valid=valid, test=test)


def set_folder(folder: Path) -> Path:
    """Return the folder of an OpenEA set, given it or one of its folds."""
    return folder.parent.parent if folder.parent.name == FOLDS else folder


def read_openea_folder(
    folder: Path, split: SplitShares, seed: int, findings: Findings
) -> GraphPair:
    """Read two graphs by their names, and the links of one fold."""
    base = set_folder(folder)
    source, target = (
        number_graph(read_triplets(locate(base, stem), findings), findings)
        for stem in ("rel_triples_1", "rel_triples_2")
    )

    def read_links(place: Path, stem: str) -> Pairs:
        table = read_columns(locate(place, stem), 2, findings)
        return number_pairs(table, source.entities, target.entities, findings)

    fold = folder if folder != base else base / FOLDS / "1"
    if fold.is_dir():
        if folder == base:
            findings.note(f"{base.name}: links are those of fold 1; name {FOLDS}/N for another.")
        pairs = [read_links(fold, f"{part}_links") for part in SPLITS]
        for part, held_out in zip(SPLITS[1:], pairs[1:], strict=True):
            record_overlap(fold / f"{part}_links", pairs[0], held_out, findings)
    else:
        pairs = split_links(read_links(base, "ent_links"), split, seed, findings)
    return pair_graphs(base.name, source, target, pairs, findings)


def number_pairs(
    table: NameTable, source: Vocabulary, target: Vocabulary, findings: Findings
) -> Pairs:
    """Return a table of pairs as ids of the two graphs.

    A pair that names an unknown entity, and one whose entity has a partner already,
    is recorded as a fault and left out.
    """
    columns = []
    for column, (vocabulary, which) in enumerate(((source, "first"), (target, "second"))):
        ids = vocabulary.ids(table.columns[column])
        record_pair_faults(table, column, ids, which, findings)
        columns.append(ids)
    pairs: Pairs = np.stack(columns, axis=1)
    return np.compress((pairs != UNKNOWN).all(axis=1), pairs, axis=0)


def record_pair_faults(
    table: NameTable, column: int, ids: Pairs, which: str, findings: Findings
) -> None:
    """Record each row whose entity is not in its graph, or stands in a pair above."""
    table.record_faults(
        ids == UNKNOWN,
        lambda row: (
            f"names {table.cell(row, column)!r}, which the {which} graph does not hold. "
            "Mend the name, or check that the columns are in the order of the graphs."
        ),
        findings,
    )
    is_taken = ids != UNKNOWN
    is_taken[np.unique(ids, return_index=True)[1]] = False  # where each first stands
    table.record_faults(
        is_taken,
        lambda row: (
            f"pairs {table.cell(row, column)!r} a second time. "
            "An entity has one partner at most: keep one of the pairs."
        ),
        findings,
    )


def record_overlap(file: Path | str, train: Pairs, evaluation: Pairs, findings: Findings) -> None:
    """Record that pairs for evaluation name entities whose partner training is told."""
    for column, which in enumerate(("first", "second")):
        n_shared = len(np.intersect1d(train[:, column], evaluation[:, column]))
        if n_shared:
            findings.fault(
                file,
                None,
                f"shares {n_shared:,} entities of the {which} graph with the training pairs. "
                "What is evaluated must not be told in training: take these out of this file.",
            )


def write_openea(graph: GraphPair, folder: Path) -> None:
    """Write the two graphs and the links of one fold."""
    splits = {"train": graph.train, "valid": graph.valid, "test": graph.test}
    everything = np.concatenate(list(splits.values()))
    for split, pairs in splits.items():
        refuse_no_pairs(graph, split, pairs)
    for number, side in enumerate((graph.source, graph.target), 1):
        refuse_lonely(side, everything[:, number - 1])
        path = folder / f"rel_triples_{number}"
        write_triplets(side.triplets, side.entities, side.relations, path)
    fold = folder / FOLDS / "1"
    fold.mkdir(parents=True)
    files = {fold / f"{split}_links": pairs for split, pairs in splits.items()}
    for path, pairs in (files | {folder / "ent_links": everything}).items():
        sources = take_names(graph.source.entities, pairs[:, 0])
        write_columns([sources, take_names(graph.target.entities, pairs[:, 1])], path)


def refuse_no_pairs(graph: GraphPair, what: str, pairs: npt.NDArray[np.int32]) -> None:
    """Raise where a file of pairs would be empty: an empty file is one that was cut."""
    if len(pairs) == 0:
        raise DataError(
            f"{graph.name} has no pairs for {what}, and no file may be empty. Hold out more of the "
            "known pairs, for instance by the split 60/20/20."
        )


def refuse_lonely(side: Graph, paired: npt.NDArray[np.int32]) -> None:
    """Raise where a paired entity is in no triplet, and so would not be in the files."""
    is_linked = is_named(side.triplets, (SUBJECT, OBJECT), len(side.entities))
    lonely = paired[~is_linked[paired]]
    if len(lonely):
        raise DataError(
            f"the entity {quote(side.entities.name(lonely[0]))} has a partner but no triplet, and "
            "OpenEA's format knows entities by their triplets. Write the format rsn."
        )
