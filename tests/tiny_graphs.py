"""Small graphs with known answers, as names and as files."""

from collections.abc import Iterable
from pathlib import Path

Rows = Iterable[tuple[str, ...]]

EUROPE = (
    ("france", "neighbor", "spain"),
    ("spain", "neighbor", "portugal"),
    ("france", "locatedin", "europe"),
    ("spain", "locatedin", "europe"),
    ("portugal", "locatedin", "europe"),
    ("france", "neighbor", "italy"),
)


def write_rows(path: Path, rows: Rows, *, separator: str = "\t") -> Path:
    """Write rows of names, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def ring(n: int, *, relation: str = "next", prefix: str = "e") -> list[tuple[str, str, str]]:
    """Return e0 → e1 → … → e0."""
    return [(f"{prefix}{i}", relation, f"{prefix}{(i + 1) % n}") for i in range(n)]


def write_split_folder(folder: Path) -> Path:
    """Write train, valid and test of a small graph."""
    write_rows(folder / "train.txt", EUROPE)
    write_rows(folder / "valid.txt", [("italy", "locatedin", "europe")])
    write_rows(folder / "test.txt", [("portugal", "neighbor", "spain")])
    return folder


def write_rsn_folder(folder: Path, *, n: int = 20, n_seeds: int = 6) -> Path:
    """Write two rings of n entities; entity i of one means entity i of the other."""
    for side, first_id in ((1, 0), (2, n)):
        ids = range(first_id, first_id + n)
        write_rows(folder / f"ent_ids_{side}", [(str(i), f"g{side}/{i}") for i in ids])
        write_rows(folder / f"rel_ids_{side}", [(str(side), f"g{side}/next")])
        write_rows(
            folder / f"triples_{side}",
            [(str(i), str(side), str(first_id + (i + 1 - first_id) % n)) for i in ids],
        )
    pairs = [(str(i), str(i + n)) for i in range(n)]
    write_rows(folder / "sup_ent_ids", pairs[-n_seeds:])
    write_rows(folder / "ref_ent_ids", pairs[:-n_seeds])
    return folder


def write_openea_folder(folder: Path, *, n: int = 20) -> Path:
    """Write two rings by name with one fold of links."""
    for side in (1, 2):
        write_rows(folder / f"rel_triples_{side}", ring(n, prefix=f"g{side}/"))
    links = [(f"g1/{i}", f"g2/{i}") for i in range(n)]
    write_rows(folder / "ent_links", links)
    for split, part in (("train", links[:4]), ("valid", links[4:6]), ("test", links[6:])):
        write_rows(folder / "721_5fold" / "1" / f"{split}_links", part)
    return folder


def write_openke_folder(folder: Path) -> Path:
    """Write three entities and two relations as OpenKE does: subject, object, relation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "entity2id.txt").write_text("3\nann\t0\nbob\t1\ncid\t2\n")
    (folder / "relation2id.txt").write_text("2\nknows\t0\nlikes\t1\n")
    (folder / "train2id.txt").write_text("3\n0 1 0\n1 2 0\n0 2 1\n")
    (folder / "valid2id.txt").write_text("1\n1 0 0\n")
    (folder / "test2id.txt").write_text("1\n2 1 1\n")
    return folder
