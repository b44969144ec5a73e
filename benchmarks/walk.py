"""Speed of path sampling: against the literal walk on the same starts, and alone on all paths.

Run as `python benchmarks/walk.py [--data DBP-WD] [--json FILE]`, with the set under
`$INTERSTELLAR_DATA`. One torch thread, on the CPU.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import torch

import interstellar
from interstellar.data.graph import AnyGraph, GraphPair
from interstellar.paths.biased_walk import BiasedWalk, sample_paths
from interstellar.paths.walk_graph import WalkGraph
from interstellar.paths.walk_index import WalkIndex
from interstellar.paths.walk_settings import WalkRule, WalkSettings
from interstellar.randomness import derive_key
from report import write_report

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.paths.literal_walk import LiteralWalk

N_STARTS = 20_000
N_REPEATS = 3
CPU = torch.device("cpu")

Figures = dict[str, float | int | str]


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    data = interstellar.load(arguments.data)
    figures = measure(data, WalkRule(arguments.rule))
    for name, value in figures.items():
        print(
            f"{name:32} {value:>20,.6g}" if isinstance(value, float) else f"{name:32} {value:>20}"
        )
    facts = {"benchmark": "walk", "data": arguments.data, "figures": figures}
    write_report(arguments.json, facts)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="DBP-WD", help="name or path of the set")
    parser.add_argument("--rule", default="program", choices=[*WalkRule])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def measure(data: AnyGraph, rule: WalkRule) -> Figures:
    graph = WalkGraph.of(data)
    settings = settings_for(data, rule)
    return compare(graph, settings) | sample_all(graph, settings)


def settings_for(data: AnyGraph, rule: WalkRule) -> WalkSettings:
    paper = (
        WalkSettings.alignment() if isinstance(data, GraphPair) else WalkSettings.link_prediction()
    )
    return WalkSettings(
        length=paper.length, depth_bias=paper.depth_bias, cross_bias=paper.cross_bias, rule=rule
    )


def compare(graph: WalkGraph, settings: WalkSettings) -> Figures:
    """Time both ways on the same starts, spread over the graph; neither is charged its set-up."""
    walk = BiasedWalk(WalkIndex.build(graph, settings), settings, key=derive_key(0, "paths"))
    literal, rng = LiteralWalk(graph, settings), random.Random(0)
    numbers = torch.linspace(0, walk.n_paths - 1, min(N_STARTS, walk.n_paths)).long()
    walk.paths(numbers)
    seconds = []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        paths = walk.paths(numbers)
        seconds.append(time.perf_counter() - start)
    triplets = [(s, r, o) for s, r, o in paths[:, :3].tolist()]
    start = time.perf_counter()
    for triplet in triplets:
        literal.sample(triplet, rng)
    literal_seconds = time.perf_counter() - start
    return {
        "starts": len(numbers),
        "literal_us_per_path": literal_seconds / len(numbers) * 1e6,
        "vectorised_us_per_path": min(seconds) / len(numbers) * 1e6,
        "ratio": literal_seconds / min(seconds),
        "ratio_of_the_slowest_repeat": literal_seconds / max(seconds),
    }


def sample_all(graph: WalkGraph, settings: WalkSettings) -> Figures:
    """Time all paths, index included."""
    seconds = []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        table = sample_paths(graph, settings, seed=0, device=CPU)
        seconds.append(time.perf_counter() - start)
    return {
        "paths": table.n_paths,
        "steps": table.length,
        "seconds_best": min(seconds),
        "seconds_worst": max(seconds),
        "paths_per_second": table.n_paths / min(seconds),
        "sha256_seed_0": table.sha256,
    }


if __name__ == "__main__":
    main()
