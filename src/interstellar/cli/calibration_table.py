"""What `evaluate --calibration` shows: how far probabilities can be taken at their word."""

from typing import TYPE_CHECKING

from interstellar.cli.output import print_fields, print_rows, say

if TYPE_CHECKING:
    from interstellar.evaluation.calibration import Reliability

TOO_FEW_TO_CALIBRATE = (
    "note: too few validation triplets to calibrate probabilities (10 are needed): they are those "
    "of the bare softmax."
)


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
