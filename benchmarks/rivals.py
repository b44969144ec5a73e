"""Trains models with a name on a set, several at once, and keeps what came out in results/rivals.

    python benchmarks/rivals.py WN18RR FB15k-237 --models RotatE TransE-distance --seeds 0 1 2 \
        --workers 6 --device cuda
    python benchmarks/rivals.py DBP-WD --iterate 3 --models BootEA IPTransE --device cuda
    python benchmarks/rivals.py WN18RR --models ComplEx --set relation_prediction=0.1 --label RP

Without `--models` all that do the set's task are trained, but for what only the paper's searches
found. Settings are those by rule. One JSON file for each set, model, label and seed; what is there
already is not done again. Alignments are also decoded by CSLS and Sinkhorn.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import interstellar
from interstellar.data.graph import AnyGraph, Task, task_of
from interstellar.device import find_device
from interstellar.records.environment import describe_environment
from interstellar.rivals.catalogue import known_models
from interstellar.runs.experiment import read_experiment, settings_tables
from interstellar.runs.run import name_device
from propagations import find, read_value

DECODINGS = ("csls", "sinkhorn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One training."""

    data: str
    model: str
    seed: int
    label: str
    settings: tuple[tuple[str, Any], ...]
    iterate: int
    device: str
    out: Path

    @property
    def file(self) -> Path:
        """Where its result is kept."""
        label = f"_{self.label}" if self.label else ""
        return self.out / f"{self.data}_{self.model}{label}-seed{self.seed}.json".lower()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="+", help="names, or folders of `extra` or `inductive`")
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings")
    parser.add_argument("--label", default="", help="what a row with other settings is called")
    parser.add_argument("--iterate", type=int, default=0, help="rounds of iterated alignment")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("results/rivals"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = [row for row in list_rows(arguments) if not row.file.exists()]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.workers, mp_context=spawn) as pool:
        trained = {pool.submit(train, row): row for row in rows}
        for done in as_completed(trained):
            try:
                print(trained[done].file.stem, done.result(), flush=True)
            except Exception as error:  # the others go on
                print(trained[done].file.stem, f"failed: {error!r}", flush=True)


def list_rows(arguments: argparse.Namespace) -> list[Row]:
    """Return what is asked for, set by set."""
    pairs = (x.partition("=") for x in arguments.set)
    settings = tuple((name, read_value(value)) for name, _, value in pairs)
    return [
        Row(
            data=data,
            model=model,
            seed=seed,
            label=arguments.label,
            settings=settings,
            iterate=arguments.iterate,
            device=arguments.device,
            out=arguments.out,
        )
        for data in arguments.data
        for seed in arguments.seeds
        for model in arguments.models or models_for(interstellar.load(find(data)))
    ]


def models_for(graph: AnyGraph) -> list[str]:
    """Return every model that people designed for the task of a graph."""
    task = Task(task_of(graph))
    return [m.name for m in known_models() if task in m.tasks and "Interstellar" not in m.name]


def train(row: Row) -> str:
    """Train once, keep what came of it, and return the test metrics."""
    if row.device == "cpu":
        torch.set_num_threads(1)
    started, device = time.perf_counter(), find_device(row.device)
    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, Any] = dict(row.settings)
        model = interstellar.train(
            interstellar.load(find(row.data)),
            row.model,
            seed=row.seed,
            device=row.device,
            out=Path(folder) / "run",
            progress=False,
            **given,
        )
        seconds = round(time.perf_counter() - started, 1)
        experiment = read_experiment(model.path / "experiment.toml")
        peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else None
        kept: dict[str, Any] = {
            "command": f"python benchmarks/rivals.py {row.data} --models {row.model} "
            f"--seeds {row.seed}",
            "device": name_device(device),
            "versions": describe_environment(name_device(device))["versions"],
            "seed": row.seed,
            "data": row.data,
            "model": row.model,
            "label": row.label,
            "settings": settings_tables(experiment.settings),
            "parameters": sum(p.numel() for p in model.trained.network.parameters()),
            "whole_seconds": seconds,
            "peak_bytes": peak,
        }
        kept |= {k: v for k, v in model.result.items() if k not in ("format", "version")}
        if experiment.settings.walk.cross_bias is not None:
            kept["decoded"] = {each: model.evaluate(decode=each) for each in DECODINGS}
        if row.iterate:
            iterated = model.align(iterate=row.iterate, progress=False).iterated
            assert iterated is not None
            kept["iterated"] = [each.as_dict() for each in iterated.rounds]
            kept["best_round"] = iterated.best_round
    row.file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return json.dumps(kept["metrics"]["test"])


if __name__ == "__main__":
    main()
