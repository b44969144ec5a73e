"""A kept graph joined with added triplets: old ids stay, new names count on behind them.

What is held out stays held out. A triplet (or pair) of valid or test that is given again is not
trained on, so that what a run measures before and after is the same; `predict` knows it anyway.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from interstellar.data.findings import Findings
from interstellar.data.forms.known_pairs import number_pairs
from interstellar.data.forms.one_graph import is_named
from interstellar.data.graph import AnyGraph, Graph, GraphPair, KnowledgeGraph, Pairs
from interstellar.data.lookalikes import find_lookalikes
from interstellar.data.reading.name_table import NameTable
from interstellar.data.spelling import find_variants, quote_apart
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
    old = graph.first if is_first else graph.second
    grown, growth = grow_side(old, added, no_triplets(), findings)
    first, second = (grown, graph.second) if is_first else (graph.first, grown)
    name = name_updated(graph.name)
    return GrownGraph(
        graph=replace(graph, name=name, first=first, second=second, notes=()),
        entity_ids=joint_ids(graph.first.entities, graph.second.entities, first.entities),
        relation_ids=joint_ids(graph.first.relations, graph.second.relations, first.relations),
        growth=growth,
    )


def add_pairs(grown: GrownGraph, table: NameTable, findings: Findings) -> GrownGraph:
    """Return the grown graphs with more seeds; record pairs that contradict those known."""
    graph = grown.graph
    assert isinstance(graph, GraphPair)
    pairs = number_pairs(table, graph.first.entities, graph.second.entities, findings)
    record_contradictions(graph, table, findings)
    n_second = len(graph.second.entities)
    keys = pair_keys(pairs, n_second)
    is_seed = np.isin(keys, pair_keys(graph.seeds, n_second))
    held_out = np.concatenate([graph.valid, graph.test])
    is_held_out = np.isin(keys, pair_keys(held_out, n_second)) & ~is_seed
    new = pairs[~is_seed & ~is_held_out]
    growth = replace(
        grown.growth,
        added_pairs=len(new),
        known_pairs=int(is_seed.sum()),
        held_out_pairs=int(is_held_out.sum()),
    )
    seeds = np.concatenate([graph.seeds, new])
    return replace(grown, graph=replace(graph, seeds=seeds), growth=growth)


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
    triplets = np.stack(
        [
            entity_ids[added.triplets[:, SUBJECT]],
            relation_ids[added.triplets[:, RELATION]],
            entity_ids[added.triplets[:, OBJECT]],
        ],
        axis=1,
    )
    sizes = {"n_entities": len(entities), "n_relations": len(relations)}
    distinct = distinct_triplets(triplets)
    keys = pack_keys(distinct, **sizes)
    is_known = np.isin(keys, pack_keys(old.triplets, **sizes))
    is_held_out = np.isin(keys, pack_keys(held_out, **sizes)) & ~is_known
    new = distinct[~is_known & ~is_held_out]
    growth = Growth(
        added=len(new),
        known=len(triplets) - len(new) - int(is_held_out.sum()),
        held_out=int(is_held_out.sum()),
        new_entities=len(entities) - len(old.entities),
        new_relations=len(relations) - len(old.relations),
        without_triplets=names_at(added.entities, (entity_ids == UNKNOWN)),
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


def names_at(vocabulary: Vocabulary, is_meant: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the names that are marked."""
    return tuple(vocabulary.array.filter(pa.array(is_meant)).to_pylist())


def name_updated(name: str) -> str:
    """Return the name of a graph that is no longer as it was."""
    return name if name.endswith(UPDATED) else name + UPDATED


def pair_keys(pairs: Pairs, n_second: int) -> npt.NDArray[np.int64]:
    """Return one integer per pair; equal pairs have equal integers."""
    return pairs[:, 0].astype(np.int64) * n_second + pairs[:, 1]


def record_contradictions(graph: GraphPair, table: NameTable, findings: Findings) -> None:
    """Record each pair that gives an entity another partner than the one it has."""
    known = np.concatenate([graph.seeds, graph.valid, graph.test])
    given = np.stack(
        [graph.first.entities.ids(table.columns[0]), graph.second.entities.ids(table.columns[1])],
        axis=1,
    )
    n_second = len(graph.second.entities)
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
