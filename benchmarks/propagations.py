"""How good are propagations? Trainings by default, and what they know of entities never seen.

Each graph is trained with each seed, with the graph's own settings unless some are set. Where its
folder has a neighbour of the same name with `_ind` (the sets of GraIL), the run is asked about that
graph too, whose entities it never saw: among all of them, and among 50 drawn ones as GraIL does.
Lines are added to a file, and what is in it already is not done again.

    python benchmarks/propagations.py WN18RR umls fb237_v1 --seeds 0 1 2 --device cuda \
        --out results/benchmarks/propagations.jsonl --set epochs=10 precision=mixed
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import interstellar
from interstellar.data.catalogue import data_root
from interstellar.device import find_device
from interstellar.runs.experiment import settings_tables
from interstellar.runs.run import name_device
from lines import Line, read_lines

MESSAGE = "O_r = h ⊙ r; v = O_r"
N_NEGATIVES = 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+", help="or folders of `extra` or `inductive`")
    parser.add_argument("--model", default="propagation", help="or walks, to compare with")
    parser.add_argument("--architecture", default=MESSAGE)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    given = {
        name: read_value(value) for name, _, value in (x.partition("=") for x in arguments.set)
    }
    wanted = {"architecture": arguments.architecture, "set": given}
    if arguments.model != "propagation":
        wanted |= {"model": arguments.model}
    done = read_lines(arguments.out)
    for seed in arguments.seeds:
        for name in arguments.graphs:
            line = {"graph": name, "seed": seed, **wanted}
            if not any(line.items() <= each.items() for each in done):
                found = measure(arguments, name, seed, given)
                note(arguments.out, line | found)


def read_value(text: str) -> int | float | str:
    """Return a number where it is one."""
    try:
        return json.loads(text)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        return text


def find(name: str) -> str | Path:
    """Return the folder of a graph, or the name of a set."""
    folders = (data_root() / group / name for group in ("inductive", "extra"))
    return next((folder for folder in folders if folder.is_dir()), name)


def measure(arguments: argparse.Namespace, name: str, seed: int, given: dict[str, Any]) -> Line:
    """Train once, and return what came of it."""
    source, started = find(name), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        model = interstellar.train(
            source,
            arguments.architecture,
            model=arguments.model,
            seed=seed,
            device=arguments.device,
            out=Path(folder) / "run",
            **given,
        )
        found: Line = {
            "settings": settings_tables(model.trained.experiment.settings),
            "metrics": model.metrics,
            "best_epoch": model.result["best_epoch"],
            "step_ms": model.result["step_ms"],
            "seconds": round(time.perf_counter() - started, 1),
            "device": name_device(find_device(arguments.device)),
        }
        unseen = Path(f"{source}_ind")
        if unseen.is_dir() and arguments.model == "propagation":
            asked = interstellar.open(model.path, graph=unseen)
            among_few = asked.evaluate(negatives=N_NEGATIVES)
            found |= {"unseen": asked.evaluate(), f"unseen_among_{N_NEGATIVES}": among_few}
    return found


def note(out: Path, line: Line) -> None:
    """Add a line to the file, and say the most of it."""
    unseen = {k: round(v["mrr"], 4) for k, v in line.items() if k.startswith("unseen")}
    test = round(line["metrics"]["test"]["mrr"], 4)
    print(line["graph"], line["seed"], line["set"], test, unseen, line["seconds"], flush=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
