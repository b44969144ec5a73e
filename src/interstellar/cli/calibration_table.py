"""What `evaluate --calibration` shows: how far probabilities can be taken at their word."""

from pathlib import Path
from typing import TYPE_CHECKING

from interstellar.cli.output import print_fields, print_rows, say
from interstellar.errors import SettingsError

if TYPE_CHECKING:
    from interstellar.evaluation.calibration import Reliability
    from interstellar.tasks.splits import Split
    from interstellar.tasks.trained_run import TrainedRun


def measure_calibration(run: Path, trained: "TrainedRun", split: "Split") -> "Reliability":
    """Return the reliability of a run of link prediction; refuse an alignment."""
    from interstellar.tasks.link_prediction import LinkPrediction
    from interstellar.tasks.run_calibration import measure_run_reliability

    if not isinstance(trained.task, LinkPrediction):
        raise SettingsError(
            "--calibration is of the probabilities of predicted links, and this is a run of "
            "entity alignment. Leave it out."
        )
    return measure_run_reliability(run, trained.task, trained.network, split)


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
