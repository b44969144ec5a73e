"""What `align --iterate` gains: Hits@1 on test pairs before and after rounds of training on.

    python benchmarks/iterate.py [--pairs 3] [--known 150] [--json FILE]

Two noisy copies of geography-S1 (as in `small_alignment.py`), trained once with the settings of
small alignments and then iterated by each way of proposing seeds; "no new seeds" trains on for as
many epochs with the seeds it has. Scored is the round that validation chose. Test pairs are about a
hundred, so a difference of a few points is chance: `standard_error` says how much.
"""

import argparse
import math
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import interstellar as ist
from interstellar.evaluation.similarity import Decoding
from interstellar.inference.iterated_alignment import IterationSettings, iterate_run
from interstellar.runs.training_run import train_run
from report import write_report
from small_alignment import make_pair

CPU = torch.device("cpu")
ARCHITECTURE = "RSN"
DATA = "geography-S1"
WAYS = {
    "csls": IterationSettings(),
    "cosine": IterationSettings(decoding=Decoding.COSINE),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--known", type=int, default=150, help="pairs; a tenth for validation")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = [measure(seed, arguments) for seed in range(arguments.pairs)]
    facts = {
        "benchmark": "iterate",
        "architecture": ARCHITECTURE,
        "data": DATA,
        "known": arguments.known,
        "rounds": arguments.rounds,
        "rows": rows,
    }
    write_report(arguments.json, facts)


def measure(seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train one pair of graphs and iterate it in every way."""
    graph = make_pair(DATA, arguments.known, seed)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        started = time.perf_counter()
        model = ist.train(graph, ARCHITECTURE, out=run, device="cpu", progress=False)
        before = hits(model.metrics["test"])
        row: dict[str, Any] = {"seed": seed, "n_test": len(graph.test), "the run itself": before}
        row["standard_error"] = math.sqrt(before * (1 - before) / len(graph.test))
        row["no new seeds"] = train_on_alone(model, Path(folder) / "alone")
        for name, settings in WAYS.items():
            copy = Path(folder) / "copy"
            shutil.copytree(run, copy)
            iterated = iterate_run(copy, n_rounds=arguments.rounds, device=CPU, settings=settings)
            row[name] = hits(iterated.rounds[iterated.best_round].test)
            row[f"{name}: rounds"] = [found.as_dict() for found in iterated.rounds]
            shutil.rmtree(copy)
        row["seconds"] = round(time.perf_counter() - started, 1)
    print({key: value for key, value in row.items() if "rounds" not in key}, flush=True)
    return row


def train_on_alone(model: ist.Model, out: Path) -> float:
    """Return the hits of training on as long as all rounds do, with the seeds there are."""
    experiment = model.trained.experiment
    epochs = 3 * IterationSettings().epochs
    parameters = dict(model.trained.network.named_parameters())
    result = train_run(
        replace(experiment, settings=replace(experiment.settings, max_epochs=epochs)),
        out,
        device=CPU,
        graph=model.graph,
        initial={name: tensor.detach() for name, tensor in parameters.items()},
    )
    return hits(result["metrics"]["test"])


def hits(metrics: Any) -> float:
    return float(metrics["hits@1"])


if __name__ == "__main__":
    main()
