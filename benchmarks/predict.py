"""Predictions on the CPU: from process start to the first answer, and many queries against one.

    python benchmarks/predict.py [--run RUN] [--queries 100000] [--json FILE]

Without RUN, one is trained first on a synthetic graph of WN18RR's size, for one epoch only: what
it answers does not matter here.

`start` is a new process that answers one query by name, times a new process that imports torch
(target at most 2), taken in turn, the median of the repeats. `batch` is how much faster a query is
in a file of many than asked alone (target at least 20), names to names both times: `in_process` is
alone by one function call in a process that has the run open, `by_process` alone by a process of
its own. Queries are drawn at random in both directions.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import interstellar
from interstellar.inference.prediction import RunPredictor
from interstellar.inference.query_file import answer_file
from report import write_report

CPU = torch.device("cpu")
GRAPH = "synthetic:entities=40000"
N_STARTS, N_ALONE = 7, 200
MOST_START, LEAST_BATCH = 2.0, 20.0

Names = tuple[str | None, str, str | None]
Figures = dict[str, float]


def main() -> None:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        run = arguments.run or train(Path(folder) / "run")
        predictor = interstellar.open(run, device="cpu").predictor
        queries = draw_queries(predictor, arguments.queries)
        figures = measure_start(run, queries[0])
        figures |= measure_batch(predictor, queries, Path(folder))
    figures["by_process"] = figures["start_s"] / figures["batch_ms"] * 1e3
    for name, value in figures.items():
        print(f"{name:<12} {value:.4g}")
    print(f"targets: start ≤ {MOST_START}, in_process ≥ {LEAST_BATCH}")
    run_name = arguments.run and arguments.run.name
    write_report(arguments.json, {"benchmark": "predict", "run": run_name, "figures": figures})


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="folder of a run of link prediction")
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def train(out: Path) -> Path:
    """Train a run that is good for nothing but being opened."""
    options = "--architecture ComplEx --dim 64 --epochs 1 --negatives 16 --batch-size 4096"
    command = ("train", GRAPH, *options.split(), "--device", "cpu", "--out", out)
    call("-m", "interstellar", *command)
    return out


def call(*arguments: object) -> float:
    """Run Python and return the seconds it took."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def draw_queries(predictor: RunPredictor, n: int) -> list[Names]:
    """Return queries by name, half of them for subjects."""
    rng = np.random.default_rng(0)
    entities, relations = predictor.graph.entities.to_list(), predictor.graph.relations.to_list()
    draws = rng.integers(0, [len(entities), len(relations), 2], (n, 3)).tolist()
    return [
        (entities[e], relations[r], None) if is_forwards else (None, relations[r], entities[e])
        for e, r, is_forwards in draws
    ]


def measure_start(run: Path, query: Names) -> Figures:
    """Return what it takes to answer a query from nothing, in seconds and against torch."""
    ends = zip(("--subject", "--relation", "--object"), query, strict=True)
    flags = [word for end in ends if end[1] is not None for word in end]
    predict = ("-m", "interstellar", "predict", run, *flags, "--device", "cpu", "--json")
    call(*predict)
    torch_s, start_s = [], []
    for _ in range(N_STARTS):
        torch_s.append(call("-c", "import torch"))
        start_s.append(call(*predict))
    seconds = statistics.median(torch_s), statistics.median(start_s)
    return {"torch_s": seconds[0], "start_s": seconds[1], "start": seconds[1] / seconds[0]}


def measure_batch(predictor: RunPredictor, queries: list[Names], folder: Path) -> Figures:
    """Return milliseconds a query takes alone and among many, from names to names."""
    file, out = folder / "queries.tsv", folder / "answers.tsv"
    lines = ("\t".join(name or "" for name in query) + "\n" for query in queries)
    file.write_text("".join(lines), encoding="utf-8")
    alone = []
    for subject, relation, object_ in queries[:N_ALONE]:
        started = time.perf_counter()
        predictor.predict(subject=subject, relation=relation, object=object_)
        alone.append(time.perf_counter() - started)
    started = time.perf_counter()
    answer_file(predictor.predictor, predictor.graph, file, out, k=10)
    batch_ms = (time.perf_counter() - started) / len(queries) * 1e3
    alone_ms = statistics.median(alone) * 1e3
    return {"alone_ms": alone_ms, "batch_ms": batch_ms, "in_process": alone_ms / batch_ms}


if __name__ == "__main__":
    main()
