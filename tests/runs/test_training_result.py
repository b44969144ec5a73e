"""The result of a training, read with distrust."""

import json
from pathlib import Path

import pytest

from interstellar.errors import DataError
from interstellar.records.run_folder import RunFolder
from interstellar.runs.experiment import read_experiment
from interstellar.runs.training_result import read_training_result
from tests.reporting.written_runs import KEPT, write_training


def test_the_result_of_every_version_is_read() -> None:
    run = RunFolder.open(KEPT / "trained")

    result = read_training_result(run, read_experiment(run.experiment_file))

    assert set(result["metrics"]) == {"valid", "test"}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("metrics", {"valid": None}, "does not say"),
        ("metrics", {"valid": None, "test": {"mrr": "<b>"}}, "does not say"),
        ("metrics", {"valid": None, "test": {"mrr": 1e300}}, "does not say"),
        ("seconds", None, "does not say"),
        ("weights_sha256", 7, "does not say"),
        ("architecture", "[0,0,2,0,0,0,0,0,0,0,0]", "One of the two files was altered"),
    ],
)
def test_a_result_that_no_training_writes_is_refused(
    tmp_path: Path, key: str, value: object, words: str
) -> None:
    run = RunFolder(write_training(tmp_path / "run", [0.5], test=0.5))
    result = json.loads(run.result_file.read_text())
    run.result_file.write_text(json.dumps({**result, key: value}))

    with pytest.raises(DataError, match=words):
        read_training_result(run, read_experiment(run.experiment_file))
