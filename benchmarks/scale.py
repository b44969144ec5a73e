"""Time per triplet and peak memory of path sampling as the graph grows, on synthetic graphs.

Run as `python benchmarks/scale.py [--triplets 200000 2000000 20000000] [--json FILE]`. Each size
has a process of its own, so that peak memory is its own too. One torch thread, on the CPU.

What is measured. Every size does the same work in a pass: as many triplets as the largest graph
has, in one large graph or in many small ones of different seeds. So no size is repeated more
often than another, and none finds its own data in the cache. Of three passes the fastest counts,
stage by stage, in processor time (one thread, so this is what the clock shows on an idle
machine); `wall` is the same by the clock.

What is left out. The processes keep the memory they once had: a small graph finds that of the
graph before it in any case, and a large one would otherwise pay for it anew in each pass. What
that costs is the machine's affair: where this was written, a virtual machine, the first touch
took 2 seconds per GiB and the next, after freeing it, 0.1. `first` is the first pass, in which a
large graph does pay for all its memory, and `system` the operating system's part of it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import torch

from interstellar.data.synthetic import synthetic_graph
from interstellar.data.synthetic_settings import SyntheticSettings
from interstellar.paths.biased_walk import CPU_CHUNK, BiasedWalk
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_index import WalkIndex
from interstellar.paths.walk_settings import WalkSettings
from interstellar.randomness import derive_key
from report import write_report

SIZES = [200_000, 2_000_000, 20_000_000]
TRIPLETS_PER_ENTITY = 10
STAGES = ("generate", "index", "sample")
TOTALS = ("total", "wall", "first")
N_PASSES = 3
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
"""Tells glibc never to give memory back; elsewhere it has no effect."""
MAX_GROWTH = 1.3
MAX_GIB = 12.0

Figures = dict[str, float]


def main() -> None:
    arguments = parse_arguments()
    if arguments.measure is not None:
        print(json.dumps(measure(*arguments.measure)))
        return
    n_per_pass = max(arguments.triplets)
    results = [measure_in_own_process(n, n_per_pass // n) for n in arguments.triplets]
    print_table(results)
    facts = {"benchmark": "scale", "figures": results, "growth": growth(results), "threads": 1}
    write_report(arguments.json, facts)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triplets", type=int, nargs="+", default=SIZES, help="sizes, ascending")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--measure", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_in_own_process(n_triplets: int, n_graphs: int) -> Figures:
    command = [sys.executable, __file__, "--measure", str(n_triplets), str(n_graphs)]
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | KEEP_MEMORY
    ).stdout
    figures: Figures = json.loads(output)
    return figures


def measure(n_triplets: int, n_graphs: int) -> Figures:
    """Return microseconds per triplet of each stage, and the peak of this process in GiB."""
    torch.set_num_threads(1)
    run_stages(10_000, seed=0)  # the first call of anything pays for loading it
    passes = [run_pass(n_triplets, n_graphs, number) for number in range(N_PASSES)]
    fastest = {name: min(figures[name] for figures in passes) for name in passes[0]}
    fastest["total"] = sum(fastest[stage] for stage in STAGES)
    fastest["first"] = sum(passes[0][stage] for stage in STAGES)
    fastest["system"] = passes[0]["system"]
    fastest["paths_per_second"] = 1e6 * fastest.pop("paths") / fastest["sample"]
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"triplets": n_triplets, "graphs": n_graphs, **fastest, "peak_gib": peak_kib / 2**20}


def run_pass(n_triplets: int, n_graphs: int, number: int) -> Figures:
    """Return the mean figures of graphs that no other pass has."""
    seeds = range(number * n_graphs, (number + 1) * n_graphs)
    runs = [run_stages(n_triplets, seed) for seed in seeds]
    return {name: sum(run[name] for run in runs) / n_graphs for name in runs[0]}


def run_stages(n_triplets: int, seed: int) -> Figures:
    """Return, each per triplet, the microseconds of all stages and the number of paths."""
    settings = WalkSettings.link_prediction()
    wall, system, times = time.perf_counter(), system_seconds(), [time.process_time()]
    graph = synthetic_graph(
        SyntheticSettings(
            entities=n_triplets // TRIPLETS_PER_ENTITY, triplets=n_triplets, seed=seed
        )
    )
    times.append(time.process_time())
    index = WalkIndex.build(WalkGraph.of(graph), settings)
    times.append(time.process_time())
    table = BiasedWalk(index, settings, key=derive_key(seed, "paths")).all_paths(CPU_CHUNK)
    times.append(time.process_time())
    figures = {
        stage: (stop - start) / n_triplets * 1e6
        for stage, start, stop in zip(STAGES, times[:-1], times[1:], strict=True)
    }
    figures["wall"] = (time.perf_counter() - wall) / n_triplets * 1e6
    figures["system"] = (system_seconds() - system) / n_triplets * 1e6
    return figures | {"paths": table.n_paths / n_triplets}


def system_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime


def growth(results: list[Figures]) -> Figures:
    """Return the time per triplet of the largest graph over that of the smallest."""
    smallest, largest = results[0], results[-1]
    return {stage: largest[stage] / smallest[stage] for stage in (*STAGES, *TOTALS)}


def print_table(results: list[Figures]) -> None:
    columns = (*STAGES, *TOTALS)
    print("microseconds per triplet")
    print(f"{'triplets':>12}" + "".join(f"{c:>10}" for c in (*columns, "system", "GiB", "paths/s")))
    for row in results:
        times = "".join(f"{row[column]:10.3f}" for column in (*columns, "system"))
        print(f"{row['triplets']:12,.0f}{times}", end="")
        print(f"{row['peak_gib']:10.2f}{row['paths_per_second']:10.2e}")
    factors = growth(results)
    print(f"{'growth':>12}" + "".join(f"{factors[column]:10.2f}" for column in columns))
    print(f"target: total growth at most {MAX_GROWTH}, peak under {MAX_GIB:.0f} GiB")


if __name__ == "__main__":
    main()
