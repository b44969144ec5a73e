"""Which settings train a graph well: random points of a grid on many graphs, and what they say.

    python benchmarks/defaults.py draw --graphs umls WN18RR --architectures ComplEx RSN \
        --seconds 420 --train-seconds 6 --processes 12 --mps --device cuda --out drawn.jsonl
    python benchmarks/defaults.py fit drawn.jsonl
    python benchmarks/defaults.py check --graphs umls --architectures ComplEx --out checked.jsonl

`draw` trains the points of `draw_settings`; the n-th point of a seed is the same on all graphs.
Graphs take turns, such that all get the same time. Nothing stops early: a training lasts for
`--rows` rows (steps of paths) or `--train-seconds`, validated at epochs 1, 2, 3, 5, 7, 10, 14, …;
test is not looked at. A loss that is no number, or too little memory, is a result.

`check` trains graphs by the package's own rule for settings, or by a JSON file of what differs from
it, {graph or "*": {setting: value}}, and measures test at the best epoch of validation.

`fit` sums up lines of `draw`: the best of each graph; for each option what is to be had with it, as
a share of the graph's best; and the points that are good on all graphs.

A graph is anything that `interstellar.load` takes, or the name of a folder in `extra` of the data.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import final

import torch

from defaults_fit import describe_line, report
from defaults_trial import ENDLESS, Line, Piece, do
from interstellar.training.settings import Metric


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    draw, check, fit = (modes.add_parser(name) for name in ("draw", "check", "fit"))
    for mode in (draw, check):
        mode.add_argument("--graphs", nargs="+", required=True)
        mode.add_argument("--architectures", nargs="+", required=True)
        mode.add_argument("--seconds", type=float, default=math.inf, help="of all together")
        mode.add_argument("--processes", type=int, default=1)
        mode.add_argument("--mps", action="store_true", help="share the card by NVIDIA MPS")
        mode.add_argument("--device", default="auto")
        mode.add_argument("--out", type=Path, required=True, help="lines are added to it")
    draw.add_argument("--points", type=int, default=ENDLESS, help="of a graph, at most")
    draw.add_argument("--rows", type=float, default=math.inf, help="of a training, at most")
    draw.add_argument("--train-seconds", type=float, default=math.inf, help="of a training")
    draw.add_argument("--seed", type=int, default=0)
    draw.add_argument("--narrow", action="store_true", help="near what the study found good")
    check.add_argument("--rule", default="python", help="or a JSON file of what differs from it")
    check.add_argument("--seeds", type=int, default=3)
    fit.add_argument("files", nargs="+", type=Path)
    fit.add_argument("--metric", type=Metric, default=Metric.MRR)
    arguments = parser.parse_args()
    match arguments.mode:
        case "draw":
            train_all(arguments, Turns(arguments))
        case "check":
            train_all(arguments, list_checks(arguments))
        case _:
            report(arguments.files, arguments.metric)


@final
class Turns:
    """Hands out points until time is up, always of the graph that has had the least time."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._ends_at = time.time() + arguments.seconds
        self._seconds = dict.fromkeys(arguments.graphs, 0.0)
        self._lasted: dict[str, list[float]] = {graph: [] for graph in arguments.graphs}
        self._n_points = dict.fromkeys(arguments.graphs, 0)
        self._lent: dict[tuple[str, int], float] = {}

    def __iter__(self) -> "Turns":
        return self

    def __next__(self) -> Piece:
        given = self._arguments
        open_graphs = [g for g in given.graphs if self._n_points[g] < given.points]
        if not open_graphs or time.time() > self._ends_at:
            raise StopIteration
        graph = min(open_graphs, key=self._seconds.__getitem__)
        point = self._n_points[graph]
        self._n_points[graph] += 1
        # What it will last is not known yet.
        self._lent[graph, point] = statistics.fmean(self._lasted[graph] or [1.0])
        self._seconds[graph] += self._lent[graph, point]
        return Piece(
            graph=graph,
            architecture=given.architectures[point % len(given.architectures)],
            device=given.device,
            seed=given.seed,
            point=point,
            is_narrow=given.narrow,
            rule={},
            rows=given.rows,
            train_seconds=given.train_seconds,
            ends_at=self._ends_at,
        )

    def take_note(self, line: Line) -> None:
        """Take note of how long a point has lasted."""
        graph, seconds = line["graph"], line["seconds"]
        self._lasted[graph].append(seconds)
        self._seconds[graph] += seconds - self._lent.pop((graph, line["point"]))


def list_checks(arguments: argparse.Namespace) -> Iterator[Piece]:
    is_file = arguments.rule != "python"
    rules = json.loads(Path(arguments.rule).read_text()) if is_file else {}
    ends_at = time.time() + arguments.seconds
    for seed in range(arguments.seeds):
        for graph in arguments.graphs:
            for architecture in arguments.architectures:
                if time.time() < ends_at:
                    yield Piece(
                        graph=graph,
                        architecture=architecture,
                        device=arguments.device,
                        seed=seed,
                        rule=rules.get(graph, rules.get("*", {})),
                        ends_at=ends_at,
                    )


def train_all(arguments: argparse.Namespace, pieces: Turns | Iterator[Piece]) -> None:
    """Train the pieces in processes of their own, and append their lines to the file."""
    os.environ["OMP_NUM_THREADS"] = "1"
    n_processes, under_way = arguments.processes, set[Future[Line]]()
    with (
        sharing_card(is_wanted=arguments.mps),
        ProcessPoolExecutor(n_processes, get_context("spawn"), torch.set_num_threads, (1,)) as pool,
        arguments.out.open("a", encoding="utf-8") as file,
    ):
        while True:
            while len(under_way) < n_processes and (piece := next(pieces, None)):
                under_way.add(pool.submit(do, piece))
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for line in (future.result() for future in done):
                if isinstance(pieces, Turns):
                    pieces.take_note(line)
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(describe_line(line), flush=True)


@contextmanager
def sharing_card(*, is_wanted: bool) -> Iterator[None]:
    """Let processes compute on one card at the same time, where MPS is to be had and works."""
    if not is_wanted:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        names = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")
        os.environ.update(dict.fromkeys(names, folder))
        control, probe = (
            "nvidia-cuda-mps-control",
            "import torch; torch.zeros(9).cuda().sum().item()",
        )
        try:
            subprocess.run([control, "-d"], check=True, timeout=30)
            subprocess.run([sys.executable, "-c", probe], check=True, timeout=90)
            print("MPS: on", flush=True)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"MPS: off, {error}", flush=True)
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run([control], input=b"quit\n", check=False, timeout=30)
            for name in names:
                del os.environ[name]
        try:
            yield
        finally:
            if names[0] in os.environ:
                subprocess.run([control], input=b"quit\n", check=False, timeout=30)


if __name__ == "__main__":
    main()
