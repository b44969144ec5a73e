"""Writes `rivals.md`: each model with a name, its idea, and what it reaches beside what was said.

What a model is comes from the catalogue of the package, every figure from `results/rivals`. `make
rivals` writes the page anew; a test fails where it is not what these say.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interstellar.data.graph import Task
from interstellar.rivals.catalogue import KnownModel, Place, known_models

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from strategies_report import table  # noqa: E402

PAGE = ROOT / "docs" / "rivals.md"
MEASURED = ROOT / "results" / "rivals"
HITS, MRR = "hits@1", "mrr"
LINK_SETS = ("WN18RR", "FB15k-237", "WN18RR_v1", "fb237_v1")
PAIR_SETS = ("DBP-WD", "DBP-YG", "EN-FR", "EN-DE")
PRINTED_LINKS: Mapping[str, tuple[float | None, float | None]] = {
    "TransE": (0.18, 0.24),
    "ComplEx": (0.44, 0.31),
    "RotatE": (0.47, 0.32),
    "R-GCN": (None, 0.24),
    "PTransE-add": (0.34, 0.29),
    "RSN": (0.40, 0.27),
}
"""MRR on WN18RR and FB15k-237 in the tables of Interstellar's paper."""
PRINTED_PAIRS: Mapping[str, tuple[float, float, float, float]] = {
    "TransE": (18.5, 9.2, 16.2, 20.7),
    "TransD": (27.7, 17.3, 21.1, 24.4),
    "BootEA": (32.3, 31.3, 31.3, 44.2),
    "GCN-Align": (17.7, 19.3, 15.5, 25.3),
    "VR-GCN": (19.4, 20.9, 16.0, 24.4),
    "R-GCN": (8.6, 13.3, 7.3, 18.4),
    "PTransE-add": (16.7, 7.4, 7.3, 27.0),
    "IPTransE": (23.1, 22.7, 25.5, 31.3),
    "Chains": (32.2, 35.3, 31.4, 41.3),
    "RSN": (38.8, 40.0, 34.7, 48.7),
}
"""Hits@1 on the four pairs there."""
HEAD = """# Rivals

Every system that people designed and the paper compares with, and those that users look for,
trained by one loop on the same data and the same ranks. `interstellar models` lists them,
`interstellar show NAME` says what one is, and

```sh
interstellar train geography-S1 --architecture RotatE --dim 16 --epochs 3 --out run
```

trains it. What lies in the search space is a point of it and takes every setting of a training;
what lies outside (`src/interstellar/rivals`, one file each) takes `--loss`, `--margin`,
`--negatives` and `--layers` too, and runs, answers, aligns, exports, resumes and is
[tuned](reference/commands.md) like any other. Settings follow from the graph unless they are said.
Graph convolutions need PyTorch Geometric: `pip install "interstellar-kg[rivals]"`.

This page is written from the catalogue and from `results/rivals` (`benchmarks/rivals.py`); a dash
was not measured.
"""


@dataclass(frozen=True, slots=True)
class Trained:
    """What seeds of one model with one label reached on a set."""

    results: Sequence[Mapping[str, Any]]

    def show(self, read: Callable[[Mapping[str, Any]], float | None], *, per_cent: bool) -> str:
        """Return the mean of a figure, with its deviation where there are three seeds or more."""
        values = [value for result in self.results if (value := read(result)) is not None]
        if not values:
            return "–"
        digits = 1 if per_cent else 3
        scaled = [100 * value if per_cent else value for value in values]
        text = f"{statistics.fmean(scaled):.{digits}f}"
        if len(values) > 2:
            text += f" ± {statistics.stdev(scaled):.{digits}f}"
        return text if per_cent else text.replace("0.", ".")


def read_results(folder: Path = MEASURED) -> dict[tuple[str, str, str], Trained]:
    """Return what was trained, by set, model and label."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for file in sorted(folder.glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        key = result["data"], result["model"], result["label"]
        found.setdefault(key, []).append(result)
    return {key: Trained(results) for key, results in found.items()}


def write_page(results: Mapping[tuple[str, str, str], Trained]) -> str:
    """Return the whole page."""
    models = [model for model in known_models() if "Interstellar" not in model.name]
    parts = [HEAD, "## Links\n", links_table(models, results)]
    parts += ["\n## Pairs\n", pairs_table(models, results), "\n## One by one\n"]
    parts += [describe(model) for model in models]
    return "\n".join(parts)


def links_table(
    models: Iterable[KnownModel], results: Mapping[tuple[str, str, str], Trained]
) -> str:
    """Return test MRR beside what was printed; below, rows with settings of their own."""
    header = ["MRR", *(f"{name}, printed" for name in LINK_SETS[:2]), *LINK_SETS, "parameters"]
    rows = []
    for model in (each for each in models if Task.LINK_PREDICTION in each.tasks):
        for label in labels_of(model.name, results):
            printed = PRINTED_LINKS.get(model.name, (None, None)) if not label else (None, None)
            cells = [decimal(value) for value in printed]
            of_sets = [results.get((data, model.name, label), Trained(())) for data in LINK_SETS]
            cells += [each.show(lambda r: test(r, MRR), per_cent=False) for each in of_sets]
            rows.append([name_of(model, label), *cells, count_parameters(of_sets)])
    return table(header, rows)


def pairs_table(
    models: Iterable[KnownModel], results: Mapping[tuple[str, str, str], Trained]
) -> str:
    """Return test Hits@1 beside what was printed, by cosine, and by decodings and iteration."""
    ways: Mapping[str, Callable[[Mapping[str, Any]], float | None]] = {
        "cosine": lambda r: test(r, HITS),
        "CSLS": lambda r: r.get("decoded", {}).get("csls", {}).get(HITS),
        "Sinkhorn": lambda r: r.get("decoded", {}).get("sinkhorn", {}).get(HITS),
        "iterated": iterated,
    }
    header = ["Hits@1", "way", *(cell for name in PAIR_SETS for cell in (name, "printed"))]
    rows = []
    for model in (each for each in models if Task.ENTITY_ALIGNMENT in each.tasks):
        for label in labels_of(model.name, results):
            of_sets = [results.get((data, model.name, label), Trained(())) for data in PAIR_SETS]
            printed = PRINTED_PAIRS.get(model.name, (None,) * 4)
            for way, read in ways.items():
                found = [each.show(read, per_cent=True) for each in of_sets]
                if way != "cosine" and set(found) == {"–"}:
                    continue
                shown = [decimal(x, 1) if way == "cosine" and not label else "" for x in printed]
                name = name_of(model, label) if way == "cosine" else ""
                cells = (cell for pair in zip(found, shown, strict=True) for cell in pair)
                rows.append([name, way, *cells])
    return table(header, rows)


def describe(model: KnownModel) -> str:
    """Return the paragraph of a model."""
    place = {
        Place.SPACE: "A point of the search space.",
        Place.PROPAGATION: "A point of the space of [propagations](propagation.md).",
        Place.OUTSIDE: "Outside the space.",
    }[model.place]
    lines = [
        f"### {model.name}\n",
        f"{model.paper}. {model.idea} {place} {model.remark}".strip() + "\n",
        f"    {model.formula}\n",
        f"A query costs {model.complexity}. For {' and '.join(model.tasks)}.\n",
    ]
    return "\n".join(lines)


def labels_of(name: str, results: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return the labels under which a model was trained, first that of settings by rule."""
    return ["", *sorted({label for _, model, label in results if model == name and label})]


def name_of(model: KnownModel, label: str) -> str:
    """Return the cell that names a row."""
    return f"{model.name}, {label}" if label else f"[{model.name}](#{model.name.lower()})"


def test(result: Mapping[str, Any], metric: str) -> float | None:
    """Return a metric on the test split."""
    found: float | None = result["metrics"]["test"].get(metric)
    return found


def iterated(result: Mapping[str, Any]) -> float | None:
    """Return Hits@1 of the best round, as validation chose it."""
    if "iterated" not in result:
        return None
    found: float = result["iterated"][result["best_round"]]["test"][HITS]
    return found


def count_parameters(trained: Iterable[Trained]) -> str:
    """Return the number of parameters on the first set that has it."""
    counts = [r["parameters"] for each in trained for r in each.results if "parameters" in r]
    return f"{counts[0]:,}" if counts else "–"


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a printed figure as the paper has it."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if digits == 2 else text


if __name__ == "__main__":
    PAGE.write_text(write_page(read_results()), encoding="utf-8")
