"""What `interstellar evaluate` shows besides metrics: calibration, and every decoding."""

from typing import TYPE_CHECKING

from interstellar.cli.output import print_fields, print_json, print_rows, say

if TYPE_CHECKING:
    from interstellar.evaluation.calibration import Reliability
    from interstellar.workflow.model import Model

TOO_FEW_TO_CALIBRATE = (
    "note: too few validation triplets to calibrate probabilities (10 are needed): they are those "
    "of the bare softmax."
)
EVERY_DECODING = "all"
COLUMNS = ("hits@1", "hits@3", "hits@10", "mrr", "mean_rank")


def show_calibration(reliability: "Reliability") -> None:
    """Print the reliability as a table of bins."""
    say("\ncalibration")
    values = reliability.as_dict()
    names = ("temperature", "ece", "ece_uncalibrated", "nll", "nll_uncalibrated")
    print_fields({name: f"{values[name]:.4g}" for name in names})
    say("\nqueries by the probability of their top answer")
    rows = [["queries", "probability", "right"]]
    rows += [[str(b.n), f"{b.confidence:.3f}", f"{b.accuracy:.3f}"] for b in reliability.bins]
    print_rows(rows)


def show_decodings(model: "Model", split: str, *, as_json: bool) -> None:
    """Print the metrics of every decoding with both kinds of candidates."""
    found = model.compare_decodings(split=split)
    if as_json:
        print_json({"decodings": found, "split": split})
        return
    rows: list[tuple[str, ...]] = [("decode", "candidates", *COLUMNS)]
    for decoding, by_candidates in found.items():
        for candidates, metrics in by_candidates.items():
            numbers = {name: f"{value:.4g}" for name, value in (metrics or {}).items()}
            rows.append((decoding, candidates, *(numbers.get(name, "–") for name in COLUMNS)))
    print_rows(rows)
