"""What the lines of the study of defaults say (`defaults.py`), for a person who states rules."""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from defaults_trial import Flat, Line, draw_settings
from interstellar.data.graph import Task
from interstellar.training.settings import Metric, Optimizer
from lines import read_lines

N_IMAGINED = 3000
"""Points of which a forest says what they would reach."""
TUNED = 0.95
"""What is to be had with an option: this quantile over all else."""
SHARED = 0.7
"""A point is compared where at least this share of the graphs has it."""
N_SHOWN = 8


def report(files: Sequence[Path], metric: Metric) -> None:
    """Print what the lines of `draw` say, one task after the other."""
    lines = [line for file in files for line in read_lines(file)]
    lines = [line for line in lines if line["point"] is not None and not line["cut"]]
    for task in Task:
        lines_by_graph: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            if line["facts"]["task"] == task:
                lines_by_graph[line["graph"]].append(line)
        if lines_by_graph:
            ordered = sorted(lines_by_graph.values(), key=lambda of: of[0]["facts"]["n_train"])
            print(f"\n# {task}, {metric}\n")
            print_best(ordered, metric)
            print_options(ordered, metric, task)
            print_shared_points(ordered, metric)


def print_best(lines_by_graph: Sequence[Sequence[Line]], metric: Metric) -> None:
    """Print the best of each graph, and how many of its points failed."""
    for number, lines in enumerate(lines_by_graph, start=1):
        best, facts = max(lines, key=lambda line: score(line, metric)), lines[0]["facts"]
        n_failed = sum(line["failure"] is not None for line in lines)
        sizes = f"{facts['n_train']:,}/{facts['n_entities']:,}/{facts['n_relations']}"
        print(f"{number:2} {best['graph']} ({sizes}), {len(lines)} points, {n_failed} failed")
        print(f"   {describe_line(best)}")


def print_options(lines_by_graph: Sequence[Sequence[Line]], metric: Metric, task: Task) -> None:
    """Print, for each option and graph, what is to be had with it as a share of the best."""
    rng = np.random.default_rng(0)
    architectures = sorted({line["architecture"] for lines in lines_by_graph for line in lines})
    points = [
        draw_settings(task, rng) | {"architecture": architectures[k % len(architectures)]}
        for k in range(N_IMAGINED)
    ]
    shares = np.stack([imagine(lines, points, architectures, metric) for lines in lines_by_graph])
    columns = "".join(f"{number:5}" for number in range(1, len(lines_by_graph) + 1))
    print(f"\n{'tuned but for':30}{columns}  mean")
    for name in points[0]:
        options = [name_option(name, point) for point in points]
        value_by_option = dict(zip(options, (point[name] or 0 for point in points), strict=True))
        for option in sorted(
            set(options), key=lambda o: (o.rpartition(" ")[0], value_by_option[o])
        ):
            is_chosen = np.array([each == option for each in options])
            tuned = np.quantile(shares[:, is_chosen], TUNED, axis=1)
            cells = "".join(f"{100 * share:5.0f}" for share in tuned)
            print(f"{name:18}{option:12}{cells} {100 * tuned.mean():5.1f}")


def imagine(
    lines: Sequence[Line], points: Sequence[Flat], architectures: Sequence[str], metric: Metric
) -> npt.NDArray[np.float64]:
    """Return what a forest expects of points on one graph, as shares of the best that was seen."""
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 (not where GPUs are)

    seen = [line["settings"] | {"architecture": line["architecture"]} for line in lines]
    scores = np.array([score(line, metric) for line in lines])
    best = max(scores.max(), 1e-9)  # where all have failed
    forest = RandomForestRegressor(200, min_samples_leaf=2, max_features=0.5, random_state=0)
    forest.fit([encode(point, points[0], architectures) for point in seen], scores / best)
    expected: npt.NDArray[np.float64] = forest.predict(
        [encode(point, points[0], architectures) for point in points]
    )
    return expected


def encode(point: Flat, like: Flat, architectures: Sequence[str]) -> list[float]:
    """Return a point as numbers; forests do not mind their scale."""

    def number(value: Any) -> float:
        return (
            -1.0
            if value is None
            else float(value == Optimizer.ADAM)
            if isinstance(value, str)
            else float(value)
        )

    kinds = [float(point["architecture"] == name) for name in architectures]
    return [number(point[name]) for name in like if name != "architecture"] + kinds


def name_option(name: str, point: Flat) -> str:
    """Return the option of a point; of what is drawn from a range, the power of ten nearby."""
    value = point[name]
    match name:
        case "learning_rate":
            half_decade = 10 ** (round(2 * math.log10(value)) / 2)
            return f"{point.get('optimizer', 'adam')} {half_decade:.1g}"
        case "n3" if value:
            return f"1e{round(math.log10(value))}"
        case _:
            return str(value)


def print_shared_points(lines_by_graph: Sequence[Sequence[Line]], metric: Metric) -> None:
    """Print the points that are best on average, as shares of each graph's best."""
    shares_by_point: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    line_by_point = {}
    for lines in lines_by_graph:
        best = max(1e-9, *(score(line, metric) for line in lines))
        for line in lines:
            point = (line["architecture"], line["seed"], line["point"])
            shares_by_point[point].append(score(line, metric) / best)
            line_by_point[point] = line
    means = {
        point: float(np.mean(shares))
        for point, shares in shares_by_point.items()
        if len(shares) >= SHARED * len(lines_by_graph)
    }
    print(f"\ngood on all graphs, of {len(means)} points: mean, least, point")
    for point in sorted(means, key=means.__getitem__, reverse=True)[:N_SHOWN]:
        least = min(shares_by_point[point])
        line = line_by_point[point] | {"graph": "", "best": None}
        print(f"{100 * means[point]:5.1f} {100 * least:5.1f} {describe_line(line)}")


def score(line: Line, metric: Metric) -> float:
    """Return the best of a training on validation; nothing where it failed."""
    if line["failure"] is not None:
        return 0.0
    return float(max(noted[metric] for noted in line["curve"]))


def describe_line(line: Line) -> str:
    """Return a training in one line of text."""
    drawn = draw_settings(Task(line["facts"]["task"]), np.random.default_rng(0))
    reached = [f"{name} {value:g}" for name, value in (line["best"] or {}).items()]
    if line["test"]:
        reached.append(f"test mrr {line['test']['mrr']:.4f} hits@1 {line['test']['hits@1']:.4f}")
    settings = ", ".join(f"{name} {line['settings'][name]}" for name in drawn)
    end = f" failed: {line['failure']}" if line["failure"] else " cut" * line["cut"]
    return f"{line['graph']} {line['architecture']}: {' '.join(reached)} ({settings}){end}"
