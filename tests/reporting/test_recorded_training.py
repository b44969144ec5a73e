"""A training as its journal tells it."""

from itertools import pairwise
from pathlib import Path

import pytest

from interstellar.errors import DataError
from interstellar.records.journal import Journal
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_training import MOST_EPOCHS, RecordedTraining
from tests.reporting.written_runs import metrics, write_training


def read(folder: Path) -> RecordedTraining:
    [recorded] = read_runs(folder)
    assert isinstance(recorded, RecordedTraining)
    return recorded


def test_epochs_are_those_of_the_journal(tmp_path: Path) -> None:
    training = read(write_training(tmp_path / "run", [None, 0.25, 0.5, 0.375], test=0.4))

    assert [epoch.loss for epoch in training.epochs] == [4.0, 2.0, 4 / 3, 1.0]
    assert [epoch.valid.get("mrr") for epoch in training.epochs] == [None, 0.25, 0.5, 0.375]
    assert training.best == training.epochs[2]
    assert training.metrics == {"valid": metrics(0.5), "test": metrics(0.4)}
    assert training.seconds == 2.5


def test_an_unfinished_training_has_the_metrics_of_its_best_epoch(tmp_path: Path) -> None:
    training = read(write_training(tmp_path / "run", [0.25, 0.5, 0.375]))

    assert training.metrics == {"valid": metrics(0.5)}
    assert (training.result, training.seconds) == (None, None)


def test_an_epoch_that_was_trained_again_after_a_kill_counts_once(tmp_path: Path) -> None:
    write_training(tmp_path / "run", [0.25, 0.5])
    with Journal.open(tmp_path / "run" / "journal.jsonl") as journal:
        journal.append("resumed")
        journal.append("epoch", epoch=2, loss=1.5, valid=metrics(0.75), is_best=True)

    training = read(tmp_path / "run")

    assert [epoch.epoch for epoch in training.epochs] == [1, 2]
    assert training.epochs[1].loss == 1.5
    assert training.metrics["valid"]["mrr"] == 0.75


def test_of_a_very_long_training_every_nth_epoch_is_kept_and_the_best(tmp_path: Path) -> None:
    write_training(tmp_path / "run", [0.9])
    line = '{"event": "epoch", "time": "", "epoch": %d, "loss": 1.0, "valid": null, '
    line += '"is_best": false}\n'
    with (tmp_path / "run" / "journal.jsonl").open("a") as file:
        file.writelines(line % number for number in range(2, 3 * MOST_EPOCHS + 2))

    training = read(tmp_path / "run")

    numbers = [epoch.epoch for epoch in training.epochs]
    assert MOST_EPOCHS / 2 <= len(numbers) <= MOST_EPOCHS
    assert len({after - before for before, after in pairwise(numbers)}) == 1
    assert numbers[-1] > 3 * MOST_EPOCHS - 4
    assert training.best is not None
    assert training.best.valid["mrr"] == 0.9


@pytest.mark.parametrize(
    "epoch",
    [
        {"epoch": "<b>", "loss": 1.0, "valid": None, "is_best": False},
        {"epoch": 10**400, "loss": 1.0, "valid": None, "is_best": False},
        {"epoch": 1, "loss": "much", "valid": None, "is_best": False},
        {"epoch": 1, "loss": 1.0, "valid": [0.5], "is_best": False},
        {"loss": 1.0},
    ],
)
def test_an_epoch_that_no_training_writes_is_named(
    tmp_path: Path, epoch: dict[str, object]
) -> None:
    write_training(tmp_path / "run", [0.5])
    with Journal.open(tmp_path / "run" / "journal.jsonl") as journal:
        journal.append("epoch", **epoch)

    with pytest.raises(DataError, match=r"journal.jsonl: an event `epoch` of .* a training writes"):
        read(tmp_path / "run")


def test_metrics_that_no_report_knows_are_not_kept(tmp_path: Path) -> None:
    write_training(tmp_path / "run", [0.5])
    with Journal.open(tmp_path / "run" / "journal.jsonl") as journal:
        valid = metrics(0.25) | {"<script>": 1.0, "hits@3": "many"}
        journal.append("epoch", epoch=2, loss=1.0, valid=valid, is_best=False)

    assert set(read(tmp_path / "run").epochs[1].valid) == {"mrr", "hits@1", "hits@10", "n"}
