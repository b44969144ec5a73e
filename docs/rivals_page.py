"""Writes `rivals.md`: each model with a name, its idea, and what it reaches beside what was said.

What a model is comes from the catalogue of the package and from the docstring of its file, every
figure from `results`. `make rivals` writes the page anew; a test fails where it is not what these
say.
"""

import ast
import gzip
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from interstellar.data.graph import Task
from interstellar.rivals.catalogue import KnownModel, Place, known_models

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from strategies_report import table  # noqa: E402

PAGE = ROOT / "docs" / "rivals.md"
RESULTS = ROOT / "results"
SOURCES = ROOT / "src" / "interstellar" / "rivals"
HITS, MRR = "hits@1", "mrr"
RULE = ""
"""The label of a training with the settings by rule."""
LINK_SETS: Mapping[str, str] = {
    "WN18RR": "40,943 entities",
    "FB15k-237": "14,541 entities",
    "WN18RR_v1": "2,746 entities, the training graph of one of GraIL's splits",
    "fb237_v1": "1,594 entities, the training graph of another",
}
FOUR_PAIRS = ("DBP-WD", "DBP-YG", "EN-FR", "EN-DE")
PAIR_SETS: Mapping[str, str] = {
    **dict.fromkeys(FOUR_PAIRS, "15,000 pairs, 4,500 of them known"),
    "DBP-WD-1500": "a part of DBP-WD with 1,500 pairs, 450 of them known",
    "EN-DE-1500": "a part of EN-DE with 1,500 pairs, 450 of them known",
}
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
FILES: Mapping[str, str] = {
    "TransE-distance": "transe_distance",
    "TransD": "transd",
    "RotatE": "rotate",
    "RESCAL": "rescal",
    "TuckER": "tucker",
    "ConvE": "conve",
    "AutoSF-WN18RR": "autosf",
    "AutoSF-FB15k-237": "autosf",
    "R-GCN": "r_gcn",
    "CompGCN": "comp_gcn",
    "RSN-LSTM": "rsn_lstm",
    "BootEA": "boot_ea",
    "GCN-Align": "gcn_align",
    "VR-GCN": "vr_gcn",
    "Dual-AMN": "dual_amn",
}
"""The file of a model outside the space, whose docstring says what it computes and what differs."""
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
[tuned](reference/commands.md) like any other. On a GPU graph convolutions need PyTorch Geometric:
`pip install "interstellar-kg[rivals]"`.

*By rule* means settings that follow from the size of the graph and nothing else
(`training/defaults.py`, `training/rival_defaults.py`): no set has settings of its own. The rules
were chosen on graphs of which fb237_v1, DBP-WD-1500 and EN-DE-1500 are on this page, so that only
the other tables are a test of them. They have today's good practice where it is known to matter:
inverse relations with vectors of their own; where the model has a softmax, one over all entities;
and for points of the space Adagrad and N3. The columns beside it have what is not the rule:
*published settings*, which are those of the paper's row for the set (`--preset paper`), a second
loss that predicts relations, other ways to align.

This page is written from the catalogue, the docstrings and `results` (`benchmarks/rivals.py`). An
empty cell was not measured, or not printed.
"""
LINKS_NOTE = """MRR on test, filtered; with three seeds or more their mean and deviation. NBFNet on
WN18RR and FB15k-237 had eight and ten epochs in mixed precision, in place of the rule's."""
PAIRS_NOTE = """Hits@1 on test in per cent. The paper aligns by cosine; *iterated* is the round of
`align --iterate 3` that validation chose."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What seeds of one model with one label reached on a set."""

    results: Sequence[Mapping[str, Any]]

    def show(self, read: "Read", *, per_cent: bool) -> str:
        """Return the mean of a figure, with its deviation where there are three seeds or more."""
        values = [value for result in self.results if (value := read(result)) is not None]
        if not values:
            return ""
        digits = 1 if per_cent else 3
        scaled = [100 * value if per_cent else value for value in values]
        text = f"{statistics.fmean(scaled):.{digits}f}"
        if len(values) > 2:
            text += f" ± {statistics.stdev(scaled):.{digits}f}"
        return text if per_cent else text.replace("0.", ".")


Read: TypeAlias = Callable[[Mapping[str, Any]], float | None]
Results: TypeAlias = Mapping[tuple[str, str, str], Trained]
"""What was trained, by set, model and label."""


def read_results(folder: Path = RESULTS) -> dict[tuple[str, str, str], Trained]:
    """Return what was trained for this page, and for others before."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for file in sorted((folder / "rivals").glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        key = result["data"], result["model"], result["label"]
        found.setdefault(key, []).append(result)
    known = set(found)
    for key, result in read_others(folder / "benchmarks"):
        if key not in known:
            found.setdefault(key, []).append(result)
    return {key: Trained(results) for key, results in found.items()}


def read_others(folder: Path) -> Iterator[tuple[tuple[str, str, str], Mapping[str, Any]]]:
    """Yield trainings by which propagations, and the rules of settings, were measured."""
    for name in ("propagations_cuda.jsonl", "propagations.jsonl"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        for line in map(json.loads, lines):
            if line.get("model") == "walks":
                yield (line["graph"], line["architecture"], RULE), line
            elif "nodes" not in line["set"]:  # all of them, as NBFNet
                yield (line["graph"], "NBFNet", RULE), line
    with gzip.open(folder / "defaults" / "check_large.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            if line["test"] is not None:
                yield (line["graph"], line["architecture"], RULE), {"metrics": line}


def write_page(results: Results) -> str:
    """Return the whole page."""
    models = [model for model in known_models() if "Interstellar" not in model.name]
    parts = [HEAD, "## Links\n", LINKS_NOTE + "\n"]
    parts += [f"**{x}** ({LINK_SETS[x]})\n\n{links_table(x, models, results)}\n" for x in LINK_SETS]
    parts += ["## Pairs\n", PAIRS_NOTE + "\n"]
    parts += [f"**{x}** ({PAIR_SETS[x]})\n\n{pairs_table(x, models, results)}\n" for x in PAIR_SETS]
    parts += ["## One by one\n", *(describe(model, results) for model in models)]
    return "\n".join(parts)


def links_table(data: str, models: Iterable[KnownModel], results: Results) -> str:
    """Return test MRR beside what was printed, with a column for each label."""
    labels = sorted({label for of_data, _, label in results if of_data == data} | {RULE})
    printed = {
        name: decimal(of_sets[list(LINK_SETS).index(data)])
        for name, of_sets in PRINTED_LINKS.items()
        if data in list(LINK_SETS)[:2]
    }

    def cells(model: KnownModel) -> list[str]:
        of_labels = (results.get((data, model.name, label), Trained(())) for label in labels)
        return [each.show(lambda r: test(r, MRR), per_cent=False) for each in of_labels]

    header = ["MRR", "printed", *(label or "by rule" for label in labels)]
    return figures(header, Task.LINK_PREDICTION, models, printed, cells)


def pairs_table(data: str, models: Iterable[KnownModel], results: Results) -> str:
    """Return test Hits@1 beside what was printed, with a column for each way to align."""
    ways: Mapping[str, Read] = {
        "cosine": lambda r: test(r, HITS),
        "CSLS": lambda r: r.get("decoded", {}).get("csls", {}).get(HITS),
        "Sinkhorn": lambda r: r.get("decoded", {}).get("sinkhorn", {}).get(HITS),
        "iterated": iterated,
    }
    printed = {
        name: decimal(of_sets[FOUR_PAIRS.index(data)], 1)
        for name, of_sets in PRINTED_PAIRS.items()
        if data in FOUR_PAIRS
    }

    def cells(model: KnownModel) -> list[str]:
        trained = results.get((data, model.name, RULE), Trained(()))
        return [trained.show(read, per_cent=True) for read in ways.values()]

    return figures(["Hits@1", "printed", *ways], Task.ENTITY_ALIGNMENT, models, printed, cells)


def figures(
    header: Sequence[str],
    task: Task,
    models: Iterable[KnownModel],
    printed: Mapping[str, str],
    cells: Callable[[KnownModel], list[str]],
) -> str:
    """Return the rows that were measured, and in a sentence those that are printed but were not."""
    of_task = [model for model in models if task in model.tasks]
    rows = [
        [link_to(m.name), printed.get(m.name, ""), *found]
        for m in of_task
        if any(found := cells(m))
    ]
    shown = [n for n in range(len(header)) if any(row[n] for row in rows)]
    missing = [
        f"{m.name} {printed[m.name]}" for m in of_task if printed.get(m.name) and not any(cells(m))
    ]
    parts = []
    if rows:
        parts = [table([header[n] for n in shown], [[row[n] for n in shown] for row in rows])]
    if missing:
        parts += [f"Printed, and not measured here yet: {', '.join(missing)}."]
    return "\n\n".join(parts) or "Nothing is measured yet."


def describe(model: KnownModel, results: Results) -> str:
    """Return the paragraph of a model."""
    place = {
        Place.SPACE: "A point of the search space.",
        Place.PROPAGATION: "A point of the space of [propagations](propagation.md).",
        Place.OUTSIDE: "Outside the space.",
    }[model.place]
    lines = [
        f"### {model.name}\n",
        f"{model.paper}. {model.idea} {place} {model.remark}".strip() + "\n",
        f"    {model.formula}\n"
        if model.place is not Place.OUTSIDE
        else explain(FILES[model.name]) + "\n",
        f"A query costs {model.complexity}. For {' and '.join(model.tasks)}."
        f"{tell_size(model, results)}\n",
    ]
    return "\n".join(lines)


def explain(name: str) -> str:
    """Return what the docstring of a file says below its first line."""
    docstring = ast.get_docstring(ast.parse((SOURCES / f"{name}.py").read_text(encoding="utf-8")))
    assert docstring is not None
    return docstring.partition("\n")[2].strip("\n")


def tell_size(model: KnownModel, results: Results) -> str:
    """Return a sentence of how large it is by rule, on the first set where that is known."""
    for data in (*LINK_SETS, *PAIR_SETS):
        trained = results.get((data, model.name, RULE), Trained(()))
        for result in trained.results:
            if "parameters" in result:
                peak = result.get("peak_bytes")
                memory = f", and takes {peak / 2**30:.1f} GiB of a card" if peak else ""
                return f" On {data} it has {result['parameters']:,} parameters{memory}."
    return ""


def link_to(name: str) -> str:
    """Return the cell that names a row."""
    return f"[{name}](#{name.lower()})"


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


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a printed figure as the paper has it."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if digits == 2 else text


if __name__ == "__main__":
    PAGE.write_text(write_page(read_results()), encoding="utf-8")
