"""Shows what there is, on built-in graphs: run by `make demo`."""

import shlex
import shutil
from pathlib import Path

from interstellar.cli.app import run

OUT = Path("demo")

COMMANDS = (
    ("What is in the built-in graph?", "data info geography-S3 --hops"),
    ("Relational paths of it, by name:", "paths geography-S3 --out demo/paths.tsv --seed 1"),
    ("How large is the search space, and how many networks are in it?", "space"),
    (
        "One architecture: the best that the paper found for DBP-WD",
        "show Interstellar-DBP-WD --svg demo/architecture.svg",
    ),
    (
        "Train another: does a sum of relations along a path find the region of a country?",
        "train geography-S3 --architecture PTransE-add --epochs 20 --out demo/run",
    ),
    ("Score it (AUC-PR over the five regions):", "evaluate demo/run"),
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
    print(f"\nThe picture is in {OUT}/architecture.svg, the run in {OUT}/run; search comes next.")


if __name__ == "__main__":
    main()
