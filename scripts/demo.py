"""Searches the built-in geography and draws the winner: run by `make demo`."""

import json
import os
import shlex
import shutil
from pathlib import Path

from interstellar.cli.app import run

OUT = Path("demo")
N_WORKERS = min(2, os.cpu_count() or 1)

COMMANDS = (
    ("What is in the built-in graph?", "data info geography-S3 --hops"),
    ("Relational paths of it, by name:", "paths geography-S3 --out demo/paths.tsv --seed 1"),
    ("How large is the search space, and how many networks are in it?", "space"),
    (
        "Search: which of them finds the region of a country best?",
        f"search --trials 40 --seed 1 --workers {N_WORKERS} --then-train --out demo/found",
    ),
    ("The winner, in formulas:", "show demo/found --svg demo/winner.svg"),
    ("Score it on the test countries (AUC-PR over the five regions):", "evaluate demo/found/final"),
)


def main() -> None:
    """Run each command and show its output."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    for title, command in COMMANDS:
        print(f"\n{title}\n$ interstellar {command}", flush=True)
        if run(shlex.split(command)) != 0:
            raise SystemExit(1)
    with (OUT / "paths.tsv").open(encoding="utf-8") as file:
        print("\nThree of the paths:")
        for _ in range(3):
            print("  " + next(file).strip().replace("\t", " "))
    found = json.loads((OUT / "found" / "result.json").read_text(encoding="utf-8"))
    print(
        f"\nThe winner of {found['trials']} trials is drawn in {OUT}/winner.svg; the search is in "
        f"{OUT}/found, the trained network in {OUT}/found/final."
    )


if __name__ == "__main__":
    main()
