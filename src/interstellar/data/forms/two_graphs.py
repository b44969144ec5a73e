"""Two graphs given as files of their own, and a file of the pairs known between them."""

from pathlib import Path

from interstellar.data.findings import Findings
from interstellar.data.forms.column_titles import note_titles
from interstellar.data.forms.known_pairs import note_shared_names, number_pairs
from interstellar.data.forms.numbering import keep_distinct, number_tables
from interstellar.data.graph import Graph, GraphPair, Pairs
from interstellar.data.reading.any_file import read_pairs, read_triplets
from interstellar.data.reading.name_table import NameTable
from interstellar.data.splitting import Split, split_pairs


def pair_tables(
    tables: tuple[NameTable, NameTable], pairs: Path, split: Split, seed: int, findings: Findings
) -> GraphPair:
    """Number two tables of triplets and hold out some of the known pairs."""
    first, second = (number_graph(table, findings) for table in tables)
    known = number_pairs(read_pairs(pairs, findings), first.entities, second.entities, findings)
    name = "+".join(Path(table.file).name for table in tables)
    return pair_graphs(name, first, second, split_links(known, split, seed, findings), findings)


def read_graph(path: Path, findings: Findings) -> Graph:
    """Read a file of triplets as one side of a pair."""
    return number_graph(read_triplets(path, findings), findings)


def number_graph(table: NameTable, findings: Findings) -> Graph:
    """Number a table of triplets as one side of a pair."""
    entities, relations, [triplets] = number_tables([table])
    note_titles(table, triplets, findings)
    place = table.file.name if isinstance(table.file, Path) else table.file
    distinct = keep_distinct(triplets, place, findings)
    return Graph(entities=entities, relations=relations, triplets=distinct)


def split_links(
    links: Pairs, split: Split, seed: int, findings: Findings
) -> tuple[Pairs, Pairs, Pairs]:
    """Hold out some of the known pairs, and say so."""
    seeds, valid, test = split_pairs(links, split, seed=seed)
    findings.note(
        f"{len(links):,} known pairs were split {split} with seed {seed} into {len(seeds):,} "
        f"seeds, {len(valid):,} valid and {len(test):,} test."
    )
    return seeds, valid, test


def pair_graphs(
    name: str,
    first: Graph,
    second: Graph,
    pairs: tuple[Pairs, Pairs, Pairs],
    findings: Findings,
) -> GraphPair:
    """Put two graphs and their pairs together."""
    note_shared_names(first.entities, second.entities, findings)
    seeds, valid, test = pairs
    return GraphPair(name=name, first=first, second=second, seeds=seeds, valid=valid, test=test)
