"""A kept graph joined with added triplets: old ids stay, new names count on behind them.

What is held out stays held out. A triplet (or pair) of valid or test that is given again is not
trained on, so that what a run measures before and after is the same; `predict` knows it anyway.
So does a source of triplets that has splits of its own: only its train split is added. Of a
source without splits everything is.
"""

import os
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.formats.any_table import read_table
from interstellar.data.formats.name_table import NameTable
from interstellar.data.formats.one_graph import is_named, split_table
from interstellar.data.formats.other_libraries import (
    has_splits,
    is_dataset,
    is_factory,
    is_pyg_data,
)
from interstellar.data.formats.two_graphs import number_pairs
from interstellar.data.graph import AnyGraph, Graph, GraphPair, KnowledgeGraph, Pairs
from interstellar.data.loading import Request, Source, read
from interstellar.data.spelling import find_lookalikes, find_variants, quote_apart
from interstellar.data.splitting import SplitShares
from interstellar.data.triplets import (
    OBJECT,
    RELATION,
    SUBJECT,
    Triplets,
    distinct_triplets,
    no_triplets,
    pack_keys,
)
from interstellar.data.vocabulary import UNKNOWN, Vocabulary

EVERYTHING = SplitShares(train=1, valid=0, test=0)
UPDATED = ", updated"
"""Behind the name of a graph that has grown."""

Ids = npt.NDArray[np.int32]


class Side(StrEnum):
    """Which graph of a pair grows."""

    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What came of everything that was added."""

    added: int
    """Triplets that training did not know."""
    known: int
    """Triplets that it knew, and repeats."""
    held_out: int
    """Triplets of valid or test, which stay there."""
    new_entities: int
    new_relations: int
    without_triplets: tuple[str, ...]
    """Entities that were named in a list but in no triplet: nothing is learnt of them."""
    added_pairs: int = 0
    known_pairs: int = 0
    held_out_pairs: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to learn."""
        return self.added == self.added_pairs == 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrownGraph:
    """A graph with more in it, and where the ids of the old one went."""

    graph: AnyGraph
    entity_ids: Ids
    """The id that each old entity has now, in the id space of paths, (n_entities,)."""
    relation_ids: Ids
    """The id that each old relation has now, inverses left out, (n_relations,)."""
    growth: Growth


def grow_graph(graph: KnowledgeGraph, added: Graph, findings: Findings) -> GrownGraph:
    """Return a graph whose train split has the added triplets behind its own."""
    side = Graph(entities=graph.entities, relations=graph.relations, triplets=graph.train)
    held_out = np.concatenate([graph.valid, graph.test])
    grown, growth = grow_side(side, added, held_out, findings)
    return GrownGraph(
        graph=replace(
            graph,
            name=name_updated(graph.name),
            entities=grown.entities,
            relations=grown.relations,
            train=grown.triplets,
            notes=(),
        ),
        entity_ids=np.arange(len(graph.entities), dtype=np.int32),
        relation_ids=np.arange(len(graph.relations), dtype=np.int32),
        growth=growth,
    )


def grow_pair(graph: GraphPair, added: Graph, side: Side, findings: Findings) -> GrownGraph:
    """Return two graphs of which one has the added triplets behind its own."""
    is_first = side is Side.FIRST
    old = graph.source if is_first else graph.target
    grown, growth = grow_side(old, added, no_triplets(), findings)
    first, second = (grown, graph.target) if is_first else (graph.source, grown)
    name = name_updated(graph.name)
    return GrownGraph(
        graph=replace(graph, name=name, source=first, target=second, notes=()),
        entity_ids=joint_ids(graph.source.entities, graph.target.entities, first.entities),
        relation_ids=joint_ids(graph.source.relations, graph.target.relations, first.relations),
        growth=growth,
    )


def add_pairs(grown: GrownGraph, table: NameTable, findings: Findings) -> GrownGraph:
    """Return the grown graphs with more seeds; record pairs that contradict those known."""
    graph = grown.graph
    assert isinstance(graph, GraphPair)
    pairs = number_pairs(table, graph.source.entities, graph.target.entities, findings)
    record_contradictions(graph, table, findings)
    n_second = len(graph.target.entities)
    keys = pair_keys(pairs, n_second)
    is_seed = np.isin(keys, pair_keys(graph.train, n_second))
    held_out = np.concatenate([graph.valid, graph.test])
    is_held_out = np.isin(keys, pair_keys(held_out, n_second)) & ~is_seed
    new = pairs[~is_seed & ~is_held_out]
    growth = replace(
        grown.growth,
        added_pairs=len(new),
        known_pairs=int(is_seed.sum()),
        held_out_pairs=int(is_held_out.sum()),
    )
    seeds = np.concatenate([graph.train, new])
    return replace(grown, graph=replace(graph, train=seeds), growth=growth)


def grow_side(
    old: Graph, added: Graph, held_out: Triplets, findings: Findings
) -> tuple[Graph, Growth]:
    """Return one graph with the triplets that neither it nor `held_out` has."""
    is_entity = is_named(added.triplets, (SUBJECT, OBJECT), len(added.entities))
    is_relation = is_named(added.triplets, (RELATION,), len(added.relations))
    entities, entity_ids = extend(old.entities, added.entities, is_entity)
    relations, relation_ids = extend(old.relations, added.relations, is_relation)
    note_lookalikes(old.entities, entities, "entities", findings)
    note_lookalikes(old.relations, relations, "relations", findings)
    ids_by_column = {SUBJECT: entity_ids, RELATION: relation_ids, OBJECT: entity_ids}
    columns = [ids[added.triplets[:, column]] for column, ids in ids_by_column.items()]
    triplets = np.stack(columns, axis=1)
    sizes = {"n_entities": len(entities), "n_relations": len(relations)}
    distinct = distinct_triplets(triplets)
    keys = pack_keys(distinct, **sizes)
    is_known = np.isin(keys, pack_keys(old.triplets, **sizes))
    is_held_out = np.isin(keys, pack_keys(held_out, **sizes)) & ~is_known
    new = distinct[~is_known & ~is_held_out]
    unnamed = added.entities.array.filter(pa.array(entity_ids == UNKNOWN))
    growth = Growth(
        added=len(new),
        known=len(triplets) - len(new) - int(is_held_out.sum()),
        held_out=int(is_held_out.sum()),
        new_entities=len(entities) - len(old.entities),
        new_relations=len(relations) - len(old.relations),
        without_triplets=tuple(unnamed.to_pylist()),
    )
    triplets = np.concatenate([old.triplets, new])
    return Graph(entities=entities, relations=relations, triplets=triplets), growth


def extend(
    old: Vocabulary, added: Vocabulary, is_needed: npt.NDArray[np.bool_]
) -> tuple[Vocabulary, Ids]:
    """Return the old names with the needed new ones behind them, and the ids of the added names.

    A new name that is not needed has the id `UNKNOWN`.
    """
    ids = old.ids(added.array)
    is_new = (ids == UNKNOWN) & is_needed
    ids[is_new] = len(old) + np.arange(is_new.sum(), dtype=np.int32)
    return old + Vocabulary(added.array.filter(pa.array(is_new))), ids


def joint_ids(first: Vocabulary, second: Vocabulary, first_now: Vocabulary) -> Ids:
    """Return where the names of two graphs stand now that the first has the names `first_now`."""
    ids = np.arange(len(first) + len(second), dtype=np.int32)
    ids[len(first) :] += len(first_now) - len(first)
    return ids


def note_lookalikes(old: Vocabulary, now: Vocabulary, noun: str, findings: Findings) -> None:
    """Say how many new names differ from another's by case or Unicode form only."""
    alike = find_lookalikes(now)
    new = alike[alike >= len(old)]
    if len(new):
        first = now.name(new[0])
        name, others = quote_apart(first, find_variants(now, first)[:1])
        findings.note(
            f"{len(new):,} new {noun} have names that differ from another's by case or Unicode "
            f"form only, for instance {name} beside {others}; each is taken as one of its own."
        )


def name_updated(name: str) -> str:
    """Return the name of a graph that is no longer as it was."""
    return name if name.endswith(UPDATED) else name + UPDATED


def pair_keys(pairs: Pairs, n_second: int) -> npt.NDArray[np.int64]:
    """Return one integer per pair; equal pairs have equal integers."""
    return pairs[:, 0].astype(np.int64) * n_second + pairs[:, 1]


def record_contradictions(graph: GraphPair, table: NameTable, findings: Findings) -> None:
    """Record each pair that gives an entity another partner than the one it has."""
    known = np.concatenate([graph.train, graph.valid, graph.test])
    sides = zip((graph.source, graph.target), table.columns, strict=True)
    given = np.stack([side.entities.ids(column) for side, column in sides], axis=1)
    n_second = len(graph.target.entities)
    is_old = np.isin(pair_keys(given, n_second), pair_keys(known, n_second))
    is_whole = (given != UNKNOWN).all(axis=1)
    for column in (0, 1):
        table.record_faults(
            is_whole & ~is_old & np.isin(given[:, column], known[:, column]),
            lambda row, column=column: (  # type: ignore[misc]
                f"gives {table.cell(row, column)!r} another partner than the run knows. "
                "An entity has one partner at most: leave this pair out, or train anew."
            ),
            findings,
        )


def read_added(source: Source, findings: Findings) -> Graph | None:
    """Read the triplets to add, with all names that their form lists; None after a fault."""
    reading = Findings()  # its notes speak of splits that are not made
    graph = read_whole(source, reading)
    findings.faults.extend(reading.faults)
    if graph is None or reading.faults:
        return None
    if isinstance(graph, GraphPair):
        rule = "holds two graphs, but triplets are added to one at a time. Give one of its files."
        findings.fault(graph.name, None, rule)
        return None
    if len(graph.train) == 0:
        findings.fault(graph.name, None, "holds no triplets, but some are to be added. Check it.")
    n_left_out = len(graph.valid) + len(graph.test)
    if n_left_out:
        findings.note(
            f"{graph.name} has splits of its own: {len(graph.train):,} triplets of train are "
            f"taken, {n_left_out:,} of valid and test are left out."
        )
    return Graph(entities=graph.entities, relations=graph.relations, triplets=graph.train)


def read_whole(source: Source, findings: Findings) -> AnyGraph | None:
    """Read a source in its own splits, or all of it as train."""
    if is_table(source):
        table = read_table(source, findings)
        return split_table(table, None if table.splits is not None else EVERYTHING, 0, findings)
    is_whole = is_factory(source) or (is_pyg_data(source) and not has_splits(source))
    return read(Request(source=source, split=EVERYTHING if is_whole else None), findings)


def is_table(source: Source) -> bool:
    """Return whether a source is one table of triplets: a file, a frame, an iterable."""
    if isinstance(source, str | os.PathLike):
        return Path(source).is_file()
    return not (is_dataset(source) or is_factory(source) or is_pyg_data(source))
