"""Does a search pay? Default searches against known models and other ways to spend the time.

For each graph, all with the graph's own settings and seeds of their own:

- `search`: the default search of so many seconds, its winner handed over; beside it the best of the
  winner's seeds alone, and the best known model as trained within the search;
- `random`: the same with random proposals, from scratch;
- `tune`: the settings of one known model (ComplEx; RSN for two graphs) tuned as long;
- `known`: known models trained once each, without any search.

Choices are by validation; test is measured once, of what was chosen. Lines are added to a file, and
what is in it already is not done again.

    python benchmarks/searches.py umls WN18RR EN-DE --seconds 120 --seeds 3 --device cuda \
        --out results/benchmarks/searches.jsonl
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch

import interstellar
from interstellar import Budget, Retraining, SearchPlan
from interstellar.data.catalogue import data_root
from interstellar.data.graph import AnyGraph, GraphPair
from interstellar.device import find_device
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import read_experiment
from interstellar.runs.run import name_device
from interstellar.runs.search_plan import StrategyName
from interstellar.searching.judge import TRIALS
from interstellar.searching.retraining import read_state, tuned_settings
from interstellar.searching.search_journal import FINAL
from interstellar.searching.trial import Trial
from interstellar.tasks.splits import Split
from interstellar.tasks.task import network_for, task_for
from lines import Line, read_lines

KNOWN = (
    "ComplEx",
    "DistMult",
    "RSN",
    "Found-DBP-WD",
    "Interstellar-EN-DE",
    "Interstellar-FB15k-237",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+", help="or names of folders in `extra` of the data")
    parser.add_argument("--ways", nargs="+", default=["search", "random", "tune", "known"])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    done = [(line["graph"], line["way"], line["seed"]) for line in read_lines(arguments.out)]
    for name in arguments.graphs:
        graph = load(name)
        for seed in range(arguments.seeds):
            for way, work in ways(arguments, graph, seed):
                if (graph.name, way, seed) not in done:
                    note(arguments, graph, way, seed, work)


def load(name: str) -> AnyGraph:
    folder = data_root() / "extra" / name
    graph: AnyGraph = interstellar.load(folder if folder.is_dir() else name)
    return graph


def ways(
    arguments: argparse.Namespace, graph: AnyGraph, seed: int
) -> Iterator[tuple[str, Callable[[Path], Line]]]:
    common = {"seed": seed, "device": arguments.device, "progress": False}
    budget = Budget(time=arguments.seconds)

    def search(plan: SearchPlan, out: Path) -> Line:
        found = interstellar.search(
            graph,
            plan,
            budget=budget,
            retraining=Retraining(then_train=True),
            out=out,
            workers=arguments.workers,
            **common,
        )
        assert found.model is not None
        gain = None if found.gain is None else found.gain.describe()
        settings = read_experiment(RunFolder.open(out / FINAL).experiment_file).settings
        alone = found.finalists[0].best_run if found.finalists else found.best
        known = None if found.gain is None else found.gain.over
        best = asdict(found.best.result) | {"formula": found.best.formula}
        return {
            "metrics": found.model.metrics,
            "gain": gain,
            "best": best,
            "trials": [describe_trial(trial) for trial in found.trials],
            "settings": dict(found.best.settings),
            "model": str(settings.model),
            "dim": settings.dim,
            "max_epochs": settings.max_epochs,
            "seeds": len(found.finalists[0].runs) if found.finalists else 1,
            "joined": found.n_joined,
            "alone": measure_trial(out, graph, alone, find_device(arguments.device)),
            "known": measure_trial(out, graph, known, find_device(arguments.device)),
        }

    def tune(out: Path) -> Line:
        architecture = "RSN" if isinstance(graph, GraphPair) else "ComplEx"
        tuned = interstellar.tune(
            graph, architecture, budget=budget, out=out, workers=arguments.workers, **common
        )
        model = interstellar.train(
            graph, architecture, settings=tuned, out=out.with_name("tuned"), **common
        )
        return {"metrics": model.metrics, "settings": dict(tuned.best.settings)}

    def train(name: str, out: Path) -> Line:
        return {"metrics": interstellar.train(graph, name, out=out, **common).metrics}

    if "search" in arguments.ways:
        yield "search", lambda out: search(SearchPlan(), out)
    if "random" in arguments.ways:
        yield (
            "random",
            lambda out: search(SearchPlan(strategy=StrategyName.RANDOM, from_scratch=True), out),
        )
    if "tune" in arguments.ways:
        yield "tune", tune
    if "known" in arguments.ways:
        for name in KNOWN:
            yield name, partial(train, name)


def describe_trial(trial: Trial) -> Line:
    result = trial.result
    return {
        "code": trial.code,
        "settings": dict(trial.settings),
        "epochs": result.epochs,
        "score": trial.score,
        "seconds": result.seconds,
    }


def measure_trial(out: Path, graph: AnyGraph, trial: Trial | None, device: torch.device) -> Line:
    """Return the test metrics of a trial at its best epoch, as far as the search has trained it."""
    state = None if trial is None else read_state(out / TRIALS, trial)
    if trial is None or state is None:
        return {"test": None}
    searched = read_experiment(RunFolder.open(out).experiment_file).settings
    settings, task = tuned_settings(searched, trial), task_for(graph)
    network = network_for(task, trial.point, settings)
    for name, parameter in network.named_parameters():
        parameter.data.copy_(state.tensors[f"best.{name}"])
    measured = task.measure(network.to(device), Split.TEST).as_dict()
    return describe_trial(trial) | {"formula": trial.formula, "test": measured}


def note(
    arguments: argparse.Namespace,
    graph: AnyGraph,
    way: str,
    seed: int,
    work: Callable[[Path], Line],
) -> None:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = work(Path(folder) / "run")
    line = {
        "graph": graph.name,
        "way": way,
        "seed": seed,
        "asked_seconds": arguments.seconds,
        "wall_seconds": round(time.perf_counter() - started, 1),
        "device": name_device(find_device(arguments.device)),
        **found,
    }
    print(graph.name, way, seed, line["wall_seconds"], found["metrics"]["test"], flush=True)
    with arguments.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
