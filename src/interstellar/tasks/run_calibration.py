"""The temperature of a run, fitted once on its validation split and kept in its folder.

`calibration.json` says which weights it belongs to; with other weights it is fitted anew.
"""

from pathlib import Path

from interstellar.data.triplets import Triplets, with_inverses
from interstellar.errors import DataError, SettingsError
from interstellar.evaluation.calibration import (
    Reliability,
    draw_queries,
    fit_temperature,
    measure_reliability,
)
from interstellar.model.path_network import PathNetwork
from interstellar.randomness import spawn
from interstellar.records.json_files import read_json, write_json
from interstellar.records.run_folder import RunFolder
from interstellar.tasks.link_prediction import LinkPrediction
from interstellar.tasks.splits import Split

FILE_NAME = "calibration.json"
KIND, VERSION = "calibration", 1
LEAST_QUERIES = 20
"""Ten validation triplets, both ways."""


def find_temperature(path: Path, task: LinkPrediction, network: PathNetwork) -> float | None:
    """Return the temperature of a run, from its folder or else fitted and kept there.

    None where the graph has too few validation triplets to fit it on: a network that knows the
    answers to one or two would be called certain of everything.
    """
    weights_sha256 = RunFolder.open(path).read_result().get("weights_sha256")
    kept = _read(path / FILE_NAME)
    if weights_sha256 is not None and kept.get("weights_sha256") == weights_sha256:
        temperature = kept.get("temperature")
        if isinstance(temperature, float) and temperature > 0:
            return temperature
    queries = draw_queries(_both_ways(task, Split.VALID), spawn(0, "calibration"))
    if len(queries) < LEAST_QUERIES:
        return None
    device = network.objects.device
    temperature = fit_temperature(network.logits, queries, task.known, device=device)
    facts = {"temperature": temperature, "n_queries": len(queries)}
    _write(path / FILE_NAME, facts | {"weights_sha256": weights_sha256})
    return temperature


def measure_run_reliability(
    path: Path, task: LinkPrediction, network: PathNetwork, split: Split
) -> Reliability:
    """Return how far the probabilities of a run hold on a split."""
    temperature = find_temperature(path, task, network)
    return measure_reliability(
        network.logits,
        _both_ways(task, split),
        task.known,
        temperature=1.0 if temperature is None else temperature,
        device=network.objects.device,
    )


def _both_ways(task: LinkPrediction, split: Split) -> Triplets:
    return with_inverses(task.graph.split(split), len(task.graph.relations))


def _read(file: Path) -> dict[str, object]:
    """Return what was kept; nothing where there is no such file, or none that can be used."""
    try:
        return read_json(file, kind=KIND, version=VERSION)
    except DataError:
        return {}


def _write(file: Path, facts: dict[str, object]) -> None:
    """Keep what was fitted, where the folder lets us: it can be fitted again."""
    try:
        write_json(file, facts, kind=KIND, version=VERSION)
    except (OSError, SettingsError):
        return
