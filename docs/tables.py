"""Writes the tables of what searches gain and propagations reach into the manual and the README.

Every figure in them comes from files in `results/benchmarks`. `make tables` writes them anew,
between the lines that name them; a test fails where a page is not what the files say.
"""

import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from interstellar.architecture.literature import find_by_name
from interstellar.data.catalogue import find_set
from interstellar.data.graph import Task
from interstellar.training.defaults import GraphSize, default_settings

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from lines import Line, read_lines  # noqa: E402
from propagations_report import (  # noqa: E402
    answers_table,
    fraction,
    propagations_table,
    trained_by_graph,
    unseen_table,
)
from strategies_report import Results, overall_table, rivals_table, table  # noqa: E402

PAGES = (ROOT / "docs" / "search.md", ROOT / "docs" / "propagation.md", ROOT / "README.md")
MEASURED = ROOT / "results" / "benchmarks"
BLOCK = re.compile(
    r"(<!-- table (\w+): written by docs/tables\.py -->\n).*?(<!-- end of table -->)", re.DOTALL
)

SEARCH = "search"
RIVALS = ("known", "tune", "random")
NOT_UNDER = 0.3
"""Points by which a search may fall short of a rival without being called worse."""
RULED = (
    "dim",
    "batch_size",
    "learning_rate",
    "weight_decay",
    "n3",
    "label_smoothing",
    "dropout",
    "lr_decay",
    "max_epochs",
)
"""The settings that make a training one by the rule; how often it validates does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A known model under a graph's own settings."""

    graph: str
    name: str
    source: str
    """Models trained in searches, which may be cut short, are no seeds of those trained alone."""
    valid: float
    """MRR, by which the best is chosen."""
    test: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What ways of equal time come to on one graph."""

    graph: str
    is_pair: bool
    facts: Mapping[str, Any]
    """Of the study of defaults; empty where it did not have the graph."""
    seconds: float
    n_searches: int
    score_by_way: Mapping[str, float]
    """Means over seeds, of the known models the best."""
    known: str
    found: str

    def show(self, way: str) -> str:
        """Return a score as a cell: MRR as a fraction, Hits@1 in per cent."""
        score = self.score_by_way.get(way)
        if score is None:
            return "–"
        return f"{100 * score:.1f}" if self.is_pair else f"{score:.3f}".removeprefix("0")

    def lead(self, way: str) -> float | None:
        """Return by how many points the search is ahead, as the cells say it."""
        if way not in self.score_by_way:
            return None
        ours, theirs = (round(100 * self.score_by_way[each], 1) for each in (SEARCH, way))
        return round(ours - theirs, 1)


def read_rows(searches: Iterable[Line], checks: Sequence[Line]) -> list[Row]:
    """Return a row for each graph and time that was searched, large graphs and pairs last.

    Of lines of the same graph, way and seed the last counts.
    """
    latest = {(line["graph"], line["way"], line["seed"]): line for line in searches}
    lines_by_row: dict[tuple[str, float], list[Line]] = defaultdict(list)
    for line in latest.values():
        lines_by_row[line["graph"], line["asked_seconds"]].append(line)
    trained = [*trained_alone(latest.values(), checks), *trained_in_searches(latest.values())]
    facts_by_graph = {line["graph"]: line["facts"] for line in checks}
    rows = [
        make_row(lines, [known for known in trained if known.graph == graph], facts_by_graph)
        for (graph, _), lines in lines_by_row.items()
        if any(line["way"] == SEARCH for line in lines)
    ]
    return sorted(rows, key=lambda row: (row.is_pair, row.facts.get("n_train", float("inf"))))


def make_row(
    lines: Sequence[Line], trained: Iterable[Trained], facts_by_graph: Mapping[str, Line]
) -> Row:
    """Return the row of the lines of one graph that had the same time."""
    graph, seconds = lines[0]["graph"], lines[0]["asked_seconds"]
    facts = facts_by_graph.get(graph, {})
    named = find_set(graph)
    is_pair = (named.task if named else facts.get("task")) == Task.ENTITY_ALIGNMENT
    metric = "hits@1" if is_pair else "mrr"
    tests_by_way: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        tests_by_way[line["way"]].append(line["metrics"]["test"])
    known, tests_by_way["known"] = best_known(trained)
    searches = [line for line in lines if line["way"] == SEARCH]
    return Row(
        graph=graph,
        is_pair=is_pair,
        facts=facts,
        seconds=seconds,
        n_searches=len(searches),
        score_by_way={
            way: statistics.fmean(test[metric] for test in tests)
            for way, tests in tests_by_way.items()
            if tests
        },
        known=known,
        found=describe_best(max(searches, key=lambda line: line["metrics"]["valid"]["mrr"])),
    )


def best_known(trained: Iterable[Trained]) -> tuple[str, list[Line]]:
    """Return the model with the best mean on validation, and its seeds on test."""
    seeds_by_model: dict[tuple[str, str], list[Trained]] = defaultdict(list)
    for each in trained:
        seeds_by_model[each.source, each.name].append(each)
    if not seeds_by_model:
        return "", []
    best = max(
        seeds_by_model.values(), key=lambda seeds: statistics.fmean(each.valid for each in seeds)
    )
    return best[0].name, [dict(each.test) for each in best]


def trained_alone(searches: Iterable[Line], checks: Iterable[Line]) -> Iterator[Trained]:
    """Yield the known models that were trained without a search."""
    for line in checks:
        if line["test"] and follows_rule(line):
            yield Trained(
                graph=line["graph"],
                name=line["architecture"],
                source="alone",
                valid=line["best"]["mrr"],
                test=line["test"],
            )
    for line in searches:
        if find_by_name(line["way"]) is not None:
            yield Trained(
                graph=line["graph"],
                name=line["way"],
                source="alone",
                valid=line["metrics"]["valid"]["mrr"],
                test=line["metrics"]["test"],
            )


def follows_rule(line: Line) -> bool:
    """Say whether a model of the study was trained with what are the graph's own settings now."""
    facts, given = line["facts"], line["settings"]
    size = GraphSize(n_entities=facts["n_entities"], n_triplets=facts["n_train"])
    rule = default_settings(Task(facts["task"]), size)
    return all(given[name] == getattr(rule, name) for name in RULED)


def trained_in_searches(searches: Iterable[Line]) -> Iterator[Trained]:
    """Yield the best known model of each search, as far as that has trained it."""
    for line in searches:
        if line["way"] != SEARCH or not line["gain"]:
            continue
        known, name = line["known"], line["gain"]["over"]["name"]
        if known["test"]:
            valid, test = known["score"], known["test"]
        elif name == describe_best(line) and line["joined"] == 1:
            valid, test = line["metrics"]["valid"]["mrr"], line["metrics"]["test"]
        else:
            continue
        yield Trained(graph=line["graph"], name=name, source=SEARCH, valid=valid, test=test)


def describe_best(search: Line) -> str:
    """Return what a search has found: the name of a known model, or a formula."""
    over, formula = (search["gain"] or {}).get("over", {}), search["best"]["formula"]
    if formula != over.get("formula"):
        return f"`{formula}`"
    return f"{over['name']}, other settings" if search["settings"] else str(over["name"])


def searches_table(rows: Sequence[Row]) -> str:
    """Return all that was measured, and how often and how far the searches are ahead."""
    header = ["graph", "entities", "triplets", "seconds", "metric", "best known"]
    header += ["ComplEx (pairs: RSN) tuned", "random search", "search", "found"]
    return table(header, [*map(searches_row, rows), *compare_rows(rows)])


def searches_row(row: Row) -> list[str]:
    """Return the cells of a row."""
    sizes = [f"{row.facts[n]:,}" if n in row.facts else "–" for n in ("n_entities", "n_train")]
    times = f"{row.n_searches} × " if row.n_searches > 1 else ""
    known = f"{row.show('known')} {row.known}".strip()
    metric = "Hits@1" if row.is_pair else "MRR"
    scores = [known, *(row.show(way) for way in ("tune", "random", SEARCH))]
    return [row.graph, *sizes, f"{times}{row.seconds:.0f}", metric, *scores, row.found]


def compare_rows(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield how often the searches are ahead of each rival, how often behind, and by how much."""
    leads = [[lead for row in rows if (lead := row.lead(way)) is not None] for way in RIVALS]

    def count(text: str, is_meant: Callable[[float], bool]) -> list[str]:
        counts = [f"{sum(map(is_meant, of))} of {len(of)}" if of else "–" for of in leads]
        return [text, "", "", "", "", *counts, "", ""]

    means = [f"{statistics.fmean(of):+.1f}".replace("-", "−") if of else "–" for of in leads]
    yield count("search is above", lambda lead: lead > 0)
    yield count(f"under by more than {NOT_UNDER} points", lambda lead: lead < -NOT_UNDER)
    yield ["ahead on average, points", "", "", "", "", *means, "", ""]


def summary_table(rows: Sequence[Row], propagations: Sequence[Line]) -> str:
    """Return searches, best known models and propagations alone, graphs beside pairs."""
    header = ["graph", "best known, MRR", SEARCH, "seconds", "propagation"]
    header += ["pair", "best known, Hits@1", SEARCH, "seconds"]
    by_graph = trained_by_graph(propagations)
    graphs = [
        [*summary_row(row), reached(by_graph.get(row.graph, ()))] for row in rows if not row.is_pair
    ]
    pairs = [summary_row(row) for row in rows if row.is_pair]
    both = zip_longest(graphs, pairs)
    return table(header, [[*(a or [""] * 5), *(b or [""] * 4)] for a, b in both])


def summary_row(row: Row) -> list[str]:
    """Return the cells of a graph or a pair."""
    return [row.graph, row.show("known"), row.show(SEARCH), f"{row.seconds:.0f}"]


def reached(lines: Sequence[Line]) -> str:
    """Return the mean test MRR of some trainings as a cell."""
    return fraction([line["metrics"]["test"]["mrr"] for line in lines]) if lines else "–"


def known_along_walks(rows: Iterable[Row], trained: Iterable[Line]) -> dict[str, float]:
    """Return the test MRR of the best known model of each graph, else that of ComplEx."""
    known = {
        graph: statistics.fmean(line["metrics"]["test"]["mrr"] for line in lines)
        for graph, lines in trained_by_graph(trained, "walks").items()
    }
    known |= {row.graph: row.score_by_way["known"] for row in rows if "known" in row.score_by_way}
    return known


def write_tables() -> dict[str, str]:
    """Return every table by its name."""
    checks = [line for file in MEASURED.glob("defaults/check_*.gz") for line in read_lines(file)]
    rows = read_rows(read_lines(MEASURED / "searches_cuda.jsonl.gz"), checks)
    strategies = Results(read_lines(MEASURED / "strategies.jsonl.gz"))
    on_cpu = read_lines(MEASURED / "propagations.jsonl")
    propagations = [*read_lines(MEASURED / "propagations_cuda.jsonl"), *on_cpu]
    return {
        "searches": searches_table(rows),
        "summary": summary_table(rows, propagations),
        "strategies": overall_table(strategies),
        "hybrid": rivals_table(strategies),
        "propagations": propagations_table(propagations, known_along_walks(rows, on_cpu)),
        "unseen": unseen_table(propagations),
        "answers": answers_table(propagations),
    }


def fill(page: str, tables: Mapping[str, str]) -> str:
    """Return a page with its tables as they are to be."""
    return BLOCK.sub(lambda found: f"{found[1]}{tables[found[2]]}\n{found[3]}", page)


if __name__ == "__main__":
    written = write_tables()
    for file in PAGES:
        file.write_text(fill(file.read_text(encoding="utf-8"), written), encoding="utf-8")
