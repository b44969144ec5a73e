"""Walks or a propagation? What a search finds out in the first moments, and what that costs.

For each graph both kinds of model are trained as a search of so many seconds would
(`searching/model_choice.py`), also where the search would not try because it expects too little.
Lines are added to a file.

    python benchmarks/model_choice.py WN18RR_v1 fb237_v1 synthetic:entities=1000 --seconds 600 \
        --device cpu --threads 1 --out results/benchmarks/model_choice.jsonl
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import torch

import interstellar
from interstellar.data.graph import KnowledgeGraph
from interstellar.device import find_device
from interstellar.runs.run import name_device
from interstellar.searching.model_choice import (
    HEAT_SHARE,
    compare_models,
    estimate_seconds,
    run_heat,
)
from interstellar.workflow.chosen_model import compared_experiments
from propagations import find


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+", help="or folders of `extra` or `inductive`")
    parser.add_argument("--seconds", type=float, default=600.0, help="of the search")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    device = find_device(arguments.device)
    for name in arguments.graphs:
        graph = interstellar.load(find(name))
        assert isinstance(graph, KnowledgeGraph)
        line = {"graph": graph.name, "seconds": arguments.seconds, "seed": arguments.seed}
        line |= {"device": name_device(device), "threads": torch.get_num_threads()}
        line |= compare(graph, arguments.seconds, arguments.seed, device)
        print(json.dumps(line), flush=True)
        with arguments.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def compare(
    graph: KnowledgeGraph, seconds: float, seed: int, device: torch.device
) -> dict[str, object]:
    """Return what the search expects, what it chooses, and what both come to in any case."""
    experiments = compared_experiments(graph, seed, device)
    started = time.perf_counter()
    expected = estimate_seconds(graph, experiments[1].settings, device)
    heats = compare_models(graph, experiments, seconds, device)
    chosen, whole = heats[0].model if heats else None, time.perf_counter() - started
    heats = heats or [
        heat
        for each in experiments
        if (heat := run_heat(graph, each, HEAT_SHARE * seconds, device)) is not None
    ]
    return {
        "expected_seconds": round(expected, 1),
        "chosen": chosen,
        "whole_seconds": round(whole, 1),
        "heats": [asdict(heat) for heat in heats],
    }


if __name__ == "__main__":
    main()
