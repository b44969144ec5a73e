"""What `interstellar evaluate --decode all` says: every decoding side by side."""

from typing import TYPE_CHECKING

from interstellar.cli.output import print_json, print_rows

if TYPE_CHECKING:
    from interstellar.workflow.model import Model

EVERY_DECODING = "all"

COLUMNS = ("hits@1", "hits@3", "hits@10", "mrr", "mean_rank")

NumberByName = dict[str, float | int]


def show_decodings(model: "Model", split: str, *, as_json: bool) -> None:
    """Print the metrics of every decoding with both kinds of candidates."""
    found = model.compare_decodings(split=split)
    if as_json:
        print_json({"decodings": found, "split": split})
        return
    rows = [
        (decoding, candidates, *(format_metric(metrics, name) for name in COLUMNS))
        for decoding, by_candidates in found.items()
        for candidates, metrics in by_candidates.items()
    ]
    print_rows([("decode", "candidates", *COLUMNS), *rows])


def format_metric(metrics: NumberByName | None, name: str) -> str:
    """Return a metric with four digits, a dash where there is none."""
    return "–" if metrics is None or name not in metrics else f"{metrics[name]:.4g}"
