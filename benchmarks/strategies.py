"""The strategies against each other on several graphs, over several seeds, with equal time.

Each search is `interstellar.search` from scratch, with rungs as always, on one thread of the CPU;
networks are small and trained for few epochs, so that a search of seconds has many trials. All
strategies search architectures under the graph's own settings; the supernets of DARTS and one-shot
are trained as long as there is time.

`run` adds one line a search to a file, as soon as it ends; what is in the file is not done again.
Seeds are the outer loop, so that a part of a run compares all strategies too. `report` reads
such files: the best validation score so far after some trials, and after some of the time, as mean
over seeds with bootstrap intervals. A search that ends earlier keeps its best.

    python benchmarks/strategies.py run kinships ef500:40 --out lines.jsonl --processes 8
    python benchmarks/strategies.py report lines.jsonl --markdown table.md --svg curves.svg
"""

import argparse
import json
import math
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import torch

import interstellar
from interstellar import Budget, InterstellarError, SearchPlan
from interstellar.data.graph import AnyGraph, GraphPair
from interstellar.device import find_device
from interstellar.runs.run import name_device
from interstellar.runs.search_plan import STRATEGIES, StrategyName
from interstellar.training.settings import TrainingSettings
from interstellar.workflow.given import trial_settings
from lines import Line, read_lines
from searches import load
from strategies_report import after_share, n_trials_of, report

GRAPHS = ("nations", "kinships", "WN18RR_v1:40", "fb237_v1", "fb237_v2:40", "ef500:40")
SUPERNETS = (StrategyName.DARTS, StrategyName.ONE_SHOT)
ENDLESS_EPOCHS = 1_000_000
"""Of a supernet, which stops when the time is over."""
PAIR_PATHS = 3
"""Steps of a path where two graphs are aligned."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    running = modes.add_parser("run", help="search, and add lines to a file")
    running.add_argument("graphs", nargs="*", default=GRAPHS, help="`kinships`, `kinships:40`")
    running.add_argument("--strategies", nargs="+", type=StrategyName, default=STRATEGIES)
    running.add_argument("--seeds", type=int, default=10)
    running.add_argument("--seconds", type=float, default=20.0, help="where a graph names none")
    running.add_argument("--dim", type=int, default=32)
    running.add_argument("--epochs", type=int, default=9)
    running.add_argument("--processes", type=int, default=1)
    running.add_argument("--until", type=float, help="seconds after which no search begins")
    running.add_argument("--out", type=Path, required=True)
    reporting = modes.add_parser("report", help="sum lines up")
    reporting.add_argument("files", nargs="+", type=Path)
    reporting.add_argument("--markdown", type=Path)
    reporting.add_argument("--svg", type=Path)
    arguments = parser.parse_args()
    if arguments.mode == "run":
        run(arguments)
    else:
        report(arguments.files, markdown=arguments.markdown, svg=arguments.svg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search to be done."""

    graph: str
    strategy: StrategyName
    seed: int
    seconds: float
    dim: int
    epochs: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.graph, str(self.strategy), self.seed


def run(arguments: argparse.Namespace) -> None:
    """Do what is not in the file yet, in this process or several."""
    done = {(line["graph"], line["strategy"], line["seed"]) for line in read_lines(arguments.out)}
    searches = [search for search in list_searches(arguments) if search.key not in done]
    ends = math.inf if arguments.until is None else time.time() + arguments.until
    work = partial(do_in_time, ends=ends)
    if arguments.processes == 1:
        prepare()
        add_lines(map(work, searches), arguments.out, len(searches))
        return
    spawning = multiprocessing.get_context("spawn")
    with spawning.Pool(arguments.processes, initializer=prepare) as pool:
        add_lines(pool.imap_unordered(work, searches), arguments.out, len(searches))


def list_searches(arguments: argparse.Namespace) -> Iterator[Search]:
    for seed in range(arguments.seeds):
        for name in arguments.graphs:
            graph, _, seconds = name.partition(":")
            for strategy in arguments.strategies:
                yield Search(
                    graph=graph,
                    strategy=strategy,
                    seed=seed,
                    seconds=float(seconds or arguments.seconds),
                    dim=arguments.dim,
                    epochs=arguments.epochs,
                )


def prepare() -> None:
    """Let a process have one thread, and load what would be loaded in the time of a search."""
    torch.set_num_threads(1)
    for module in ("interstellar.searching.search_run", "optuna.samplers"):
        with suppress(ImportError):
            import_module(module)


def add_lines(lines: Iterator[Line | None], file: Path, n: int) -> None:
    for i, line in enumerate(lines, 1):
        if line is None:
            continue
        with file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(line) + "\n")
        name = f"{line['graph']:10} {line['strategy']:9} seed {line['seed']}"
        best, n_trials = after_share(1.0)(line), n_trials_of(line)
        told = line["failure"] or f"{n_trials:3} trials, {best:.4f}, {line['wall']} s"
        print(f"{i:3}/{n} {name}: {told}", flush=True)


def do_in_time(search: Search, *, ends: float) -> Line | None:
    return do(search) if time.time() < ends else None


load_once = cache(load)


def do(search: Search) -> Line:
    """Search, and return what the journal says of it."""
    graph, plan = load_once(search.graph), plan_of(search.strategy)
    settings = settings_of(search, graph, plan)
    started, failure = time.perf_counter(), None
    with tempfile.TemporaryDirectory() as folder:
        try:
            interstellar.search(
                graph,
                plan,
                budget=Budget(time=search.seconds),
                seed=search.seed,
                device="cpu",
                out=Path(folder) / "run",
                workers=1,
                settings=settings,
                epochs=search.epochs,  # said so, time does not change it
                progress=False,
            )
        except InterstellarError as error:
            failure = str(error)
        journal = read_lines(Path(folder) / "run" / "journal.jsonl")
    return {
        "graph": search.graph,
        "strategy": str(search.strategy),
        "seed": search.seed,
        "seconds": search.seconds,
        "wall": round(time.perf_counter() - started, 1),
        "settings": {
            "dim": settings.dim,
            "epochs": settings.max_epochs,
            "path_length": settings.walk.length,
        },
        "device": name_device(find_device("cpu")),
        **read_journal(journal),
        "failure": failure,
    }


def settings_of(search: Search, graph: AnyGraph, plan: SearchPlan) -> TrainingSettings:
    """Return the graph's own settings, with small networks that are soon compared."""
    own = trial_settings(graph, plan)
    walk = replace(own.walk, length=PAIR_PATHS) if isinstance(graph, GraphPair) else own.walk
    return replace(own, dim=search.dim, max_epochs=search.epochs, validate_every=1, walk=walk)


def plan_of(name: StrategyName) -> SearchPlan:
    return SearchPlan(
        strategy=name,
        from_scratch=True,
        architecture_only=name is StrategyName.SURROGATE,
        supernet_epochs=ENDLESS_EPOCHS if name in SUPERNETS else None,
    )


def read_journal(journal: Sequence[Line]) -> Line:
    """Return the ends of rungs as [elapsed, number, epochs, score], and what supernets took.

    Proposals that were tried before, and so cost nothing, are left out.
    """
    trials = {e["number"] for e in journal if e["event"] == "proposed" and e["kind"] == "trial"}
    ends = [e for e in journal if e["event"] in ("ended", "unfinished") and "score" in e]
    supernets = [e for e in ends if e["number"] not in trials]
    return {
        "events": [
            [e["elapsed"], e["number"], e["epochs"], e["score"]]
            for e in ends
            if e["number"] in trials and "reused" not in e
        ],
        "supernets": len(supernets),
        "supernet_seconds": round(sum(e["seconds"] for e in supernets), 1),
    }


if __name__ == "__main__":
    main()
