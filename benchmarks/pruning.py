"""What pruning trials saves, and what it costs.

Replays the journals of searches without it (`interstellar search --no-prune`) under the rule of
`searching/trials.py`, in the order in which trials ended: which would have been stopped and when,
how many validations that saves, and the regret: by how much the best score would be lower. (A
strategy that learns would have been told the lower scores and gone elsewhere; with `--strategy
random` the replay is exact.) `--shuffles N` also replays N other orders.

    python benchmarks/pruning.py RUN … [--shuffles 100] [--json FILE]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from interstellar.records.run_folder import RunFolder
from interstellar.searching.trials import prune_bar, should_prune
from report import print_figures

Curve = list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--shuffles", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    for run in arguments.runs:
        figures = measure(run, arguments.shuffles)
        print_figures(figures, arguments.json)


def measure(run: Path, n_shuffles: int) -> dict[str, Any]:
    curves = read_curves(run)
    as_it_was = replay(curves)
    rng = np.random.default_rng(0)
    others = [replay([curves[i] for i in rng.permutation(len(curves))]) for _ in range(n_shuffles)]
    return {
        "run": run.name,
        "trials": len(curves),
        "best": max(max(curve) for curve in curves),
        "stopped": as_it_was["stopped"],
        "validations_saved": round(as_it_was["saved"], 3),
        "regret": as_it_was["regret"],
        "other_orders": n_shuffles,
        "other_orders_mean_saved": round(float(np.mean([o["saved"] for o in others])), 3),
        "other_orders_mean_regret": float(np.mean([o["regret"] for o in others])),
        "other_orders_with_regret": sum(o["regret"] > 0 for o in others),
    }


def read_curves(run: Path) -> list[Curve]:
    """Return the scores at each validation of all trials that were trained to their end."""
    ended: list[dict[str, Any]] = [
        event for event in RunFolder.open(run).read_events() if event["event"] == "ended"
    ]
    if any(event.get("stopped") for event in ended):
        raise SystemExit(f"{run} was a search with pruning: some of its trials were stopped.")
    return [event["curve"] for event in ended if event.get("curve") and not event.get("reused")]


def replay(curves: Sequence[Curve]) -> dict[str, float]:
    """Return what the rule does to trials that end in this order."""
    complete: list[Curve] = []
    best, n_stopped, n_saved = 0.0, 0, 0
    for curve in curves:
        bar = prune_bar(complete)
        end = next((k for k in range(1, len(curve)) if should_prune(curve[:k], bar)), len(curve))
        best = max(best, *curve[:end])
        if end == len(curve):
            complete.append(curve)
        else:
            n_stopped += 1
            n_saved += len(curve) - end
    n_all = sum(len(curve) for curve in curves)
    true_best = max(max(curve) for curve in curves)
    return {"stopped": n_stopped, "saved": n_saved / n_all, "regret": true_best - best}


if __name__ == "__main__":
    main()
