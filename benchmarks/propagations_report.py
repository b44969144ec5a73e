"""The tables of what propagations reach, from the lines of `propagations.py`."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from lines import Line
from strategies_report import table

AMONG, ANSWERS = "unseen_among_50", "auc_pr"
RED_GNN = {
    "WN18RR_v1": 0.70,
    "WN18RR_v2": 0.69,
    "WN18RR_v3": 0.43,
    "WN18RR_v4": 0.65,
    "fb237_v1": 0.37,
    "fb237_v2": 0.47,
    "fb237_v3": 0.45,
    "fb237_v4": 0.44,
}
"""About what its authors print (Zhang and Yao 2022), MRR among all entities never seen."""


def trained_by_graph(lines: Iterable[Line], model: str = "propagation") -> Mapping[str, list[Line]]:
    """Return the trainings of each graph; pruned ones are no seeds of whole ones."""
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.get("model", "propagation") == model and "nodes" not in line["set"]:
            found[line["graph"]].append(line)
    return found


def propagations_table(propagations: Sequence[Line], walks: Mapping[str, float]) -> str:
    """Return test figures of propagations beside the MRR of the best known model along walks."""
    header = ["graph", "along walks", "propagation", "seeds", "Hits@1", "Hits@10", "seconds", "on"]
    rows = []
    for graph, lines in trained_by_graph(propagations).items():
        tests = [line["metrics"]["test"] for line in lines]
        if ANSWERS in tests[0]:
            continue
        rows.append(
            [
                graph,
                fraction([walks[graph]]) if graph in walks else "–",
                fraction([test["mrr"] for test in tests]),
                str(len(lines)),
                *(per_cent([test[k] for test in tests]) for k in ("hits@1", "hits@10")),
                f"{min(line['seconds'] for line in lines):.0f}",
                lines[0]["device"].removeprefix("NVIDIA "),
            ]
        )
    return table(header, rows)


def answers_table(propagations: Sequence[Line]) -> str:
    """Return the AUC-PR of those graphs whose queries have few answers to choose from."""
    header, rows = ["graph", "AUC-PR", "lowest", "seeds"], []
    for graph, lines in trained_by_graph(propagations).items():
        values = [line["metrics"]["test"].get(ANSWERS) for line in lines]
        found = [value for value in values if value is not None]
        if found:
            rows.append([graph, fraction(found), fraction([min(found)]), str(len(found))])
    return table(header, rows)


def unseen_table(propagations: Sequence[Line]) -> str:
    """Return what is known of entities never seen, beside RED-GNN."""
    header = ["trained on", "MRR", "spread", "RED-GNN, about", "Hits@1", "Hits@10"]
    header += ["Hits@10 among 50"]
    rows = []
    for graph, lines in sorted(trained_by_graph(propagations).items()):
        if AMONG not in lines[0]:
            continue
        mrrs = [line["unseen"]["mrr"] for line in lines]
        rows.append(
            [
                graph,
                fraction(mrrs),
                f"± {statistics.stdev(mrrs):.3f}".replace("0.", ".", 1),
                f"{RED_GNN[graph]:.2f}".removeprefix("0"),
                *(per_cent([line["unseen"][k] for line in lines]) for k in ("hits@1", "hits@10")),
                per_cent([line[AMONG]["hits@10"] for line in lines]),
            ]
        )
    return table(header, rows)


def fraction(values: Sequence[float]) -> str:
    """Return a mean as the tables have it."""
    return _mean("{:.3f}".format, values).removeprefix("0")


def per_cent(values: Sequence[float]) -> str:
    """Return a mean of shares, in per cent."""
    return _mean("{:.1f}".format, [100 * value for value in values])


def _mean(show: Callable[[float], str], values: Sequence[float]) -> str:
    return show(statistics.fmean(values))
