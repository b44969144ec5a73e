"""Searches a file of facts for the network that learns it best, and asks it: run by `make demo`.

The file is the built-in geography without a few facts, which the winner is asked for at the end.
"""

import json
import shlex
import shutil
import time
from pathlib import Path

from interstellar.cli.app import run
from interstellar.data.geography import Level, geography_graph

OUT = Path("demo")

QUESTIONS = (
    ("In which region does Armenia lie?", ("armenia", "locatedin", "asia")),
    ("In which part of Africa does Chad lie?", ("chad", "locatedin", "middle_africa")),
    (
        "Portugal's neighbour is Spain, says the file. And Spain's?",
        ("spain", "neighbor", "portugal"),
    ),
)
"""Each with the fact that answers it, which is left out."""


def main() -> None:
    """Run each command and show its output."""
    started = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    n_facts, n_names = write_world(OUT / "world.tsv")
    print(
        f"{OUT}/world.tsv has {n_facts:,} facts about {n_names} countries and regions. "
        f"{len(QUESTIONS)} facts are left out;\nat the end we ask for them."
    )
    show("What is in the file?", "data info demo/world.tsv --split 80/10/10")
    show("How many networks are there to choose from?", "space")
    show(
        "Search for one minute: known models first, then variants of the best.",
        "search demo/world.tsv --split 80/10/10 --time 60s --then-train --out demo/found",
    )
    show("The winner, in formulas:", "show demo/found --draw demo/winner.svg")
    explain(n_names)
    for question, (subject, relation, _) in QUESTIONS:
        show(question, f"predict demo/found/final --subject {subject} --relation {relation} -k 3")
    print(
        f"\nDone in {time.monotonic() - started:.0f} s. The search is in {OUT}/found, the trained "
        f"winner in {OUT}/found/final, its picture in\n{OUT}/winner.svg. With a file of your own: "
        "interstellar search FILE --time 10m --then-train --out found"
    )


def write_world(file: Path) -> tuple[int, int]:
    """Write the facts that are not left out, and return how many facts and names there are."""
    world = geography_graph(Level.S1)
    entities, relations = world.entities, world.relations
    facts = [
        (entities.name(s), relations.name(r), entities.name(o))
        for split in (world.train, world.valid, world.test)
        for s, r, o in split.tolist()
    ]
    kept = sorted(set(facts) - {fact for _, fact in QUESTIONS})
    file.write_text("".join("\t".join(fact) + "\n" for fact in kept), encoding="utf-8")
    return len(kept), len(entities)


def show(title: str, command: str) -> None:
    """Run one command of `interstellar`."""
    print(f"\n{title}\n$ interstellar {command}", flush=True)
    if run(shlex.split(command)) != 0:
        raise SystemExit(1)


def explain(n_names: int) -> None:
    """Say in words what the metrics on the test split mean."""
    result = json.loads((OUT / "found" / "final" / "result.json").read_text(encoding="utf-8"))
    test = result["metrics"]["test"]
    first, in_ten = test["hits@1"], test["hits@10"]
    print(
        f"\nHow good is that? Of {test['n']:.0f} questions about facts that were held out, "
        f"each with {n_names} possible\nanswers, the right one came first in {first:.0%} and among "
        f"the first ten in {in_ten:.0%}; a blind guess has {1 / n_names:.1%} and\n"
        f"{10 / n_names:.1%}."
    )


if __name__ == "__main__":
    main()
