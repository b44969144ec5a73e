"""A whole search, timed: wall clock, trials, how busy the GPU was, what the controller cost.

    python benchmarks/search.py DBP-WD --trials 100 --device cuda --workers 2 --out RUN --json FILE

Goes on where it was stopped when called again with the same `--out`; the time of all calls counts.
How busy the card is, is read from `nvidia-smi` every half second while trials run.
"""

import argparse
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import interstellar
from interstellar.data.graph import task_of
from interstellar.device import find_device
from interstellar.runs.experiment import ANY, Experiment
from interstellar.runs.search_plan import Budget, SearchPlan, StrategyName
from interstellar.searching.search_loop import SearchLoop
from interstellar.searching.search_run import build_strategy, search_run
from interstellar.searching.trial import TrialResult
from interstellar.searching.workers import Workers
from interstellar.training.presets import search_settings
from interstellar.workflow.chosen_plan import with_known
from report import print_figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--strategy", default="hybrid")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seconds", type=float, help="stop this call after so many")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--no-prune", action="store_true")
    parser.add_argument("--try-first", nargs="*", default=[], metavar="ARCH", help="or literature")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = measure(arguments)
    print_figures(figures, arguments.json)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    graph = interstellar.load(arguments.data)
    settings = search_settings(task_of(graph), graph.name)
    plan = SearchPlan(
        strategy=StrategyName(arguments.strategy),
        prune=not arguments.no_prune,
        try_first=tuple(arguments.try_first),
    )
    search = Experiment(
        data=arguments.data,
        architecture=ANY,
        seed=arguments.seed,
        settings=settings,
        plan=with_known(plan, settings),
    )
    device = find_device(arguments.device)
    started = time.perf_counter()
    with Utilisation(is_on=device.type == "cuda") as busy:
        result = search_run(
            search,
            arguments.out,
            budget=Budget(trials=arguments.trials, time=arguments.seconds),
            workers=Workers(device=device, n=arguments.workers),
            resume=True,
            on_change=show,
        )
    return {
        "data": arguments.data,
        "strategy": arguments.strategy,
        "workers": arguments.workers,
        "prune": not arguments.no_prune,
        "gpu_busy_in_this_call": busy.mean(),
        "seconds_of_this_call": round(time.perf_counter() - started, 1),
        "controller_ms_a_trial": round(time_controller(search), 3),
        **{k: v for k, v in result.items() if k not in ("format", "version")},
    }


def show(loop: SearchLoop) -> None:
    best = loop.trials.best
    score = None if best is None else best.score
    print(
        f"{loop.seconds:.1f} s {len(loop.trials.trained)} {sorted(loop.under_way)} {score}",
        flush=True,
    )


def time_controller(search: Experiment) -> float:
    """Return the milliseconds that asking and telling costs for each trial from scratch."""
    strategy, n_trials = build_strategy(search), 0
    started = time.perf_counter()
    while n_trials < 100:
        proposal = strategy.ask()
        if proposal is None:
            break
        is_trial = proposal.architecture is not None
        score = 1 / (1 + proposal.number) if is_trial else None
        strategy.tell(proposal.number, TrialResult(score=score))
        n_trials += is_trial
    return 1000 * (time.perf_counter() - started) / max(1, n_trials)


class Utilisation:
    """Reads how busy the first card is while the context is open, but for the first seconds."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._is_over = threading.Event()
        self._readings: list[float] = []

    def __enter__(self) -> "Utilisation":
        if self._is_on:
            threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def mean(self) -> float | None:
        """Return the mean share, from 0 to 1."""
        n = len(self._readings)
        return round(sum(self._readings) / n / 100, 3) if n else None

    def _read(self) -> None:
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._is_over.wait(0.5):
            done = subprocess.run([*command, "--id=0"], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                self._readings.append(float(done.stdout.strip()))


if __name__ == "__main__":
    main()
