"""Trains experiments with several seeds and keeps what came out in `results/`.

    python scripts/run_experiments.py experiments/dbp_wd_alignment.toml … --seeds 0 1 2 \
        --device cuda --commit $(git rev-parse HEAD) [--runs DIR] [--results DIR]

Goes on where it stopped: what has a file in the results is left out, what has a run folder is
resumed. One JSON file per experiment and seed.
"""

import argparse
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from interstellar.device import find_device
from interstellar.records.environment import describe_environment
from interstellar.runs.experiment import read_experiment, settings_tables
from interstellar.runs.run import name_device
from interstellar.runs.training_run import train_run
from interstellar.training.loop import EpochReport, Training


def main() -> None:
    """Train whatever has no result yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default="unknown", help="of the code, where git is not at hand")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    for file in arguments.experiments:
        for seed in arguments.seeds:
            path = arguments.results / f"{file.stem}-seed{seed}.json"
            if not path.exists():
                run_one(file, seed, path, arguments)


def run_one(file: Path, seed: int, path: Path, arguments: argparse.Namespace) -> None:
    """Train one experiment with one seed and write its result."""
    device = find_device(arguments.device)
    experiment = replace(read_experiment(file), seed=seed)
    result = train_run(
        experiment,
        arguments.runs / path.stem,
        device=device,
        resume=True,
        observer=EpochLines(),
    )
    kept: dict[str, Any] = {
        "command": f"interstellar train {shlex.quote(experiment.data)} --settings {file} "
        f"--architecture {shlex.quote(experiment.architecture)} --seed {seed} "
        f"--device {device.type} --out RUN",
        "commit": arguments.commit,
        "device": name_device(device),
        "versions": describe_environment(name_device(device))["versions"],
        "seed": seed,
        "data": experiment.data,
        "architecture": experiment.architecture,
        "settings": settings_tables(experiment.settings),
    }
    kept |= {key: value for key, value in result.items() if key not in ("format", "version")}
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(path.stem, json.dumps(result["metrics"]["test"]), result["best_epoch"], flush=True)


class EpochLines:
    """Prints one line an epoch."""

    def on_step(self, n_done: int, n_steps: int) -> None:
        pass

    def on_epoch(self, report: EpochReport, _training: Training) -> None:
        valid = report.valid or {}
        print(
            f"  epoch {report.epoch} loss {report.loss:.4f} step {report.step_ms:.3f} ms "
            f"train {report.train_seconds:.3f} s valid {report.valid_seconds:.3f} s "
            f"hits@1 {valid.get('hits@1', 0):.4f} mrr {valid.get('mrr', 0):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
