"""Alignment folders in the form of OpenEA: `rel_triples_1`, `ent_links`, `721_5fold/N`.

Triplets and links are written by name. A fold holds `train_links`, `valid_links` and
`test_links`; the folder itself stands for its first fold.
"""

from pathlib import Path

from interstellar.data.findings import Findings
from interstellar.data.forms.known_pairs import number_pairs, record_overlap
from interstellar.data.forms.two_graphs import pair_graphs, read_graph, split_links
from interstellar.data.graph import Graph, GraphPair, Pairs
from interstellar.data.reading.delimited import read_columns
from interstellar.data.reading.files import find_file
from interstellar.data.splitting import Split

FOLDS = "721_5fold"


def is_openea_folder(folder: Path) -> bool:
    """Return whether a folder is an OpenEA set, or one fold of such a set."""
    return find_file(set_folder(folder), "rel_triples_1") is not None


def set_folder(folder: Path) -> Path:
    """Return the folder of the set, given it or one of its folds."""
    return folder.parent.parent if folder.parent.name == FOLDS else folder


def read_openea_folder(folder: Path, split: Split, seed: int, findings: Findings) -> GraphPair:
    """Read two graphs by their names, and the links of one fold."""
    base = set_folder(folder)
    first = read_graph(find_file(base, "rel_triples_1") or base / "rel_triples_1", findings)
    second = read_graph(find_file(base, "rel_triples_2") or base / "rel_triples_2", findings)
    fold = folder if folder != base else base / FOLDS / "1"
    if fold.is_dir():
        if folder == base:
            findings.note(f"{base.name}: links are those of fold 1; name {FOLDS}/N for another.")
        return pair_graphs(
            base.name, first, second, read_fold(fold, first, second, findings), findings
        )
    links = read_links(base, "ent_links", first, second, findings)
    return pair_graphs(
        base.name, first, second, split_links(links, split, seed, findings), findings
    )


def read_fold(
    fold: Path, first: Graph, second: Graph, findings: Findings
) -> tuple[Pairs, Pairs, Pairs]:
    """Read the links of one fold: seeds, valid, test."""
    seeds, valid, test = (
        read_links(fold, f"{split}_links", first, second, findings)
        for split in ("train", "valid", "test")
    )
    for split, pairs in (("valid", valid), ("test", test)):
        record_overlap(fold / f"{split}_links", seeds, pairs, findings)
    return seeds, valid, test


def read_links(folder: Path, stem: str, first: Graph, second: Graph, findings: Findings) -> Pairs:
    """Read a file of pairs by name."""
    table = read_columns(find_file(folder, stem) or folder / stem, 2, findings)
    return number_pairs(table, first.entities, second.entities, findings)
