"""Does it help to predict relations too? Trainings with several weights of the second loss.

Each graph is trained with each weight and seed, with the graph's own settings unless some are set.
Lines are added to a file, and what is in it already is not done again.

    python benchmarks/relation_prediction.py fb237_v1 fb237_v2 --set dim=128 \
        --out results/benchmarks/relation_prediction.jsonl
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import interstellar
from interstellar.device import find_device
from interstellar.runs.experiment import settings_tables
from interstellar.runs.run import name_device
from lines import Line, read_lines
from propagations import find, read_value

WEIGHTS = (0.0, 0.05, 0.25, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+", help="or folders of `extra` or `inductive`")
    parser.add_argument("--weights", nargs="*", type=float, default=WEIGHTS)
    parser.add_argument("--architecture", default="ComplEx")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    given = {
        name: read_value(value) for name, _, value in (x.partition("=") for x in arguments.set)
    }
    done = read_lines(arguments.out)
    for name in arguments.graphs:
        for seed in range(arguments.seeds):
            for weight in arguments.weights:
                changes = {**given, "relation_prediction": weight}
                line = {"graph": name, "seed": seed, "architecture": arguments.architecture}
                line |= {"set": changes}
                if not any(line.items() <= each.items() for each in done):
                    note(arguments.out, line | measure(arguments, name, seed, changes))


def measure(arguments: argparse.Namespace, name: str, seed: int, changes: dict[str, Any]) -> Line:
    """Train once, and return what came of it."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        model = interstellar.train(
            find(name),
            arguments.architecture,
            seed=seed,
            device=arguments.device,
            out=Path(folder) / "run",
            **changes,
        )
        return {
            "settings": settings_tables(model.trained.experiment.settings),
            "metrics": model.metrics,
            "best_epoch": model.result["best_epoch"],
            "step_ms": model.result["step_ms"],
            "seconds": round(time.perf_counter() - started, 1),
            "device": name_device(find_device(arguments.device)),
        }


def note(out: Path, line: Line) -> None:
    """Add a line to the file, and say the most of it."""
    mrr = {split: round(line["metrics"][split]["mrr"], 4) for split in ("valid", "test")}
    print(line["graph"], line["architecture"], line["seed"], line["set"], mrr, flush=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
