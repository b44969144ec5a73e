"""Reading FB15k-237, text to ids, against a bare `pyarrow.csv.read_csv` of the same files.

    python benchmarks/read.py [--json FILE]

Target: at most 3 times the bare reading. Both are taken in turn, best of the repeats.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.csv

from interstellar import load
from interstellar.data.catalogue import data_root, require_set

N_REPEATS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    named = require_set("FB15k-237")
    folder = named.folder_below(data_root())
    files = [folder / f"{split}.txt" for split in ("train", "valid", "test")]
    bare_seconds, load_seconds = [], []
    for _ in range(N_REPEATS):
        bare_seconds.append(measure(lambda: read_bare(files)))
        load_seconds.append(measure(lambda: load("FB15k-237")))
    figures = {
        "bare_ms": round(1000 * min(bare_seconds), 1),
        "load_ms": round(1000 * min(load_seconds), 1),
        "ratio": round(min(load_seconds) / min(bare_seconds), 2),
        "target": "ratio <= 3",
        "machine": f"{platform.machine()}, pyarrow {pyarrow.__version__}",
    }
    print(json.dumps(figures, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def read_bare(files: list[Path]) -> None:
    """Read the columns as text, no more."""
    options = pyarrow.csv.ReadOptions(column_names=["subject", "relation", "object"])
    for file in files:
        pyarrow.csv.read_csv(file, options, pyarrow.csv.ParseOptions(delimiter="\t"))


def measure(work: Callable[[], object]) -> float:
    """Return the seconds that some work took."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
