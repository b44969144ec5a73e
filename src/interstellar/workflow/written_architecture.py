"""An architecture as a user writes it, which may be the folder of a run. Needs no torch."""

import os
from pathlib import Path

from interstellar.records.run_folder import RunFolder
from interstellar.training.toml_tables import read_toml


def read_written(text: str) -> str:
    """Return an architecture as it is written, or the code of the one that a run is of."""
    if not os.path.isfile(Path(text) / "experiment.toml"):  # noqa: PTH113 (a JSON text is no path)
        return text
    run = RunFolder.open(Path(text))
    if "search" not in read_toml(run.experiment_file):
        return str(read_toml(run.experiment_file)["architecture"])
    best = run.read_result()["best"]
    assert isinstance(best, dict)
    return str(best["code"])
