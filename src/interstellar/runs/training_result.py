"""The result of a training, read with distrust. Needs no torch."""

from typing import Any

from interstellar.errors import DataError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import Experiment
from interstellar.tasks.splits import Split

SPENT = ("best_epoch", "epochs", "seconds", "step_ms")
"""What of a result says how long it took."""
MOST = 1e15
"""No metric or time is larger."""


def read_training_result(run: RunFolder, experiment: Experiment) -> dict[str, Any]:
    """Return the result of a training: what the weights are, how good, and what they took."""
    result: dict[str, Any] = run.read_result()
    weights, metrics = result.get("weights_sha256"), result.get("metrics")
    is_measured = isinstance(metrics, dict) and all(_are_numbers(metrics.get(s, "")) for s in Split)
    is_timed = _are_numbers({name: result.get(name) for name in SPENT})
    if not isinstance(weights, str) or not is_measured or not is_timed:
        raise DataError(
            f"{run.result_file} does not say `weights_sha256`, the `metrics` of valid and test, "
            f"and {', '.join(SPENT)} as the result of a training does: it was altered. Take it "
            "from a copy, or train anew."
        )
    trained = result.get("architecture", experiment.architecture)
    if trained != experiment.architecture:
        raise DataError(
            f"{run.experiment_file} names the architecture {experiment.architecture}, but "
            f"{run.result_file.name} says that {str(trained)[:60]} was trained. One of the two "
            "files was altered. Take it from a copy."
        )
    return result


def _are_numbers(values: object) -> bool:
    """Return whether values are metrics by name, or None, where nothing was held out."""
    if not isinstance(values, dict):
        return values is None
    return all(type(v) in (int, float) and abs(v) <= MOST for v in values.values())
