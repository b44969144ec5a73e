"""Trains models with a name on sets, several at once, and keeps what came out in results/rivals.

    python benchmarks/rivals.py WN18RR FB15k-237 --models RotatE TransE-distance --seeds 0 1 2 \
        --workers 6 --device cuda
    python benchmarks/rivals.py DBP-WD --iterate 3 --models BootEA IPTransE --device cuda
    python benchmarks/rivals.py WN18RR --models ComplEx --set relation_prediction=0.1 --label RP

Without `--models` all that do the set's task are trained, but for what only the paper's searches
found; without sets, the rows of `PLAN`, the most telling first. Settings are those by rule, or with
`--preset paper` those of the paper's row. One JSON file for each set, model, label and seed; what
is there already is not done again. Alignments are also decoded by CSLS and Sinkhorn.

A row that fails, or takes longer than `--row-seconds`, ends alone; after `--seconds` those under
way are given up. Where files do not stay, each result is also a line of `--lines FILE`, and
`--keep FILE` makes files of such lines. Where a card is free for ten minutes at a time, with the
folders `link-prediction` and `entity-alignment` of the data in a folder `carried` there:

    INTERSTELLAR_DATA=carried PYTHONPATH=src python benchmarks/rivals.py --device cuda --mps \
        --workers 4 --row-seconds 500 --seconds 560 --lines LINES
    python benchmarks/rivals.py --keep LINES

Begun by `setsid` and with more `--seconds`, it goes on for as long as the card is held.
"""

import argparse
import json
import os
import shlex
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

import interstellar
from defaults import sharing_card
from interstellar.data.graph import AnyGraph, Task, task_of
from interstellar.device import find_device
from interstellar.engine.engine import OnProgress, Plain, Workbench
from interstellar.engine.local_processes import LocalProcesses
from interstellar.errors import InterstellarError
from interstellar.records.environment import describe_environment
from interstellar.rivals.catalogue import known_models
from interstellar.runs.experiment import read_experiment, settings_tables
from interstellar.runs.run import name_device
from propagations import find, read_value

DECODINGS = ("csls", "sinkhorn")
LINKS, PAIRS = ("WN18RR", "FB15k-237"), ("DBP-WD", "EN-DE", "DBP-YG", "EN-FR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One training."""

    data: str
    model: str
    seed: int = 0
    label: str = ""
    preset: str | None = None
    settings: Plain = field(default_factory=dict)
    iterate: int = 0

    @property
    def command(self) -> str:
        """What trains it."""
        parts = [self.data, "--models", self.model, "--seeds", str(self.seed)]
        parts += ["--preset", self.preset] if self.preset else []
        parts += ["--iterate", str(self.iterate)] if self.iterate else []
        parts += ["--set", *(f"{k}={v}" for k, v in self.settings.items())] if self.settings else []
        parts += ["--label", self.label] if self.label else []
        return shlex.join(["python", "benchmarks/rivals.py", *parts])


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows that go together."""

    sets: tuple[str, ...]
    models: tuple[str, ...]
    label: str = ""
    preset: str | None = None
    settings: Plain = field(default_factory=dict)
    iterate: int = 0

    def rows(self, seed: int) -> Iterator[Row]:
        """Yield them with a seed."""
        for model in self.models:
            for data in self.sets:
                yield Row(
                    data=data,
                    model=model,
                    seed=seed,
                    label=self.label,
                    preset=self.preset,
                    settings=self.settings,
                    iterate=self.iterate,
                )


PLAN = (
    Batch(sets=PAIRS, models=("Dual-AMN", "GCN-Align", "VR-GCN", "R-GCN")),
    Batch(sets=PAIRS, models=("BootEA", "IPTransE"), iterate=3),
    Batch(sets=LINKS, models=("PTransE-add", "RotatE", "ConvE", "TransE-distance", "R-GCN")),
    Batch(
        sets=LINKS[1:],
        models=("ComplEx",),
        label="relation prediction",
        settings={"dim": 2048, "relation_prediction": 4.0},
    ),
    Batch(sets=PAIRS, models=("RSN", "Chains", "TransE", "PTransE-add", "TransD")),
    Batch(
        sets=LINKS,
        models=("RSN", "PTransE-add", "TransE"),
        label="published settings",
        preset="paper",
    ),
    Batch(sets=PAIRS, models=("RSN-LSTM", "TransE-distance")),
    Batch(sets=LINKS, models=("TuckER", "CompGCN", "TransE", "DistMult", "RESCAL", "TransD")),
    Batch(sets=LINKS[:1], models=("AutoSF-WN18RR",)),
    Batch(sets=LINKS[1:], models=("AutoSF-FB15k-237",)),
    Batch(sets=LINKS, models=("RSN-LSTM",)),
)
"""ComplEx by rule is not among them: `results/benchmarks/defaults` has it with three seeds."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", help="names, or folders of `extra` or `inductive`")
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings")
    parser.add_argument("--preset", help="paper, for the settings of the paper's row")
    parser.add_argument("--label", default="", help="what a row with other settings is called")
    parser.add_argument("--iterate", type=int, default=0, help="rounds of iterated alignment")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--mps", action="store_true", help="share the card by NVIDIA MPS")
    parser.add_argument("--row-seconds", type=float, default=86_400.0, help="at most, for a row")
    parser.add_argument("--seconds", type=float, default=86_400.0, help="at most, for all")
    parser.add_argument("--lines", type=Path, help="a file that results are appended to")
    parser.add_argument("--keep", type=Path, help="such a file, to make files of its lines")
    parser.add_argument("--out", type=Path, default=Path("results/rivals"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.keep is not None:
        for line in arguments.keep.read_text(encoding="utf-8").splitlines():
            note(json.loads(line), arguments.out)
        return
    rows = list_rows(arguments)
    rows = [row for row in rows if not file_of(asdict(row), arguments.out).exists()]
    with sharing_card(is_wanted=arguments.mps):
        train_all(rows, arguments)


def list_rows(arguments: argparse.Namespace) -> list[Row]:
    """Return what is asked for: of the plan seed by seed, else set by set."""
    if not arguments.data:
        return [row for seed in arguments.seeds for batch in PLAN for row in batch.rows(seed)]
    pairs = (x.partition("=") for x in arguments.set)
    told: dict[str, Any] = {
        "label": arguments.label,
        "preset": arguments.preset,
        "settings": {name: read_value(value) for name, _, value in pairs},
        "iterate": arguments.iterate,
    }
    return [
        Row(data=data, model=model, seed=seed, **told)
        for data in arguments.data
        for seed in arguments.seeds
        for model in arguments.models or models_for(interstellar.load(find(data)))
    ]


def models_for(graph: AnyGraph) -> list[str]:
    """Return every model that people designed for the task of a graph."""
    task = Task(task_of(graph))
    return [m.name for m in known_models() if task in m.tasks and "Interstellar" not in m.name]


def train_all(rows: list[Row], arguments: argparse.Namespace) -> None:
    """Train rows by several processes, and note down each as it ends."""
    # Workers import what they do by its name, which is not that of the program that is run.
    from rivals import build  # noqa: PLC0415

    ends_at, waiting = time.monotonic() + arguments.seconds, list(enumerate(rows))
    under_way: set[int] = set()
    devices = [arguments.device] * arguments.workers
    told = {"row_seconds": arguments.row_seconds}
    with closing(LocalProcesses(build, told, devices, len(rows))) as engine:
        while waiting or under_way:
            while waiting and engine.n_free and time.monotonic() < ends_at:
                number, row = waiting.pop(0)
                engine.start(number, asdict(row))
                under_way.add(number)
            if not under_way:
                break
            for done in engine.wait(ends_at):
                under_way.remove(done.number)
                row, result = rows[done.number], done.outcome or {"failed": done.failure}
                if "failed" not in result:
                    note(result, arguments.out, arguments.lines)
                print(row.command, result.get("failed") or result["metrics"]["test"], flush=True)
    for _, row in waiting:
        print(row.command, "not begun", flush=True)


def file_of(row: Plain, out: Path) -> Path:
    """Return where the result of a row is kept; the result says what the row was."""
    label = f"_{row['label']}" if row["label"] else ""
    name = f"{row['data']}_{row['model']}{label}-seed{row['seed']}.json"
    return out / name.lower().replace(" ", "-")


def note(result: Plain, out: Path, lines: Path | None = None) -> None:
    """Keep a result, and append it to a file of lines."""
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    file_of(result, out).write_text(text, encoding="utf-8")
    if lines is not None:
        with lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")


def build(told: Plain, device: str) -> Workbench:
    """Return what trains a row in a process of its own."""
    if device == "cpu":
        torch.set_num_threads(1)
    load = cache(lambda data: interstellar.load(find(data)))

    def work(piece: Plain, _: OnProgress) -> Plain:
        row = Row(**piece)
        try:
            with at_most(told["row_seconds"]):
                return train(row, load(row.data), device)
        except (InterstellarError, TimeoutError) as error:
            return {"failed": str(error)}
        except Exception as error:  # the others go on; not in this process, whose card may be ill
            print(f"{row.command}: {error!r}", flush=True)
            os._exit(1)

    return work


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError where what is done inside takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"took longer than {seconds:g} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def train(row: Row, graph: AnyGraph, device_name: str) -> Plain:
    """Train once, and return what came of it."""
    started, device = time.perf_counter(), find_device(device_name)
    with tempfile.TemporaryDirectory() as folder:
        model = interstellar.train(
            graph,
            row.model,
            preset=row.preset,
            seed=row.seed,
            device=device,
            out=Path(folder) / "run",
            progress=False,
            **row.settings,
        )
        seconds = round(time.perf_counter() - started, 1)
        settings = read_experiment(model.path / "experiment.toml").settings
        kept: Plain = {
            "command": row.command,
            "device": name_device(device),
            "versions": describe_environment(name_device(device))["versions"],
            "seed": row.seed,
            "data": row.data,
            "model": row.model,
            "label": row.label,
            "settings": settings_tables(settings),
            "parameters": sum(p.numel() for p in model.trained.network.parameters()),
            "whole_seconds": seconds,
        }
        kept |= {k: v for k, v in model.result.items() if k not in ("format", "version")}
        if settings.walk.cross_bias is not None:
            kept["decoded"] = {each: model.evaluate(decode=each) for each in DECODINGS}
        if row.iterate:
            iterated = model.align(iterate=row.iterate, progress=False).iterated
            assert iterated is not None
            kept["iterated"] = [each.as_dict() for each in iterated.rounds]
            kept["best_round"] = iterated.best_round
    return kept


if __name__ == "__main__":
    main()
