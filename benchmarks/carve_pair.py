"""Cut a small pair of graphs out of a large one: the small alignments of the study of settings.

Entities are taken by a walk over the first graph, at most six neighbours of each, with their
partners and all triplets among them; a share of their pairs is known.

    python benchmarks/carve_pair.py EN-DE-normal ende1500 --pairs 1500 --known 0.2 --seed 0
    python benchmarks/carve_pair.py DBP-WD-normal dw1500 --pairs 1500 --known 0.2 --seed 1
    python benchmarks/carve_pair.py DBP-YG-normal dy4000 --pairs 4000 --known 0.3 --seed 2
    python benchmarks/carve_pair.py EN-FR-normal ef500 --pairs 500 --known 0.3 --seed 3
"""

import argparse
import random
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

Ids: TypeAlias = tuple[int, ...]
MOST_NEIGHBOURS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="folder of a published pair")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=1500)
    parser.add_argument("--known", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    carve(arguments, random.Random(arguments.seed))


def carve(arguments: argparse.Namespace, rng: random.Random) -> None:
    source, out = arguments.source, arguments.out
    pairs = [*read(source / "sup_ent_ids"), *read(source / "ref_ent_ids")]
    partner = {pair[0]: pair[1] for pair in pairs}
    kept = walk(read(source / "triples_1"), pairs, arguments.pairs, rng)
    chosen = [(entity, partner[entity]) for entity in kept]
    rng.shuffle(chosen)
    n_known = int(arguments.known * len(chosen))
    write(out / "sup_ent_ids", chosen[:n_known])
    write(out / "ref_ent_ids", chosen[n_known:])
    for number in (1, 2):
        entities = {pair[number - 1] for pair in chosen}
        triples = [t for t in read(source / f"triples_{number}") if {t[0], t[2]} <= entities]
        write(out / f"triples_{number}", triples)
        copy_names(source, out, f"ent_ids_{number}", entities)
        copy_names(source, out, f"rel_ids_{number}", {t[1] for t in triples})


def walk(triples: list[Ids], pairs: list[Ids], n: int, rng: random.Random) -> list[int]:
    """Return so many entities of the first graph that have a partner, neighbours of each other."""
    neighbours, aligned = defaultdict[int, set[int]](set), {pair[0] for pair in pairs}
    for s, _, o in triples:
        neighbours[s].add(o)
        neighbours[o].add(s)
    found: dict[int, None] = {}
    waiting = deque([rng.choice(pairs)[0]])
    while len(found) < n:
        entity = waiting.popleft() if waiting else rng.choice(pairs)[0]
        if entity in found or entity not in aligned:
            continue
        found[entity] = None
        near = sorted(neighbours[entity])
        rng.shuffle(near)
        waiting.extend(near[:MOST_NEIGHBOURS])
    return list(found)


def read(file: Path) -> list[Ids]:
    return [tuple(map(int, line.split())) for line in file.read_text().splitlines()]


def write(file: Path, rows: Iterable[Ids]) -> None:
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def copy_names(source: Path, out: Path, name: str, ids: set[int]) -> None:
    lines = (source / name).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if int(line.split("\t", 1)[0]) in ids]
    (out / name).write_text("".join(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
