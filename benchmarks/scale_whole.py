"""A large graph from its file to answers: seconds and peak memory of each command.

    python benchmarks/scale_whole.py [--entities 5000000] [--triplets 20000000]
        [--aligned 1000000] [--folder FOLDER] [--json FILE]

Each stage is the command a user would type, in a process of its own, which tells its memory and
processor time. Names are those of a web of data, about 38 letters long. Training takes one epoch of
a sample, as `train` does by itself on a graph of that size. Then two graphs of `--aligned` entities
each, with four times as many triplets, are trained as briefly and aligned, all entities with all.
Target: no stage over 16 GiB.

The folder takes 12 GB while this runs, and is left empty.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interstellar.data.graph import KnowledgeGraph
from interstellar.data.synthetic import synthetic_graph
from interstellar.data.synthetic_settings import SyntheticSettings
from interstellar.data.tables import TableFormat, name_triplets, write_table
from interstellar.data.vocabulary import Vocabulary
from report import write_report

DIM = 32
SAMPLE = ("--paths-per-epoch", "102400", "--measured", "100", "--epochs", "1")
N_QUERIES = 50
LOCAL_STEPS = ("--optimizer", "adagrad", "--weight-decay", "0", "--negatives", "4096")
"""Steps of an alignment that visit no more than the embeddings they read."""

Figures = dict[str, float | str]


def main() -> None:
    arguments = parse_arguments()
    facts = {"benchmark": "scale_whole", "entities": arguments.entities}
    facts |= {"triplets": arguments.triplets, "aligned": arguments.aligned, "dim": DIM}
    facts["load_before"] = os.getloadavg()[0]
    stages: list[Figures] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        one = list_stages(Path(folder), arguments.entities, arguments.triplets)
        two = list_aligning(Path(folder), arguments.aligned)
        for name, command in chain(one, two):
            stages.append({"stage": name, **measure(command)})
            print(stages[-1], flush=True)
            write_report(arguments.json, facts | {"stages": stages})


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=5_000_000)
    parser.add_argument("--triplets", type=int, default=20_000_000)
    parser.add_argument("--aligned", type=int, default=1_000_000, help="entities of each of two")
    parser.add_argument("--folder", type=Path, help="where files are written meanwhile")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write is not None:
        write_graph(arguments.entities, arguments.triplets, arguments.write)
        sys.exit()
    return arguments


def list_stages(
    folder: Path, n_entities: int, n_triplets: int
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what each stage is called, and its command, once the stage before is done."""
    file, run = folder / "graph.tsv", folder / "run"
    size = ("--entities", str(n_entities), "--triplets", str(n_triplets))
    interstellar = (sys.executable, "-m", "interstellar")
    yield "write", (sys.executable, __file__, *size, "--write", str(folder))
    yield "check TSV", (*interstellar, "data", "check", str(file))
    yield "check Parquet", (*interstellar, "data", "check", str(folder / "graph.parquet"))
    train = ("train", str(file), "--architecture", "ComplEx", "--dim", str(DIM), *SAMPLE)
    yield "train", (*interstellar, *train, "--out", str(run), "--json")
    subject, relation = (folder / "queries.tsv").read_text().split("\n", 1)[0].split("\t")
    query = ("--subject", subject, "--relation", relation, "--json")
    yield "predict one", (*interstellar, "predict", str(run), *query)
    files = ("--queries", str(folder / "queries.tsv"), "--out", str(folder / "answers.tsv"))
    yield "predict file", (*interstellar, "predict", str(run), *files)


def list_aligning(folder: Path, n_entities: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what each stage of an alignment is called, and its command."""
    pair, run = str(folder / "pair"), str(folder / "aligned")
    interstellar = (sys.executable, "-m", "interstellar")
    name = f"synthetic-alignment:entities={n_entities},triplets={4 * n_entities}"
    yield "write two graphs", (*interstellar, "data", "convert", name, pair)
    train = ("train", pair, "--architecture", "TransE", "--dim", str(DIM), *SAMPLE, *LOCAL_STEPS)
    yield "train an alignment", (*interstellar, *train, "--out", run, "--json")
    align = ("align", run, "--decode", "csls", "--approximate", "--out", f"{run}.tsv", "--json")
    yield "align", (*interstellar, *align)


def measure(command: tuple[str, ...]) -> Figures:
    """Return what a process takes: seconds by the clock and of processors, and its peak in GiB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    figures: Figures = {
        "wall_seconds": round(wall, 1),
        "peak_gib": round(used.ru_maxrss / 2**20, 2),
    }
    figures["cpu_seconds"] = round(used.ru_utime + used.ru_stime, 1)
    if said.startswith("{"):
        kept = ("seconds", "step_ms", "path_seconds", "setup_seconds", "evaluation_seconds")
        figures |= {key: value for key, value in json.loads(said).items() if key in kept}
    return figures


def write_graph(n_entities: int, n_triplets: int, folder: Path) -> None:
    """Write a graph as text and as Parquet, and a file of queries."""
    settings = SyntheticSettings(entities=n_entities, triplets=n_triplets)
    graph = synthetic_graph(settings)
    numbers = np.random.default_rng(0).permutation(n_entities) * 7 + 13
    entities = name_all("http://www.example.org/entity/Q", pa.array(numbers))
    relations = name_all("http://www.example.org/property/", graph.relations.array)
    table = name_triplets(take_all(graph), Vocabulary(entities), Vocabulary(relations))
    for kind in (TableFormat.TSV, TableFormat.PARQUET):
        with (folder / f"graph.{kind}").open("wb") as file:
            write_table(table, file, kind)
    rows = table.slice(0, N_QUERIES).to_pylist()
    lines = (f"{row['subject']}\t{row['relation']}\n" for row in rows)
    (folder / "queries.tsv").write_text("".join(lines))


def take_all(graph: KnowledgeGraph) -> np.ndarray:
    return np.concatenate([graph.train, graph.valid, graph.test])


def name_all(prefix: str, ends: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pc.cast(ends, pa.string()), "")


if __name__ == "__main__":
    main()
