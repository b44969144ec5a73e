"""The report of `strategies.py`: tables and a picture from its lines."""

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from interstellar.runs.search_plan import STRATEGIES
from lines import Line, read_lines

Mark: TypeAlias = Callable[[Line], float]
"""The best score of a search at some moment of it."""

TRIALS = (10, 20, 30, 40, 60)
DRAWN_TRIALS = (1, 2, 3, 5, 7, *range(10, 61, 5))
SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of the time."""
N_RESAMPLED = 2000
RIVALS = ("hybrid", "random")
ONE_TRIAL = ("darts", "one-shot")


def report(files: Sequence[Path], *, markdown: Path | None, svg: Path | None) -> None:
    """Print the tables, and write and draw them."""
    found = Results([line for file in files for line in read_lines(file)])
    parts = [overall_table(found), rivals_table(found)]
    parts += [graph_table(found, graph) for graph in found.graphs]
    text = "\n\n".join(parts)
    print(text)
    if markdown is not None:
        markdown.write_text(text + "\n", encoding="utf-8")
    if svg is not None:
        draw(found, svg)


class Results:
    """Lines by graph and strategy; of each graph as many seeds as all its strategies have."""

    def __init__(self, lines: Sequence[Line]) -> None:
        named = {line["strategy"] for line in lines}
        self.strategies = [*(s for s in map(str, STRATEGIES) if s in named)]
        self.strategies += sorted(named.difference(self.strategies))
        self._lines: dict[tuple[str, str], dict[int, Line]] = {}
        for line in lines:
            of_both = self._lines.setdefault((line["graph"], line["strategy"]), {})
            of_both[line["seed"]] = line
        graphs = dict.fromkeys(line["graph"] for line in lines)
        self.graphs = [graph for graph in graphs if self.seeds(graph)]

    def seeds(self, graph: str) -> list[int]:
        every = [set(self._lines.get((graph, name), {})) for name in self.strategies]
        return sorted(set.intersection(*every))

    def values(self, graph: str, strategy: str, mark: Mark) -> "np.ndarray[Any, Any]":
        of_both = self._lines.get((graph, strategy), {})
        return np.array([mark(of_both[seed]) for seed in self.seeds(graph)])


def after_trials(n: int) -> Mark:
    """Return the best before the trial after the n-th; rungs of earlier trials count."""

    def mark(line: Line) -> float:
        seen: set[int] = set()
        best = 0.0
        for _, number, _, score in line["events"]:
            seen.add(number)
            if len(seen) > n:
                break
            best = max(best, score or 0.0)
        return best

    return mark


def after_share(share: float) -> Mark:
    """Return the best after a share of the time; the whole is all there is."""
    whole = share >= 1
    return lambda line: best_where(line, lambda event: whole or event[0] <= share * line["seconds"])


def best_where(line: Line, is_meant: Callable[[Sequence[float]], bool]) -> float:
    return max((event[3] or 0.0 for event in line["events"] if is_meant(event)), default=0.0)


def n_trials_of(line: Line) -> int:
    return len({number for _, number, _, _ in line["events"]})


def interval(values: "np.ndarray[Any, Any]") -> tuple[float, float]:
    """Return the bootstrap's 95 % interval of the mean."""
    drawn = np.random.default_rng(0).integers(len(values), size=(N_RESAMPLED, len(values)))
    low, high = np.quantile(values[drawn].mean(1), (0.025, 0.975))
    return float(low), float(high)


def graph_table(found: Results, graph: str) -> str:
    """Return a graph's table: mean and interval of each strategy, where most came so far."""
    rows = []
    for name in found.strategies:
        n_trials = found.values(graph, name, n_trials_of)
        by_trials = [
            describe(found.values(graph, name, after_trials(n)))
            if np.median(n_trials) >= n
            else "–"
            for n in TRIALS
        ]
        by_time = [describe(found.values(graph, name, after_share(share))) for share in SHARES]
        rows.append([name, f"{n_trials.mean():.0f}", *by_trials, *by_time])
    header = ["strategy", "trials", *(f"{n} trials" for n in TRIALS)]
    header += [f"{100 * share:.0f} % of the time" for share in SHARES]
    ends = [found.values(graph, name, after_share(1.0)).max() for name in found.strategies]
    title = f"**{graph}**, {len(found.seeds(graph))} seeds: best validation score so far"
    return f"{title} (of all searches: {max(ends):.3f})\n\n{table(header, rows)}"


def describe(values: "np.ndarray[Any, Any]") -> str:
    low, high = interval(values)
    return f"{values.mean():.3f} ({low:.3f}–{high:.3f})"


def overall_table(found: Results) -> str:
    """Return mean share of the best score found by anybody, and mean place, over all graphs."""
    marks = [(f"{n} trials", after_trials(n)) for n in (10, 30)]
    marks += [(f"{100 * share:.0f} % of the time", after_share(share)) for share in (0.5, 1.0)]
    columns = [share_and_place(found, mark) for _, mark in marks]
    n_trials = [
        np.mean([found.values(graph, name, n_trials_of).mean() for graph in found.graphs])
        for name in found.strategies
    ]
    rows = [
        [name, f"{n:.0f}", *cells]
        for name, n, *cells in zip(found.strategies, n_trials, *columns, strict=True)
    ]
    n_seeds = sorted({len(found.seeds(graph)) for graph in found.graphs})
    title = (
        f"Mean over {len(found.graphs)} graphs, {' or '.join(map(str, n_seeds))} seeds each: "
        "per cent of the best score that any search found, and place among the strategies"
    )
    return f"{title}\n\n{table(['strategy', 'trials', *(text for text, _ in marks)], rows)}"


def share_and_place(found: Results, mark: Mark) -> list[str]:
    """Return a cell for each strategy."""
    shares, places = [], []
    for graph in found.graphs:
        values, every = (
            np.array([found.values(graph, name, each) for name in found.strategies])
            for each in (mark, after_share(1.0))
        )
        shares.append((values / max(1e-9, every.max())).mean(1))
        places.append(places_of(values).mean(1))
    of_each = zip(np.mean(shares, 0), np.mean(places, 0), strict=True)
    return [f"{100 * share:.1f}, {place:.1f}" if share else "–" for share, place in of_each]


def places_of(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Return the place of each row in each column, 1 being the highest; ties share theirs."""
    is_above, is_equal = values[None] > values[:, None], values[None] == values[:, None]
    return is_above.sum(1) + (is_equal.sum(1) + 1) / 2  # type: ignore[no-any-return]


def rivals_table(found: Results) -> str:
    """Return where hybrid is above random, and where their intervals are apart."""
    if not set(RIVALS) <= set(found.strategies):
        return f"{' and '.join(RIVALS)} are not both there"
    rows = [[graph, *compare_rivals(found, graph)] for graph in found.graphs]
    header = [
        "graph",
        "trials, at least",
        "above from trial",
        "intervals apart at",
        "difference after 30 trials",
        "at the end",
    ]
    return "Hybrid against random, best validation score so far\n\n" + table(header, rows)


def compare_rivals(found: Results, graph: str) -> list[str]:
    most = int(min(found.values(graph, name, n_trials_of).min() for name in RIVALS))
    above, apart = [], []
    for n in range(1, most + 1):
        ours, theirs = (found.values(graph, name, after_trials(n)) for name in RIVALS)
        above.append(ours.mean() > theirs.mean())
        if interval(ours)[0] > interval(theirs)[1]:
            apart.append(n)
    first = most - above[::-1].index(False) + 1 if False in above else 1
    differences = []
    for mark in (after_trials(30), after_share(1.0)):
        ours, theirs = (found.values(graph, name, mark) for name in RIVALS)
        differences.append(f"{ours.mean() - theirs.mean():+.4f}".replace("-", "−"))
    ranges = f"{apart[0]} to {apart[-1]} ({len(apart)} of them)" if apart else "none"
    return [str(most), str(first) if first <= most else "never", ranges, *differences]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(found: Results, file: Path) -> None:
    """Plot one row a graph: by trials, and by the share of the time."""
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    n_rows = len(found.graphs)
    figure = Figure(figsize=(8, 2 * n_rows + 0.5), layout="constrained")
    panels = figure.subplots(n_rows, 2, squeeze=False, sharey="row")
    axes = [
        ("trials", [(float(n), after_trials(n)) for n in DRAWN_TRIALS]),
        ("share of the time", [(i / 20, after_share(i / 20)) for i in range(1, 21)]),
    ]
    for graph, row in zip(found.graphs, panels, strict=True):
        for panel, (label, marks) in zip(row, axes, strict=True):
            draw_curves(panel, found, graph, marks)
            panel.set_xlabel(label, fontsize="small")
        row[0].set_title(graph, fontsize="medium", loc="left")
        ends = [found.values(graph, name, after_share(1.0)).mean() for name in found.strategies]
        row[0].set_ylim(0.7 * max(ends), 1.02 * max(ends))
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right upper")
    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": file.name}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    file.write_text(re.sub(r"(\.\d\d)\d+", r"\1", text.getvalue()), encoding="utf-8")


def draw_curves(
    panel: Any, found: Results, graph: str, marks: Sequence[tuple[float, Mark]]
) -> None:
    places = [x for x, _ in marks]
    for name in found.strategies:
        columns = [found.values(graph, name, mark) for _, mark in marks]
        style = "--" if name in ONE_TRIAL else "-"
        [line] = panel.plot(places, [c.mean() for c in columns], style, label=name, linewidth=1)
        low, high = zip(*map(interval, columns), strict=True)
        panel.fill_between(places, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
